package sql

import (
	"strings"
	"sync/atomic"

	"simrun/model/storage"
	"simrun/model/types"
)

// catalog is what a session sees of the catalog.
type catalog struct {
	d    *Database
	id   storage.SessionID
	path []string
	x    *storage.Exec // when set, what it finds is journaled
}

func (d *Database) catalog(s *session) *catalog {
	return &catalog{d: d, id: s.id, path: searchPath(s.get("search_path"), s.user())}
}

// searchPath splits the value of search_path.
func searchPath(v, user string) []string {
	var out []string
	for _, p := range strings.Split(v, ",") {
		p = strings.TrimSpace(p)
		if len(p) >= 2 && p[0] == '"' && p[len(p)-1] == '"' {
			p = strings.ReplaceAll(p[1:len(p)-1], `""`, `"`)
		} else {
			p = strings.ToLower(p)
		}
		if p == "$user" {
			p = user
		}
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

func (c *catalog) find(class, name string) (any, bool) {
	if c.x != nil {
		return c.x.Find(class, name)
	}
	return c.d.st.Find(c.id, class, name)
}

// byQName finds a relation by its qualified name.
func (c *catalog) byQName(q string) (*Relation, bool) {
	p, ok := c.find(classRelation, q)
	if !ok {
		return nil, false
	}
	return p.(*Relation), true
}

func (c *catalog) schemaExists(name string) bool {
	if name == "public" || name == "pg_catalog" || name == "information_schema" {
		return true
	}
	_, ok := c.find(classSchema, name)
	return ok
}

// lookup finds a relation by a possibly unqualified name.
func (c *catalog) lookup(schema, name string) *Relation {
	if schema != "" {
		r, _ := c.byQName(schema + "." + name)
		return r
	}
	for _, s := range c.path {
		if r, ok := c.byQName(s + "." + name); ok {
			return r
		}
	}
	r, _ := c.byQName("pg_catalog." + name)
	return r
}

// relation is lookup, or 42P01.
func (c *catalog) relation(schema, name string) (*Relation, error) {
	if r := c.lookup(schema, name); r != nil {
		return r, nil
	}
	if schema != "" {
		name = schema + "." + name
	}
	return nil, types.Errorf("42P01", "relation %q does not exist", name)
}

// creationSchema is where CREATE puts an unqualified name.
func (c *catalog) creationSchema(schema string) (string, error) {
	if schema != "" {
		if !c.schemaExists(schema) {
			return "", types.Errorf("3F000", "schema %q does not exist", schema)
		}
		return schema, nil
	}
	for _, s := range c.path {
		if c.schemaExists(s) && s != "pg_catalog" {
			return s, nil
		}
	}
	return "", types.NewError("3F000", "no schema has been selected to create in")
}

// byOID finds a relation by its OID.
func (c *catalog) byOID(oid int64) *Relation { return c.d.relIndex(c.id).byOID[oid] }

// relIndex finds relations by number. It is immutable, good for one version of the catalog.
type relIndex struct {
	stamp uint64
	byOID map[int64]*Relation
	byID  map[storage.TableID]*Relation
}

func (d *Database) relIndex(id storage.SessionID) *relIndex {
	stamp := d.st.CatalogStamp(id)
	if d.rels == nil || d.rels.stamp != stamp {
		if ix := lastIndex.Load(); ix != nil && ix.stamp == stamp {
			d.rels = ix
			return ix
		}
		ix := &relIndex{stamp: stamp, byOID: map[int64]*Relation{}, byID: map[storage.TableID]*Relation{}}
		d.st.List(id, classRelation, func(_ string, p any) bool {
			r := p.(*Relation)
			ix.byOID[int64(r.OID)], ix.byID[r.ID] = r, r
			return true
		})
		d.rels = ix
		lastIndex.Store(ix)
	}
	return d.rels
}

// lastIndex is the index that was made last: the many copies of one database have the same. A stamp says all that an index
// depends on.
var lastIndex atomic.Pointer[relIndex]

// relByID finds a relation by its id, as the first session that is open sees the catalog.
func (d *Database) relByID(id storage.TableID) *Relation {
	for _, s := range d.sess {
		if s != nil {
			if r := d.relIndex(s.id).byID[id]; r != nil {
				return r
			}
		}
	}
	return nil
}

// regclass reads a regclass.
func (c *catalog) regclass(text string) (types.Value, error) {
	if n, ok := allDigits(text); ok || text == "-" {
		return types.NewInt(types.Regclass, n), nil
	}
	schema, name, err := splitName(text)
	if err != nil {
		return types.Value{}, err
	}
	r, err := c.relation(schema, name)
	if err != nil {
		return types.Value{}, err
	}
	return types.NewInt(types.Regclass, int64(r.OID)), nil
}

func allDigits(s string) (int64, bool) {
	n := int64(0)
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, s != ""
}

// splitName reads a possibly qualified, possibly quoted name.
func splitName(text string) (schema, name string, err error) {
	var parts []string
	rest := text
	for {
		var part string
		if strings.HasPrefix(rest, `"`) {
			end := strings.Index(rest[1:], `"`)
			if end < 0 {
				return "", "", types.NewError("42602", "invalid name syntax")
			}
			part, rest = rest[1:end+1], rest[end+2:]
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			part, rest = strings.ToLower(rest[:end]), rest[end:]
		}
		if part == "" {
			return "", "", types.NewError("42602", "invalid name syntax")
		}
		parts = append(parts, part)
		if rest == "" {
			break
		}
		if rest[0] != '.' {
			return "", "", types.NewError("42602", "invalid name syntax")
		}
		rest = rest[1:]
	}
	switch len(parts) {
	case 1:
		return "", parts[0], nil
	case 2:
		return parts[0], parts[1], nil
	}
	return "", "", types.Errorf("0A000", "improper relation name (too many dotted names): %s", text)
}

// relationName is a relation's name as regclass prints it: qualified when the search path does not find it.
func (c *catalog) relationName(oid int64) string {
	if oid == 0 {
		return "-"
	}
	r := c.byOID(oid)
	if r == nil {
		return types.NewInt8(oid).Text()
	}
	if c.lookup("", r.Name) == r {
		return r.Name
	}
	return r.Schema + "." + r.Name
}

// regclass and regclassName convert at run time.
func (rn *run) regclass(text string) (types.Value, error) { return rn.d.catalog(rn.s).regclass(text) }
func (rn *run) regclassName(oid int64) string             { return rn.d.catalog(rn.s).relationName(oid) }
