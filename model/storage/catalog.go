package storage

import (
	"slices"

	"simrun/model/types"
)

// catalog holds the catalog's objects: versions by class and name, of which a session finds its own newest, else the newest
// committed one. It is copied as a whole when a clone changes it: schemas change rarely.
type catalog struct {
	owner   uint64
	objects []object          // in order of creation
	byName  map[objectKey]int // the newest entry of objects for a name; entries link to older ones
	version uint64            // changes with every change of what anybody may find
	sum     uint64            // of the hashes of the objects
}

type objectKey struct{ class, name string }

// object is a version of a catalog object.
type object struct {
	objectKey
	payload    any
	hash       uint64
	xmin, xmax XID    // transactions in progress that have made or ended it
	older      int    // the entry of the same name before it, or -1
	serial     uint64 // tells the versions of one name apart
}

// Hasher is implemented by payloads whose content is to be part of the fingerprint.
type Hasher interface{ Hash() uint64 }

func (c *catalog) copy(owner uint64) *catalog {
	d := *c
	d.owner = owner
	d.objects = slices.Clone(c.objects)
	d.byName = make(map[objectKey]int, len(c.byName)+1)
	for k, v := range c.byName {
		d.byName[k] = v
	}
	return &d
}

func (st *State) wcatalog() *catalog {
	if st.cat.owner != st.owner {
		st.cat = st.cat.copy(st.owner)
	}
	st.cat.version = lastOwner.Add(1)
	return st.cat
}

// sessionFinds reports whether s finds the object.
func (st *State) sessionFinds(s SessionID, o *object) bool {
	return (o.xmin == 0 || st.mine(s, o.xmin)) && (o.xmax == 0 || !st.mine(s, o.xmax))
}

func (st *State) lookup(s SessionID, class, name string) int {
	i, ok := st.cat.byName[objectKey{class, name}]
	if !ok {
		return -1
	}
	for ; i >= 0; i = st.cat.objects[i].older {
		if st.sessionFinds(s, &st.cat.objects[i]) {
			return i
		}
	}
	return -1
}

// CatalogStamp returns a number that is equal for two sessions or states, clones included, only when they find the same
// catalog. It stays while nothing changes.
func (st *State) CatalogStamp(s SessionID) uint64 {
	h := st.cat.version << 16
	if len(st.sess[s].ddl) > 0 {
		h |= uint64(s) + 1
	}
	return h
}

// Find returns the newest committed, or s's own, version of a catalog object.
func (st *State) Find(s SessionID, class, name string) (payload any, ok bool) {
	i := st.lookup(s, class, name)
	if i < 0 {
		return nil, false
	}
	return st.cat.objects[i].payload, true
}

// List calls f for each catalog object of a class that s can find, in order of creation, until f returns false.
func (st *State) List(s SessionID, class string, f func(name string, payload any) bool) {
	for i := range st.cat.objects {
		if o := &st.cat.objects[i]; o.class == class && st.sessionFinds(s, o) && !f(o.name, o.payload) {
			return
		}
	}
}

// Find is State.Find, journaled.
func (x *Exec) Find(class, name string) (payload any, ok bool) {
	s := x.session()
	if e := x.replay(s, opFind); e != nil {
		return e.p, e.ok
	}
	x.st.touchCatalog(class, name, false)
	p, ok := x.st.Find(x.id, class, name)
	x.record(s, jent{kind: opFind, p: p, ok: ok})
	return p, ok
}

// catalogIndex is the unique index that two objects of one name collide in. Relations with a row type collide in pg_type
// before they do in pg_class.
var catalogIndex = map[string]string{
	"relation": "pg_type_typname_nsp_index",
	"index":    "pg_class_relname_nsp_index",
	"sequence": "pg_class_relname_nsp_index",
	"type":     "pg_type_typname_nsp_index",
	"function": "pg_proc_proname_args_nsp_index",
	"schema":   "pg_namespace_nspname_index",
	"role":     "pg_authid_rolname_index",
	"trigger":  "pg_trigger_tgrelid_tgname_index",
}

// DefineOptions refines Define.
type DefineOptions struct {
	Index string // the catalog's unique index that 23505 names; "" means the usual one of the class
}

// Define creates a catalog object. If another open transaction creates one of the same name, it waits, and fails with 23505
// on the catalog's index if that commits. The SQL front looks with Find first for its own "already exists" errors.
func (x *Exec) Define(class, name string, payload any) error {
	return x.DefineWith(class, name, payload, DefineOptions{})
}

// DefineWith is Define with options.
func (x *Exec) DefineWith(class, name string, payload any, opt DefineOptions) error {
	s := x.session()
	if e := x.replay(s, opCatalog); e != nil {
		return asError(e.p)
	}
	st := x.st
	st.assignXID(s)
	i, ok := st.cat.byName[objectKey{class, name}]
	if !ok {
		i = -1
	}
	for ; i >= 0; i = st.cat.objects[i].older {
		o := &st.cat.objects[i]
		other := XID(0)
		switch {
		case o.xmin != 0 && !st.mine(s.id, o.xmin):
			other = o.xmin
		case o.xmax != 0 && !st.mine(s.id, o.xmax):
			other = o.xmax
		case o.xmax != 0:
			continue
		}
		if other != 0 {
			if ok, err := x.waitXID(s, other, false); !ok {
				if err == ErrWait {
					return err
				}
				x.record(s, jent{kind: opCatalog, p: err})
				return err
			}
		}
		index := opt.Index
		if index == "" {
			index = catalogIndex[class]
		}
		err := types.NewError("23505", "duplicate key value violates unique constraint \""+index+"\"")
		err.Constraint = index
		x.record(s, jent{kind: opCatalog, p: err})
		return err
	}
	st.addObject(s, class, name, payload)
	x.record(s, jent{kind: opCatalog})
	return nil
}

func (st *State) addObject(s *session, class, name string, payload any) {
	st.touchCatalog(class, name, true)
	c := st.wcatalog()
	if c.byName == nil {
		c.byName = map[objectKey]int{}
	}
	k := objectKey{class, name}
	older, ok := c.byName[k]
	if !ok {
		older = -1
	}
	c.byName[k] = len(c.objects)
	c.objects = append(c.objects, object{objectKey: k, payload: payload, hash: hashObject(k, payload), xmin: s.subs[s.level()].xid, older: older, serial: c.version})
	c.sum += c.objects[len(c.objects)-1].hash
	st.logSchema(s, undo{kind: undoObject, key: k})
}

func hashObject(k objectKey, payload any) uint64 {
	h := types.HashString(types.HashString(1, k.class), k.name)
	if p, ok := payload.(Hasher); ok {
		h = mix(h, p.Hash())
	}
	return h
}

// endObject marks the version of an object that s finds as ended by it. It waits when another transaction in progress has
// ended it, and fails with XX000, as Postgres does, when that commits. found is false when s finds none.
func (x *Exec) endObject(s *session, class, name string) (found bool, err error) {
	st := x.st
	st.assignXID(s)
	i := st.lookup(s.id, class, name)
	if i < 0 {
		return false, nil
	}
	if m := st.cat.objects[i].xmax; m != 0 {
		if _, err := x.waitXID(s, m, false); err != nil {
			return true, err
		}
	}
	if s.op.made != TID(st.cat.objects[i].serial) {
		return true, types.NewError("XX000", "tuple concurrently updated")
	}
	c := st.wcatalog()
	o := &c.objects[i]
	o.xmax = s.subs[s.level()].xid
	st.touchCatalog(class, name, true)
	st.logSchema(s, undo{kind: undoEnd, key: o.objectKey})
	return true, nil
}

// Replace gives a catalog object a new payload.
func (x *Exec) Replace(class, name string, payload any) error {
	return x.change(class, name, payload, true)
}

// Drop removes a catalog object.
func (x *Exec) Drop(class, name string) error { return x.change(class, name, nil, false) }

func (x *Exec) change(class, name string, payload any, replace bool) error {
	s := x.session()
	if e := x.replay(s, opCatalog); e != nil {
		return asError(e.p)
	}
	o := s.begin(opCatalog, 0, 0)
	if o.made == 0 {
		if i := x.st.lookup(s.id, class, name); i >= 0 {
			o.made = TID(x.st.cat.objects[i].serial)
		}
	}
	found, err := x.endObject(s, class, name)
	if err == ErrWait {
		return err
	}
	if err == nil && !found {
		err = types.NewError("XX000", "tuple concurrently updated")
	}
	if err == nil && replace {
		x.st.addObject(s, class, name, payload)
	}
	if err != nil {
		x.record(s, jent{kind: opCatalog, p: err})
		return err
	}
	x.record(s, jent{kind: opCatalog})
	return nil
}
