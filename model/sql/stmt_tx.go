package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_TransactionStmt) (*Compiled, error) {
		return a.transaction(n.TransactionStmt)
	})
}

// exitStatement says whether a statement may run in an aborted transaction.
func exitStatement(n *pg.Node) bool {
	t := n.GetTransactionStmt()
	if t == nil {
		return false
	}
	switch t.Kind {
	case pg.TransactionStmtKind_TRANS_STMT_COMMIT, pg.TransactionStmtKind_TRANS_STMT_ROLLBACK, pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		return true
	}
	return false
}

func warning(code, message string) *types.Error {
	e := types.NewError(code, message)
	e.Severity = "WARNING"
	return e
}

func (a *analyzer) transaction(n *pg.TransactionStmt) (*Compiled, error) {
	c := &Compiled{}
	name := n.SavepointName
	switch n.Kind {
	case pg.TransactionStmtKind_TRANS_STMT_BEGIN, pg.TransactionStmtKind_TRANS_STMT_START:
		opts, err := a.txOptions(n.Options)
		if err != nil {
			return nil, err
		}
		tag := "BEGIN"
		if n.Kind == pg.TransactionStmtKind_TRANS_STMT_START {
			tag = "START TRANSACTION"
		}
		c.control = func(d *Database, s *session) (*Result, error) { return d.beginBlock(s, tag, opts) }
	case pg.TransactionStmtKind_TRANS_STMT_COMMIT:
		c.control = (*Database).commitBlock
		if n.Chain {
			c.control = chained("COMMIT", (*Database).commitBlock)
		}
	case pg.TransactionStmtKind_TRANS_STMT_ROLLBACK:
		c.control = (*Database).rollbackBlock
		if n.Chain {
			c.control = chained("ROLLBACK", (*Database).rollbackBlock)
		}
	case pg.TransactionStmtKind_TRANS_STMT_SAVEPOINT:
		c.control = func(d *Database, s *session) (*Result, error) {
			if !s.explicit {
				return nil, types.NewError("25P01", "SAVEPOINT can only be used in transaction blocks")
			}
			d.st.Savepoint(s.id, name)
			s.saved = append(s.saved, savepoint{name, s.settings})
			return &Result{Tag: "SAVEPOINT"}, nil
		}
	case pg.TransactionStmtKind_TRANS_STMT_RELEASE:
		c.control = func(d *Database, s *session) (*Result, error) {
			if !s.explicit {
				return nil, types.NewError("25P01", "RELEASE SAVEPOINT can only be used in transaction blocks")
			}
			if err := d.st.ReleaseSavepoint(s.id, name); err != nil {
				return nil, err
			}
			if i := s.savepoint(name); i >= 0 {
				s.saved = s.saved[:i]
			}
			return &Result{Tag: "RELEASE"}, nil
		}
	case pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		c.control = func(d *Database, s *session) (*Result, error) {
			if !s.explicit {
				return nil, types.NewError("25P01", "ROLLBACK TO SAVEPOINT can only be used in transaction blocks")
			}
			if err := d.st.RollbackTo(s.id, name); err != nil {
				return nil, err
			}
			if i := s.savepoint(name); i >= 0 {
				s.settings = s.saved[i].settings
				s.saved = s.saved[:i+1]
			}
			return &Result{Tag: "ROLLBACK"}, nil
		}
	default:
		return nil, a.unsupported(-1, "two-phase commit")
	}
	return c, nil
}

// savepoint is the place of the innermost savepoint of a name, or -1.
func (s *session) savepoint(name string) int {
	for i := len(s.saved) - 1; i >= 0; i-- {
		if s.saved[i].name == name {
			return i
		}
	}
	return -1
}

// txOptions reads the modes of BEGIN and SET TRANSACTION as parameters to set.
func (a *analyzer) txOptions(list []*pg.Node) ([]setting, error) {
	var out []setting
	for _, on := range list {
		o := on.GetDefElem()
		arg := o.Arg.GetAConst()
		value := ""
		switch v := arg.GetVal().(type) {
		case *pg.A_Const_Sval:
			value = v.Sval.GetSval()
		case *pg.A_Const_Ival:
			value = "off"
			if v.Ival.GetIval() != 0 {
				value = "on"
			}
		}
		if o.Defname == "transaction_deferrable" && value == "on" {
			return nil, a.unsupported(o.Location, "DEFERRABLE") // it would have to wait for a safe snapshot
		}
		switch o.Defname {
		case "transaction_isolation", "transaction_read_only", "transaction_deferrable":
			out = append(out, setting{o.Defname, value})
		default:
			return nil, a.unsupported(o.Location, o.Defname)
		}
	}
	return out, nil
}

func isolationOf(v string) storage.Isolation {
	switch strings.ToLower(v) {
	case "repeatable read":
		return storage.RepeatableRead
	case "serializable":
		return storage.Serializable
	}
	return storage.ReadCommitted
}

func (d *Database) beginBlock(s *session, tag string, opts []setting) (*Result, error) {
	res := &Result{Tag: tag}
	if s.explicit {
		res.Notices = append(res.Notices, warning("25001", "there is already a transaction in progress"))
	} else {
		d.st.Explicit(s.id, true)
		s.explicit = true
	}
	for _, o := range opts {
		if err := d.setSpecial(s, o.name, o.value, true); err != nil {
			return nil, err
		}
	}
	return res, nil
}

func (d *Database) commitBlock(s *session) (*Result, error) {
	if d.st.InTx(s.id) == storage.Failed {
		d.rollback(s)
		return &Result{Tag: "ROLLBACK"}, nil
	}
	res := &Result{Tag: "COMMIT"}
	if !s.explicit {
		res.Notices = append(res.Notices, warning("25P01", "there is no transaction in progress"))
	}
	return res, d.commit(s)
}

func (d *Database) rollbackBlock(s *session) (*Result, error) {
	res := &Result{Tag: "ROLLBACK"}
	if !s.explicit {
		res.Notices = append(res.Notices, warning("25P01", "there is no transaction in progress"))
	}
	d.rollback(s)
	return res, nil
}

// chained is COMMIT or ROLLBACK AND CHAIN: the next transaction begins at once, with the characteristics of the one that ended.
func chained(name string, end func(*Database, *session) (*Result, error)) func(*Database, *session) (*Result, error) {
	return func(d *Database, s *session) (*Result, error) {
		if !s.explicit {
			return nil, types.NewError("25P01", name+" AND CHAIN can only be used in transaction blocks")
		}
		o := d.st.TxOptions(s.id)
		res, err := end(d, s)
		if err != nil {
			return nil, err
		}
		d.begin(s, true)
		s.readOnly = o.ReadOnly
		o.Implicit = false
		d.st.SetTx(s.id, o)
		return res, nil
	}
}
