package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_VariableSetStmt) (*Compiled, error) { return a.set(n.VariableSetStmt) })
	registerStatement(func(a *analyzer, n *pg.Node_VariableShowStmt) (*Compiled, error) {
		return a.showStmt(n.VariableShowStmt)
	})
	registerStatement(func(a *analyzer, n *pg.Node_DiscardStmt) (*Compiled, error) { return nil, a.unsupported(-1, "DISCARD") })
}

func (a *analyzer) set(n *pg.VariableSetStmt) (*Compiled, error) {
	tag := "SET"
	var apply func(d *Database, s *session) error
	name := strings.ToLower(n.Name)
	switch n.Kind {
	case pg.VariableSetKind_VAR_SET_VALUE:
		value, err := a.setValue(n)
		if err != nil {
			return nil, err
		}
		apply = func(d *Database, s *session) error { return d.setSpecial(s, name, value, n.IsLocal) }
	case pg.VariableSetKind_VAR_SET_DEFAULT:
		apply = func(d *Database, s *session) error { return d.reset(s, name, n.IsLocal) }
	case pg.VariableSetKind_VAR_RESET:
		tag = "RESET"
		apply = func(d *Database, s *session) error { return d.reset(s, name, false) }
	case pg.VariableSetKind_VAR_RESET_ALL:
		tag = "RESET"
		apply = func(d *Database, s *session) error {
			role, ok := lookup(s.current(), "role")
			s.settings = settings{}
			if ok {
				s.settings.set("role", role, false, false)
			}
			return nil
		}
	case pg.VariableSetKind_VAR_SET_MULTI: // SET TRANSACTION, SET SESSION CHARACTERISTICS
		opts, err := a.txOptions(n.Args)
		if err != nil {
			return nil, err
		}
		characteristics := n.Name != "TRANSACTION"
		apply = func(d *Database, s *session) error {
			for _, o := range opts {
				var err error
				if characteristics {
					err = d.setParameter(s, "default_"+o.name, o.value, false, false)
				} else {
					err = d.setSpecial(s, o.name, o.value, true)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
	default:
		return nil, a.unsupported(-1, n.Kind.String())
	}
	return &Compiled{control: func(d *Database, s *session) (*Result, error) {
		res := &Result{Tag: tag}
		if !s.explicit && n.IsLocal {
			res.Notices = append(res.Notices, warning("25P01", "SET LOCAL can only be used in transaction blocks"))
		}
		if !s.explicit && n.Kind == pg.VariableSetKind_VAR_SET_MULTI && n.Name == "TRANSACTION" {
			res.Notices = append(res.Notices, warning("25P01", "SET TRANSACTION can only be used in transaction blocks"))
		}
		return res, apply(d, s)
	}}, nil
}

// setValue is the text of SET's arguments.
func (a *analyzer) setValue(n *pg.VariableSetStmt) (string, error) {
	var parts []string
	list := strings.EqualFold(n.Name, "search_path")
	for _, an := range n.Args {
		if tc := an.GetTypeCast(); tc != nil {
			an = tc.Arg
		}
		c := an.GetAConst()
		if c == nil {
			return "", a.unsupported(-1, "this value of SET")
		}
		switch v := c.Val.(type) {
		case *pg.A_Const_Sval:
			s := v.Sval.GetSval()
			if list {
				s = quoteIdent(s)
			}
			parts = append(parts, s)
		case *pg.A_Const_Ival:
			parts = append(parts, itoa(int(v.Ival.GetIval())))
		case *pg.A_Const_Fval:
			parts = append(parts, v.Fval.GetFval())
		case *pg.A_Const_Boolval:
			parts = append(parts, map[bool]string{true: "on", false: "off"}[v.Boolval.GetBoolval()])
		}
	}
	return strings.Join(parts, ", "), nil
}

// quoteIdent is quote_ident for names that are no keywords.
func quoteIdent(s string) string {
	plain := s != ""
	for i, c := range s {
		if !(c >= 'a' && c <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			plain = false
		}
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// setSpecial sets a parameter, minding those that are more than a value.
func (d *Database) setSpecial(s *session, name, value string, local bool) error {
	switch name {
	case "transaction_isolation":
		v, err := choose(name, value, levels)
		if err != nil {
			return err
		}
		if s.ranAny {
			if isolationOf(v) == d.st.TxOptions(s.id).Isolation {
				return nil
			}
			return types.NewError("25001", "SET TRANSACTION ISOLATION LEVEL must be called before any query")
		}
		if len(s.saved) > 0 {
			return types.NewError("25001", "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
		}
		o := d.st.TxOptions(s.id)
		o.Isolation = isolationOf(v)
		d.st.SetTx(s.id, o)
		s.settings.set(name, v, true, false)
		return nil
	case "transaction_read_only":
		v, ok := boolean(value)
		if !ok {
			return types.Errorf("22023", "parameter %q requires a Boolean value", name)
		}
		if v == "off" && s.readOnly && s.ranAny {
			return types.NewError("25001", "transaction read-write mode must be set before any query")
		}
		s.readOnly = v == "on"
		o := d.st.TxOptions(s.id)
		o.ReadOnly = s.readOnly
		d.st.SetTx(s.id, o)
		return nil
	case "transaction_deferrable", "default_transaction_deferrable":
		v, ok := boolean(value)
		if !ok {
			return types.Errorf("22023", "parameter %q requires a Boolean value", name)
		}
		if v == "on" {
			return types.NewError("0A000", "DEFERRABLE is not supported by the model")
		}
		return nil
	case "role":
		return d.setRole(s, value, local)
	case "session_authorization":
		return types.NewError("0A000", "SET SESSION AUTHORIZATION is not supported by the model")
	}
	return d.setParameter(s, name, value, local, false)
}

func (d *Database) reset(s *session, name string, local bool) error {
	if name == "role" {
		return d.setRole(s, "none", local)
	}
	return d.setParameter(s, name, "", local, true)
}

// show is the value of a parameter as SHOW prints it.
func (d *Database) show(s *session, name string) (string, error) {
	switch name {
	case "transaction_isolation":
		return map[storage.Isolation]string{storage.ReadCommitted: "read committed", storage.RepeatableRead: "repeatable read",
			storage.Serializable: "serializable"}[d.st.TxOptions(s.id).Isolation], nil
	case "transaction_read_only":
		return map[bool]string{true: "on", false: "off"}[s.readOnly], nil
	case "is_superuser":
		return map[bool]string{true: "on", false: "off"}[d.isSuperuser(s, s.user())], nil
	case "session_authorization":
		return s.login, nil
	}
	if v, ok := lookup(s.current(), name); ok {
		return v, nil
	}
	if p, ok := parameters[name]; ok {
		return p.value, nil
	}
	return "", unknownParameter(name)
}

func (a *analyzer) showStmt(n *pg.VariableShowStmt) (*Compiled, error) {
	name := strings.ToLower(n.Name)
	if name == "all" {
		return nil, a.unsupported(-1, "SHOW ALL")
	}
	return &Compiled{control: func(d *Database, s *session) (*Result, error) {
		v, err := d.show(s, name)
		if err != nil {
			return nil, err
		}
		return &Result{Tag: "SHOW", Fields: []Field{{Name: n.Name, Type: types.Type{Kind: types.Text}}},
			Rows: [][]types.Value{{types.NewText(v)}}}, nil
	}}, nil
}
