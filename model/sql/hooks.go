package sql

import (
	"simrun/model/storage"
	"simrun/model/types"
)

// hooks are what a table wants done around the change of a row: triggers and foreign keys.
type hooks struct {
	table *Relation
}

// newHooks analyses a table's triggers and foreign keys; nil when it has none.
func (a *analyzer) newHooks(r *Relation) (*hooks, error) {
	if len(r.Triggers) == 0 && len(r.FKs) == 0 && len(r.RefFKs) == 0 {
		return nil, nil
	}
	return nil, types.Errorf("0A000", "triggers and foreign keys of table %q are not supported by the model", r.Name)
}

// beforeInsert runs BEFORE INSERT row triggers; it returns the row to store, nil to leave it out.
func (h *hooks) beforeInsert(f *frame, vals []types.Value) ([]types.Value, error) { return vals, nil }

// afterInsert queues AFTER INSERT row triggers and foreign-key checks.
func (h *hooks) afterInsert(f *frame, row *storage.Row, tid storage.TID) error { return nil }

// beforeUpdate runs BEFORE UPDATE row triggers, after locking the row. A nil row with outcome Updated asks for a re-check, one
// with another outcome leaves the row alone.
func (h *hooks) beforeUpdate(f *frame, ref *rowRef, vals []types.Value, sets []setCol) (storage.Attempt, []types.Value, error) {
	return storage.Attempt{}, vals, nil
}

// afterUpdate queues AFTER UPDATE row triggers and foreign-key checks.
func (h *hooks) afterUpdate(f *frame, old, row *storage.Row, tid storage.TID) error { return nil }

// beforeDelete runs BEFORE DELETE row triggers, after locking the row; goOn is false when the row is to be left alone.
func (h *hooks) beforeDelete(f *frame, ref *rowRef) (att storage.Attempt, goOn bool, err error) {
	return storage.Attempt{}, true, nil
}

// afterDelete queues AFTER DELETE row triggers and foreign-key checks.
func (h *hooks) afterDelete(f *frame, old *storage.Row) error { return nil }
