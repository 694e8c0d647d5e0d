package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

// Classes of catalog objects, the first argument of the storage catalog's Find and Define.
const (
	classRelation = "relation" // tables, indexes, sequences and views share one name space, as in pg_class
	classFunction = "function"
	classSchema   = "schema"
	classRole     = "role"
)

// RelKind is pg_class.relkind.
type RelKind byte

// The kinds of relation.
const (
	KindTable       RelKind = 'r'
	KindPartitioned RelKind = 'p'
	KindIndex       RelKind = 'i'
	KindSequence    RelKind = 'S'
	KindView        RelKind = 'v'
)

// Relation is the catalog's payload for every relation: immutable once defined, replaced as a whole by DDL.
type Relation struct {
	Schema, Name string
	Kind         RelKind
	OID          uint32
	ID           storage.TableID // heap of a table; lock tag of the others
	Owner        string
	Columns      []Column
	Indexes      []Index // same order as the indexes of the heap
	Checks       []Check
	FKs          []ForeignKey // of this table, pointing elsewhere
	RefFKs       []ForeignKey // pointing here
	Triggers     []Trigger
	Parts        []Partition // of a partitioned table, in bound order
	PartKey      []int       // columns of the partition key (list partitioning)
	Parent       string      // qualified name of the partitioned table this one is a partition of
	IndexOf      string      // qualified table name of an index
	View         *View
	Sequence     *storage.SequenceSpec
	OwnedBy      string // qualified table of an owned sequence
	ACL          []Grant
}

// QName is schema.name, the key in the catalog.
func (r *Relation) QName() string { return r.Schema + "." + r.Name }

// Col is the index of a live column, or -1.
func (r *Relation) Col(name string) int {
	for i := range r.Columns {
		if r.Columns[i].Name == name && !r.Columns[i].Dropped {
			return i
		}
	}
	return -1
}

// Column is pg_attribute's row, as far as statements need it.
type Column struct {
	Name      string
	Type      types.Type
	Typmod    int32 // -1: none
	NotNull   bool
	Default   *pg.Node // raw expression, analysed when a statement needs it; nil: NULL
	DefaultQ  string   // the SQL text the positions of Default refer to
	Identity  byte     // 'a' always, 'd' by default, 0 none
	Sequence  string   // qualified sequence of an identity or serial column
	Generated bool     // GENERATED ALWAYS AS (Default) STORED
	Dropped   bool
}

// Index is an index, or the index of a constraint.
type Index struct {
	Name       string
	OID        uint32
	ID         storage.TableID
	Cols       []int      // key columns; -1: the expression of the same place in Exprs
	Exprs      []*pg.Node // nil, or as long as Cols
	Unique     bool
	Primary    bool
	Constraint bool // it belongs to a constraint of the same name
	NullsSame  bool // NULLS NOT DISTINCT
	Deferrable bool
	Pred       *pg.Node // predicate of a partial index
	Text       string   // SQL the positions of Exprs and Pred refer to
}

// Check is a CHECK constraint.
type Check struct {
	Name string
	Expr *pg.Node
	Text string
}

// FKAction is what happens to referencing rows.
type FKAction byte

// The actions, lettered as pg_constraint has them.
const (
	NoAction   FKAction = 'a'
	Restrict   FKAction = 'r'
	Cascade    FKAction = 'c'
	SetNull    FKAction = 'n'
	SetDefault FKAction = 'd'
)

// ForeignKey is a FOREIGN KEY constraint.
type ForeignKey struct {
	Name               string
	Table, Ref         string // qualified names
	Cols, RefCols      []int
	OnUpdate, OnDelete FKAction
	Deferrable         bool
	Deferred           bool
}

// Trigger is a row or statement trigger.
type Trigger struct {
	Name     string
	Before   bool
	Row      bool
	Insert   bool
	Update   bool
	Delete   bool
	Truncate bool
	UpdateOf []int // columns of UPDATE OF, nil: any
	When     *pg.Node
	Text     string
	Function string // qualified name
	Args     []string
	Disabled bool
}

// Partition is one partition of a list-partitioned table.
type Partition struct {
	Table   string // qualified name
	Values  []types.Value
	Default bool
}

// View is a stored query.
type View struct {
	Query *pg.Node // SelectStmt
	Text  string
}

// Grant is one aclitem: privileges as letters of pg_class.relacl (a INSERT, r SELECT, w UPDATE, d DELETE, D TRUNCATE,
// x REFERENCES, t TRIGGER, U USAGE, X EXECUTE).
type Grant struct {
	Role    string // "" is PUBLIC
	Privs   string
	Columns []string
}
