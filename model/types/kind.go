package types

import "strings"

// info is what Postgres's pg_type says of a kind.
type info struct {
	name      string // as format_type and error messages print it
	typname   string // pg_type.typname
	oid       uint32
	arrayOID  uint32
	category  byte // pg_type.typcategory
	preferred bool // pg_type.typispreferred
	length    int16
}

// infos is indexed by Kind. OIDs are those of src/include/catalog/pg_type.dat, fixed for all supported servers.
var infos = [numKinds]info{
	Unknown:            {"unknown", "unknown", 705, 0, 'X', false, -2},
	Bool:               {"boolean", "bool", 16, 1000, 'B', true, 1},
	Int2:               {"smallint", "int2", 21, 1005, 'N', false, 2},
	Int4:               {"integer", "int4", 23, 1007, 'N', false, 4},
	Int8:               {"bigint", "int8", 20, 1016, 'N', false, 8},
	Float8:             {"double precision", "float8", 701, 1022, 'N', true, 8},
	Numeric:            {"numeric", "numeric", 1700, 1231, 'N', false, -1},
	Text:               {"text", "text", 25, 1009, 'S', true, -1},
	Varchar:            {"character varying", "varchar", 1043, 1015, 'S', false, -1},
	Name:               {"name", "name", 19, 1003, 'S', false, 64},
	Char:               {`"char"`, "char", 18, 1002, 'Z', false, 1},
	Bytea:              {"bytea", "bytea", 17, 1001, 'U', false, -1},
	UUID:               {"uuid", "uuid", 2950, 2951, 'U', false, 16},
	Timestamptz:        {"timestamp with time zone", "timestamptz", 1184, 1185, 'D', true, 8},
	Timestamp:          {"timestamp without time zone", "timestamp", 1114, 1115, 'D', false, 8},
	Date:               {"date", "date", 1082, 1182, 'D', false, 4},
	Interval:           {"interval", "interval", 1186, 1187, 'T', true, 16},
	JSON:               {"json", "json", 114, 199, 'U', false, -1},
	JSONB:              {"jsonb", "jsonb", 3802, 3807, 'U', false, -1},
	OID:                {"oid", "oid", 26, 1028, 'N', true, 4},
	Regclass:           {"regclass", "regclass", 2205, 2210, 'N', false, 4},
	XID8:               {"xid8", "xid8", 5069, 271, 'U', false, 8},
	Record:             {"record", "record", 2249, 2287, 'P', false, -1},
	Void:               {"void", "void", 2278, 0, 'P', false, 4},
	Trigger:            {"trigger", "trigger", 2279, 0, 'P', false, 4},
	Array:              {"array", "array", 0, 0, 'A', false, -1},
	PgLSN:              {"pg_lsn", "pg_lsn", 3220, 3221, 'U', false, 8},
	Regtype:            {"regtype", "regtype", 2206, 2211, 'N', false, 4},
	Int8Multirange:     {"int8multirange", "int8multirange", 4536, 6157, 'R', false, -1},
	Float4:             {"real", "float4", 700, 1021, 'N', false, 4},
	Bpchar:             {"character", "bpchar", 1042, 1014, 'S', false, -1},
	Time:               {"time without time zone", "time", 1083, 1183, 'D', false, 8},
	Any:                {`"any"`, "any", 2276, 0, 'P', false, 4},
	AnyElement:         {"anyelement", "anyelement", 2283, 0, 'P', false, 4},
	AnyArray:           {"anyarray", "anyarray", 2277, 0, 'P', false, -1},
	AnyNonArray:        {"anynonarray", "anynonarray", 2776, 0, 'P', false, 4},
	AnyCompatible:      {"anycompatible", "anycompatible", 5077, 0, 'P', false, 4},
	AnyCompatibleArray: {"anycompatiblearray", "anycompatiblearray", 5078, 0, 'P', false, -1},
}

// aliases are the SQL spellings that are neither typname nor the printed name.
var aliases = map[string]Kind{
	"int": Int4, "decimal": Numeric, "timestamp": Timestamp, "timestamptz": Timestamptz, "float": Float8, "time": Time,
}

var byName, byOID = func() (map[string]Type, map[uint32]Type) {
	names, oids := map[string]Type{}, map[uint32]Type{}
	for k := Unknown; k < numKinds; k++ {
		if k == Array {
			continue
		}
		i := infos[k]
		t := Of(k)
		names[i.typname] = t
		if k != Char { // the printed form "char" in quotes; unquoted char is bpchar, the grammar's business
			names[i.name] = t
		}
		oids[i.oid] = t
		if i.arrayOID != 0 {
			oids[i.arrayOID] = ArrayOf(k)
			names["_"+i.typname] = ArrayOf(k)
		}
	}
	for n, k := range aliases {
		names[n] = Of(k)
	}
	return names, oids
}()

// Of is the type of a plain kind.
func Of(k Kind) Type { return Type{Kind: k} }

// ArrayOf is the type of arrays of k.
func ArrayOf(k Kind) Type { return Type{Kind: Array, Elem: k} }

// IsArray says whether t is an array type.
func (t Type) IsArray() bool { return t.Kind == Array }

// ElemType is the type of the elements of an array type.
func (t Type) ElemType() Type { return Type{Kind: t.Elem} }

// String is the type's name as format_type and error messages give it, such as "integer" or "text[]".
func (t Type) String() string {
	if t.Kind == Array {
		return infos[t.Elem].name + "[]"
	}
	return infos[t.Kind].name
}

// Typname is pg_type.typname, such as "int4" or "_text".
func (t Type) Typname() string {
	if t.Kind == Array {
		return "_" + infos[t.Elem].typname
	}
	return infos[t.Kind].typname
}

// OID is the type's number on the wire.
func (t Type) OID() uint32 {
	if t.Kind == Array {
		return infos[t.Elem].arrayOID
	}
	return infos[t.Kind].oid
}

// Length is pg_type.typlen: bytes, or -1 for variable length, as a row description carries it.
func (t Type) Length() int16 { return infos[t.Kind].length }

// Category is pg_type.typcategory, which steers the resolution of overloaded names (Postgres documentation, chapter 10).
func (t Type) Category() byte { return infos[t.Kind].category }

// Preferred says whether t is the preferred type of its category.
func (t Type) Preferred() bool { return infos[t.Kind].preferred }

// IsPseudo says whether k stands for many types in the signature of a polymorphic function.
func (k Kind) IsPseudo() bool { return k >= Any && k < numKinds }

// FromOID is the type with the number oid.
func FromOID(oid uint32) (Type, bool) {
	t, ok := byOID[oid]
	return t, ok
}

// ByName finds a type by its SQL or catalog name ("integer", "int4", "text[]", "_text"), case already folded.
func ByName(name string) (Type, bool) {
	if t, ok := byName[name]; ok {
		return t, ok
	}
	if base, ok := strings.CutSuffix(name, "[]"); ok {
		if t, ok := byName[base]; ok && t.Kind != Array {
			return ArrayOf(t.Kind), true
		}
	}
	return Type{}, false
}
