package storage

import (
	"cmp"
	"slices"

	"simrun/model/types"
)

// trie is the index of a large heap: from the hash of a key to the versions that have it. Small heaps are scanned instead.
// It branches by four bits of the hash; a leaf that grows too large splits.
type trie struct {
	owner uint64
	kids  *[16]*trie // nil in a leaf
	ents  []entry    // of a leaf, ordered by hash and tid
}

type entry struct {
	hash uint64
	tid  TID
}

const leafMax = 24

func (e entry) compare(f entry) int {
	if c := cmp.Compare(e.hash, f.hash); c != 0 {
		return c
	}
	return cmp.Compare(e.tid, f.tid)
}

func (t *trie) own(owner uint64) *trie {
	if t.owner == owner {
		return t
	}
	c := &trie{owner: owner, ents: slices.Clone(t.ents)}
	if t.kids != nil {
		k := *t.kids
		c.kids = &k
	}
	return c
}

func (t *trie) add(owner uint64, e entry, depth uint) *trie {
	if t == nil {
		return &trie{owner: owner, ents: append(make([]entry, 0, 8), e)}
	}
	t = t.own(owner)
	if t.kids != nil {
		k := e.hash >> depth & 15
		t.kids[k] = t.kids[k].add(owner, e, depth+4)
		return t
	}
	i, _ := slices.BinarySearchFunc(t.ents, e, entry.compare)
	t.ents = slices.Insert(t.ents, i, e)
	if len(t.ents) > leafMax && depth < 60 && t.ents[0].hash != t.ents[len(t.ents)-1].hash {
		t.kids = new([16]*trie)
		for _, e := range t.ents {
			k := e.hash >> depth & 15
			t.kids[k] = t.kids[k].add(owner, e, depth+4)
		}
		t.ents = nil
	}
	return t
}

func (t *trie) remove(owner uint64, e entry, depth uint) *trie {
	if t == nil {
		return nil
	}
	t = t.own(owner)
	if t.kids != nil {
		k := e.hash >> depth & 15
		t.kids[k] = t.kids[k].remove(owner, e, depth+4)
		return t
	}
	if i, ok := slices.BinarySearchFunc(t.ents, e, entry.compare); ok {
		t.ents = slices.Delete(t.ents, i, i+1)
	}
	if len(t.ents) == 0 {
		return nil
	}
	return t
}

// find returns the entries with the hash, ordered by tid.
func (t *trie) find(hash uint64) []entry {
	for depth := uint(0); t != nil; depth += 4 {
		if t.kids == nil {
			i, _ := slices.BinarySearchFunc(t.ents, entry{hash: hash}, entry.compare)
			j := i
			for j < len(t.ents) && t.ents[j].hash == hash {
				j++
			}
			return t.ents[i:j]
		}
		t = t.kids[hash>>depth&15]
	}
	return nil
}

// hashKey hashes a key; ok is false when it holds a NULL.
func hashKey(key []types.Value) (h uint64, ok bool) {
	ok = true
	for i := range key {
		ok = ok && key[i].Valid
		h = types.Hash(h, key[i])
	}
	return h, ok
}

// entryOf returns the hash of the row's key in the index. in is false when the index leaves the row out, full when no
// part of the key is NULL.
func (sp *IndexSpec) entryOf(row *Row) (hash uint64, in, full bool) {
	if sp.Key != nil {
		key, in := sp.Key(row)
		if !in {
			return 0, false, false
		}
		hash, full = hashKey(key)
		return hash, true, full
	}
	full = true
	for _, c := range sp.Cols {
		v := &row.Vals[c]
		full = full && v.Valid
		hash = types.Hash(hash, *v)
	}
	return hash, true, full
}

// keyOf returns the row's key in the index, using buf.
func (sp *IndexSpec) keyOf(row *Row, buf []types.Value) (key []types.Value, in bool) {
	if sp.Key != nil {
		return sp.Key(row)
	}
	for _, c := range sp.Cols {
		buf = append(buf, row.Vals[c])
	}
	return buf, true
}

// matches reports whether the row has the key in the index.
func (sp *IndexSpec) matches(row *Row, key []types.Value) bool {
	if sp.Key != nil {
		k, in := sp.Key(row)
		if !in {
			return false
		}
		for i := range k {
			if !types.Equal(k[i], key[i]) {
				return false
			}
		}
		return true
	}
	for i, c := range sp.Cols {
		if !types.Equal(row.Vals[c], key[i]) {
			return false
		}
	}
	return true
}

func (r *relation) ownIndex() {
	if r.indexShared {
		r.indexShared = false
		r.index = slices.Clone(r.index)
	}
}

func (r *relation) buildIndexes() {
	r.index = make([]*trie, len(r.specs))
	r.indexShared = false
	for _, c := range r.chunks {
		for j := range c.v {
			r.indexAdd(&c.v[j])
		}
	}
}

func (r *relation) indexAdd(v *version) {
	r.ownIndex()
	for i := range r.specs {
		if h, in, _ := r.specs[i].entryOf(v.row); in {
			r.index[i] = r.index[i].add(r.owner, entry{h, v.tid}, 0)
		}
	}
}

func (r *relation) indexRemove(v *version) {
	r.ownIndex()
	for i := range r.specs {
		if h, in, _ := r.specs[i].entryOf(v.row); in {
			r.index[i] = r.index[i].remove(r.owner, entry{h, v.tid}, 0)
		}
	}
}
