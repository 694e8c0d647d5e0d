package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_CreateSeqStmt) (*Compiled, error) {
		s := n.CreateSeqStmt
		return a.utility("CREATE SEQUENCE", func(rn *run, a *analyzer) error {
			schema, err := a.cat.creationSchema(s.Sequence.Schemaname)
			if err != nil {
				return a.at(err, s.Sequence.Location)
			}
			if err := rn.mayCreateIn(schema); err != nil {
				return err
			}
			if a.cat.lookup(schema, s.Sequence.Relname) != nil {
				if e := duplicate("relation", s.Sequence.Relname); !s.IfNotExists {
					return e
				} else {
					return rn.skip(e)
				}
			}
			seq := &Relation{Schema: schema, Name: s.Sequence.Relname, Kind: KindSequence, Owner: rn.s.user()}
			seq.OwnedBy, err = a.ownedBy(s.Options)
			if err != nil {
				return err
			}
			return rn.createSequence(a, seq, types.Int8, s.Options)
		}), nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_AlterSeqStmt) (*Compiled, error) {
		s := n.AlterSeqStmt
		return a.utility("ALTER SEQUENCE", func(rn *run, a *analyzer) error { return rn.alterSequence(a, s) }), nil
	})
}

// ownedBy reads OWNED BY table.column: the table's qualified name.
func (a *analyzer) ownedBy(options []*pg.Node) (string, error) {
	for _, on := range options {
		o := on.GetDefElem()
		if o.Defname != "owned_by" {
			continue
		}
		names := strs(o.Arg.GetList().Items)
		if len(names) < 2 {
			return "", nil // OWNED BY NONE
		}
		schema := ""
		if len(names) > 2 {
			schema = names[0]
		}
		t, err := a.cat.relation(schema, names[len(names)-2])
		if err != nil {
			return "", err
		}
		if t.Col(names[len(names)-1]) < 0 {
			return "", types.Errorf("42703", "column %q of relation %q does not exist", names[len(names)-1], t.Name)
		}
		return t.QName(), nil
	}
	return "", nil
}

func (rn *run) alterSequence(a *analyzer, s *pg.AlterSeqStmt) error {
	if s.MissingOk && a.cat.lookup(s.Sequence.Schemaname, s.Sequence.Relname) == nil {
		return rn.skip(types.Errorf("42P01", "relation %q does not exist", s.Sequence.Relname))
	}
	seq, err := rn.open(a, s.Sequence, storage.ShareRowExclusive, "S")
	if err != nil {
		return err
	}
	spec := *seq.Sequence
	if err := sequenceOptions(a, &spec, types.Int8, s.Options, false); err != nil {
		return err
	}
	seq.Sequence = &spec
	rn.x.AlterSequence(seq.ID, spec)
	for _, on := range s.Options {
		switch o := on.GetDefElem(); o.Defname {
		case "owned_by":
			if seq.OwnedBy, err = a.ownedBy(s.Options); err != nil {
				return err
			}
		case "restart":
			at := spec.Start
			if o.Arg != nil {
				at = int64(o.Arg.GetInteger().GetIval())
			}
			if err := rn.x.Setval(seq.ID, at, false); err != nil {
				return err
			}
		}
	}
	return rn.replace(seq)
}
