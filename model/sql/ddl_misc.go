package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/storage"
	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_CommentStmt) (*Compiled, error) {
		return &Compiled{tag: "COMMENT", util: func(*run) (*Result, error) { return &Result{Tag: "COMMENT"}, nil }}, nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_VacuumStmt) (*Compiled, error) { return a.vacuum(n.VacuumStmt) })
}

// vacuum is VACUUM and ANALYZE. There are no statistics to gather; VACUUM takes dead rows out of the counters. VACUUM FULL
// rewrites the table, under a lock that keeps readers out.
func (a *analyzer) vacuum(s *pg.VacuumStmt) (*Compiled, error) {
	tag, mode := "VACUUM", storage.ShareUpdateExclusive
	if !s.IsVacuumcmd {
		tag = "ANALYZE"
	}
	for _, on := range s.Options {
		o := on.GetDefElem()
		if o.Defname == "skip_locked" {
			return nil, a.unsupported(o.Location, "SKIP_LOCKED")
		}
		if o.Defname == "full" && (o.Arg == nil || o.Arg.GetBoolean().GetBoolval() || o.Arg.GetString_().GetSval() == "true") {
			mode = storage.AccessExclusive
		}
	}
	return &Compiled{tag: tag, util: func(rn *run) (*Result, error) {
		if s.IsVacuumcmd && rn.s.explicit {
			return nil, types.NewError("25001", "VACUUM cannot run inside a transaction block")
		}
		b := rn.analyzer(a.sql)
		var rels []*Relation
		for _, vn := range s.Rels {
			rv := vn.GetVacuumRelation().Relation
			r, err := b.cat.relation(rv.Schemaname, rv.Relname)
			if err != nil {
				return nil, b.at(err, rv.Location)
			}
			rels = append(rels, b.withParts(r, true)...)
		}
		if len(s.Rels) == 0 {
			rn.d.st.List(rn.s.id, classRelation, func(_ string, p any) bool {
				if r := p.(*Relation); r.Kind == KindTable {
					rels = append(rels, r)
				}
				return true
			})
		}
		for _, r := range rels {
			if r.Kind != KindTable {
				continue
			}
			if !rn.d.isSuperuser(rn.s, rn.s.user()) && r.Owner != rn.s.user() {
				rn.warn("01000", "skipping \""+r.Name+"\" --- only table or database owner can "+strings.ToLower(tag)+" it")
				continue
			}
			if err := rn.lock(r, mode); err != nil {
				return nil, err
			}
			if s.IsVacuumcmd {
				rn.d.st.Vacuum(r.ID)
			}
		}
		return &Result{Tag: tag}, nil
	}}, nil
}
