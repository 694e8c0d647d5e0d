package sql

import (
	"strings"

	"simrun/model/types"
)

// The hashes below make what is in the catalog part of a database's fingerprint (storage.Hasher). Numbers that only say in which order
// objects were made are left out. An expression is known by the text that it stands in together with the name of what it belongs to.

// content hashes the parts of an object one after the other.
type content uint64

func (h *content) text(parts ...string) {
	for _, s := range parts {
		*h = content(types.HashString(uint64(*h), s))
	}
}

func (h *content) numbers(ns ...int) {
	*h = content(mixHash(uint64(*h), uint64(len(ns))))
	for _, n := range ns {
		*h = content(mixHash(uint64(*h), uint64(n)))
	}
}

func (h *content) flags(fs ...bool) {
	bits := uint64(1)
	for _, f := range fs {
		bits <<= 1
		if f {
			bits |= 1
		}
	}
	*h = content(mixHash(uint64(*h), bits))
}

func (h *content) typ(t types.Type) { h.numbers(int(t.Kind), int(t.Elem)) }

func (h *content) grants(acl []Grant) {
	h.numbers(len(acl))
	for i := range acl {
		h.text(acl[i].Role, acl[i].Privs, strings.Join(acl[i].Columns, ","))
	}
}

func (h *content) foreignKeys(fks []ForeignKey) {
	h.numbers(len(fks))
	for i := range fks {
		k := &fks[i]
		h.text(k.Name, k.Table, k.Ref)
		h.numbers(k.Cols...)
		h.numbers(k.RefCols...)
		h.numbers(int(k.OnUpdate), int(k.OnDelete))
		h.flags(k.Deferrable, k.Deferred)
	}
}

// Hash is storage.Hasher's.
func (r *Relation) Hash() uint64 {
	h := content(r.Kind)
	h.text(r.Owner, r.Parent, r.IndexOf, r.OwnedBy)
	h.numbers(len(r.Columns), len(r.Indexes), len(r.Checks), len(r.Triggers), len(r.Parts))
	for i := range r.Columns {
		c := &r.Columns[i]
		h.text(c.Name, c.DefaultQ, c.Sequence)
		h.typ(c.Type)
		h.numbers(int(c.Typmod), int(c.Identity))
		h.flags(c.NotNull, c.Default != nil, c.Generated, c.Dropped)
	}
	for i := range r.Indexes {
		x := &r.Indexes[i]
		h.text(x.Name, x.Text)
		h.numbers(x.Cols...)
		h.flags(x.Unique, x.Primary, x.Constraint, x.NullsSame, x.Deferrable, x.Pred != nil)
	}
	for i := range r.Checks {
		h.text(r.Checks[i].Name, r.Checks[i].Text)
	}
	h.foreignKeys(r.FKs)
	h.foreignKeys(r.RefFKs)
	for i := range r.Triggers {
		t := &r.Triggers[i]
		h.text(t.Name, t.Text, t.Function)
		h.text(t.Args...)
		h.flags(t.Before, t.Row, t.Insert, t.Update, t.Delete, t.Truncate, t.Disabled, t.When != nil, t.UpdateOf != nil)
		h.numbers(t.UpdateOf...)
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		h.text(p.Table)
		h.flags(p.Default)
		for _, v := range p.Values {
			h = content(types.Fingerprint(uint64(h), v))
		}
	}
	h.numbers(r.PartKey...)
	if r.View != nil {
		h.text(r.View.Text)
	}
	if q := r.Sequence; q != nil {
		h.text(q.Name)
		h.numbers(int(q.Start), int(q.Inc), int(q.Min), int(q.Max), int(q.Cache))
		h.flags(q.Cycle)
	}
	h.grants(r.ACL)
	return uint64(h)
}

// Hash is storage.Hasher's. The text of the CREATE statement has the body, the parameters and their defaults.
func (f *Function) Hash() uint64 {
	h := content(f.Volatility)
	h.text(f.Owner, f.Text, f.Language, f.RetTable, f.Body)
	h.typ(f.Ret)
	h.flags(f.Set, f.Strict, f.Definer, f.Procedure, f.Public)
	h.text(f.Config...)
	h.grants(f.ACL)
	return uint64(h)
}

// Hash is storage.Hasher's.
func (s *Schema) Hash() uint64 {
	h := content(1)
	h.text(s.Owner)
	h.grants(s.ACL)
	return uint64(h)
}

// Hash is storage.Hasher's.
func (r *Role) Hash() uint64 {
	h := content(2)
	h.flags(r.Superuser)
	h.text(r.MemberOf...)
	return uint64(h)
}
