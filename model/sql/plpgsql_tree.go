package sql

import (
	"encoding/json"
	"strings"

	"simrun/model/types"
)

// The tree that libpg_query gives of a PL/pgSQL function. Each node is an object with one key, its kind, so that all kinds
// can be read into one set of fields.

// plNode is a node of the tree: its kind is the only key that is set.
type plNode map[string]*plFields

type plFields struct {
	// functions
	NewVarno int      `json:"new_varno"`
	OldVarno int      `json:"old_varno"`
	Datums   []plNode `json:"datums"`
	Action   plAction `json:"action"`
	// datums
	Refname     string    `json:"refname"`
	Lineno      int       `json:"lineno"`
	Dno         int       `json:"dno"`
	Datatype    plNode    `json:"datatype"`
	Typname     string    `json:"typname"`
	Isconst     bool      `json:"isconst"`
	Notnull     bool      `json:"notnull"`
	DefaultVal  plNode    `json:"default_val"`
	Cursor      plNode    `json:"cursor_explicit_expr"`
	Fieldname   string    `json:"fieldname"`
	Recparentno int       `json:"recparentno"`
	Fields      []plField `json:"fields"`
	// expressions
	Query     json.RawMessage `json:"query"` // the text of an expression, or a node that is one
	ParseMode int             `json:"parseMode"`
	// statements
	Label      string   `json:"label"`
	Body       []plNode `json:"body"`
	Exceptions plNode   `json:"exceptions"`
	ExcList    []plNode `json:"exc_list"`
	Conditions []plNode `json:"conditions"`
	Condname   string   `json:"condname"`
	Cond       plNode   `json:"cond"`
	Then       []plNode `json:"then_body"`
	Elsifs     []plNode `json:"elsif_list"`
	Else       []plNode `json:"else_body"`
	Stmts      []plNode `json:"stmts"`
	Sqlstmt    plNode   `json:"sqlstmt"`
	Into       bool     `json:"into"`
	Strict     bool     `json:"strict"`
	Target     plTarget `json:"target"`
	Varno      int      `json:"varno"`
	Expr       plNode   `json:"expr"`
	Var        plNode   `json:"var"`
	Lower      plNode   `json:"lower"`
	Upper      plNode   `json:"upper"`
	Step       plNode   `json:"step"`
	Reverse    bool     `json:"reverse"`
	IsExit     bool     `json:"is_exit"`
	Params     []plNode `json:"params"`
	Slice      int      `json:"slice"`
	Elevel     int      `json:"elog_level"`
	Message    plText   `json:"message"`
	Options    []plNode `json:"options"`
	OptType    int      `json:"opt_type"`
	DiagItems  []plNode `json:"diag_items"`
	Kind       string   `json:"kind"`
	IsStacked  bool     `json:"is_stacked"`
	Dynquery   plNode   `json:"dynquery"`
	CaseExpr   plNode   `json:"t_expr"`
	CaseVarno  int      `json:"t_varno"`
	CaseWhens  []plNode `json:"case_when_list"`
	HaveElse   bool     `json:"have_else"`
	ElseStmts  []plNode `json:"else_stmts"`
}

// plField is a target of INTO: a variable.
type plField struct {
	Name  string `json:"name"`
	Varno int    `json:"varno"`
}

// plTarget is the target of INTO, or of an item of GET DIAGNOSTICS.
type plTarget struct {
	node  plNode
	varno int
}

// UnmarshalJSON reads a node or a number.
func (t *plTarget) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		return json.Unmarshal(b, &t.node)
	}
	return json.Unmarshal(b, &t.varno)
}

// plAction is the body of a function, a node, or of an exception handler, a list.
type plAction struct {
	node plNode
	list []plNode
}

// UnmarshalJSON reads a node or a list.
func (t *plAction) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		return json.Unmarshal(b, &t.node)
	}
	return json.Unmarshal(b, &t.list)
}

// plText is a text, or an expression (RAISE has the one, ASSERT the other).
type plText struct {
	text string
	set  bool
	node plNode
}

// UnmarshalJSON reads a string or a node.
func (t *plText) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		return json.Unmarshal(b, &t.node)
	}
	t.set = true
	return json.Unmarshal(b, &t.text)
}

// kind is a node's kind without its prefix, and its fields.
func (n plNode) kind() (string, *plFields) {
	for k, f := range n { // there is one
		return strings.TrimPrefix(k, "PLpgSQL_"), f
	}
	return "", nil
}

// query is the text of an expression node; ok is false when there is none.
func (n plNode) query() (text string, ok bool) {
	_, f := n.kind()
	if f == nil {
		return "", false
	}
	if err := json.Unmarshal(f.Query, &text); err != nil {
		return "", false
	}
	return text, true
}

// inner is the node that a field called query holds in some statements.
func (f *plFields) inner() plNode {
	var n plNode
	if err := json.Unmarshal(f.Query, &n); err != nil {
		return nil
	}
	return n
}

// readProgram reads the tree of one function.
func readProgram(tree json.RawMessage) (*plFields, error) {
	var fns []plNode
	if err := json.Unmarshal(tree, &fns); err != nil || len(fns) == 0 {
		return nil, types.NewError("XX000", "unreadable PL/pgSQL tree")
	}
	_, f := fns[0].kind()
	if f == nil {
		return nil, types.NewError("XX000", "unreadable PL/pgSQL tree")
	}
	return f, nil
}
