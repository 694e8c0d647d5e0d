package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"simrun/model/types"
)

func init() {
	registerStatement(func(a *analyzer, n *pg.Node_CreateRoleStmt) (*Compiled, error) {
		s := n.CreateRoleStmt
		return a.utility("CREATE ROLE", func(rn *run, a *analyzer) error {
			if err := rn.mayManageRoles("create role"); err != nil {
				return err
			}
			if _, ok := a.cat.find(classRole, s.Role); ok || s.Role == superuser {
				return types.Errorf("42710", "role %q already exists", s.Role)
			}
			r := &Role{Name: s.Role}
			if err := rn.roleOptions(a, r, s.Options); err != nil {
				return err
			}
			return rn.x.Define(classRole, r.Name, r)
		}), nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_AlterRoleStmt) (*Compiled, error) {
		s := n.AlterRoleStmt
		return a.utility("ALTER ROLE", func(rn *run, a *analyzer) error {
			if err := rn.mayManageRoles("alter role"); err != nil {
				return err
			}
			name, err := rn.roleName(a, s.Role)
			if err != nil {
				return err
			}
			p, ok := a.cat.find(classRole, name)
			if !ok {
				return a.unsupported(-1, "ALTER ROLE of the database's owner")
			}
			r := *p.(*Role)
			if err := rn.roleOptions(a, &r, s.Options); err != nil {
				return err
			}
			return rn.x.Replace(classRole, name, &r)
		}), nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_DropRoleStmt) (*Compiled, error) {
		s := n.DropRoleStmt
		return a.utility("DROP ROLE", func(rn *run, a *analyzer) error { return rn.dropRoles(a, s) }), nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_GrantRoleStmt) (*Compiled, error) {
		s := n.GrantRoleStmt
		tag := "REVOKE ROLE"
		if s.IsGrant {
			tag = "GRANT ROLE"
		}
		return a.utility(tag, func(rn *run, a *analyzer) error { return rn.grantRoles(a, s) }), nil
	})
	registerStatement(func(a *analyzer, n *pg.Node_GrantStmt) (*Compiled, error) {
		s := n.GrantStmt
		tag := "REVOKE"
		if s.IsGrant {
			tag = "GRANT"
		}
		if s.Targtype == pg.GrantTargetType_ACL_TARGET_DEFAULTS {
			return nil, a.unsupported(-1, "ALTER DEFAULT PRIVILEGES")
		}
		return a.utility(tag, func(rn *run, a *analyzer) error { return rn.grant(a, s) }), nil
	})
}

func (rn *run) mayManageRoles(what string) error {
	if rn.d.isSuperuser(rn.s, rn.s.user()) {
		return nil
	}
	return types.Errorf("42501", "permission denied to %s", what)
}

// roleName reads a role: a name, PUBLIC (as ""), CURRENT_USER or SESSION_USER.
func (rn *run) roleName(a *analyzer, r *pg.RoleSpec) (string, error) {
	switch r.Roletype {
	case pg.RoleSpecType_ROLESPEC_PUBLIC:
		return "", nil
	case pg.RoleSpecType_ROLESPEC_CURRENT_USER, pg.RoleSpecType_ROLESPEC_CURRENT_ROLE:
		return rn.s.user(), nil
	case pg.RoleSpecType_ROLESPEC_SESSION_USER:
		return rn.s.login, nil
	}
	if _, ok := a.cat.find(classRole, r.Rolename); !ok && r.Rolename != superuser && !predefinedRoles[r.Rolename] {
		return "", types.Errorf("42704", "role %q does not exist", r.Rolename)
	}
	return r.Rolename, nil
}

// predefinedRoles exist in every database.
var predefinedRoles = map[string]bool{"pg_read_all_stats": true, "pg_monitor": true, "pg_read_all_data": true, "pg_write_all_data": true,
	"pg_signal_backend": true}

func (rn *run) roleOptions(a *analyzer, r *Role, options []*pg.Node) error {
	for _, on := range options {
		o := on.GetDefElem()
		switch o.Defname {
		case "superuser":
			r.Superuser = o.Arg.GetBoolean().GetBoolval()
		case "addroleto":
			for _, item := range o.Arg.GetList().GetItems() {
				name, err := rn.roleName(a, item.GetRoleSpec())
				if err != nil {
					return err
				}
				r.MemberOf = append(r.MemberOf[:len(r.MemberOf):len(r.MemberOf)], name)
			}
		case "password", "canlogin", "inherit", "createdb", "createrole", "isreplication", "connectionlimit", "validUntil", "bypassrls":
		default:
			return a.unsupported(o.Location, "role option "+o.Defname)
		}
	}
	return nil
}

func (rn *run) dropRoles(a *analyzer, s *pg.DropRoleStmt) error {
	if err := rn.mayManageRoles("drop role"); err != nil {
		return err
	}
	for _, r := range s.Roles {
		name := r.GetRoleSpec().GetRolename()
		if _, ok := a.cat.find(classRole, name); !ok {
			e := types.Errorf("42704", "role %q does not exist", name)
			if !s.MissingOk {
				return e
			}
			if err := rn.skip(e); err != nil {
				return err
			}
			continue
		}
		var found []string
		rn.d.st.List(rn.s.id, classRelation, func(_ string, p any) bool {
			t := p.(*Relation)
			if t.Kind == KindIndex {
				return true
			}
			if t.Owner == name {
				found = append(found, "owner of "+objectWord(t.Kind)+" "+t.Name)
				return true
			}
			for _, g := range t.ACL {
				if g.Role == name {
					found = append(found, "privileges for "+objectWord(t.Kind)+" "+t.Name)
					break
				}
			}
			return true
		})
		if len(found) > 0 {
			return types.Errorf("2BP01", "role %q cannot be dropped because some objects depend on it", name).
				WithDetail("%s", strings.Join(found, "\n"))
		}
		if err := rn.x.Drop(classRole, name); err != nil {
			return err
		}
	}
	return nil
}

// grantRoles is GRANT role TO role and its REVOKE.
func (rn *run) grantRoles(a *analyzer, s *pg.GrantRoleStmt) error {
	if err := rn.mayManageRoles("grant role"); err != nil {
		return err
	}
	for _, gn := range s.GranteeRoles {
		name, err := rn.roleName(a, gn.GetRoleSpec())
		if err != nil {
			return err
		}
		p, ok := a.cat.find(classRole, name)
		if !ok {
			continue // the database's owner has all rights
		}
		r := *p.(*Role)
		r.MemberOf = append([]string(nil), r.MemberOf...)
		for _, on := range s.GrantedRoles {
			granted := on.GetAccessPriv().GetPrivName()
			if _, ok := a.cat.find(classRole, granted); !ok && granted != superuser && !predefinedRoles[granted] {
				return types.Errorf("42704", "role %q does not exist", granted)
			}
			kept := r.MemberOf[:0]
			for _, m := range r.MemberOf {
				if m != granted {
					kept = append(kept, m)
				}
			}
			if r.MemberOf = kept; s.IsGrant {
				r.MemberOf = append(r.MemberOf, granted)
			}
		}
		if err := rn.x.Replace(classRole, name, &r); err != nil {
			return err
		}
	}
	return nil
}

// privileges that ALL stands for, by kind of object.
const (
	tablePrivileges    = "arwdDxt"
	sequencePrivileges = "rwU"
	schemaPrivileges   = "UC"
	columnPrivileges   = "arwx"
)

// access is one privilege of GRANT with its columns.
type access struct {
	letters string
	cols    []string
}

// accesses reads a list of privileges.
func (a *analyzer) accesses(list []*pg.Node, all, kind string) ([]access, error) {
	if len(list) == 0 {
		return []access{{letters: all}}, nil
	}
	var out []access
	for _, pn := range list {
		p := pn.GetAccessPriv()
		cols := strs(p.Cols)
		if p.PrivName == "" {
			out = append(out, access{columnPrivileges, cols})
			continue
		}
		letter, ok := privilegeLetters[strings.ToLower(p.PrivName)]
		if !ok {
			return nil, types.Errorf("42601", "unrecognized privilege type %q", p.PrivName)
		}
		if strings.IndexByte(all, letter) < 0 {
			return nil, types.Errorf("0LP01", "invalid privilege type %s for %s", strings.ToUpper(p.PrivName), kind)
		}
		if len(cols) > 0 && strings.IndexByte(columnPrivileges, letter) < 0 {
			return nil, types.Errorf("0LP01", "invalid privilege type %s for column", strings.ToUpper(p.PrivName))
		}
		out = append(out, access{string(letter), cols})
	}
	return out, nil
}

// edit adds privileges to an access list, or takes them away.
func edit(acl []Grant, grant bool, role string, acc access) []Grant {
	acl = append([]Grant(nil), acl...)
	if grant {
		for i := range acl {
			if g := &acl[i]; g.Role == role && strings.Join(g.Columns, ",") == strings.Join(acc.cols, ",") {
				for j := range acc.letters {
					if strings.IndexByte(g.Privs, acc.letters[j]) < 0 {
						g.Privs += acc.letters[j : j+1]
					}
				}
				return acl
			}
		}
		return append(acl, Grant{Role: role, Privs: acc.letters, Columns: acc.cols})
	}
	kept := acl[:0]
	for _, g := range acl {
		if g.Role == role && (len(acc.cols) == 0 || strings.Join(g.Columns, ",") == strings.Join(acc.cols, ",")) {
			g.Privs = strings.Map(func(r rune) rune {
				if strings.ContainsRune(acc.letters, r) {
					return -1
				}
				return r
			}, g.Privs)
		}
		if g.Privs != "" {
			kept = append(kept, g)
		}
	}
	return kept
}

// grant is GRANT and REVOKE on objects.
func (rn *run) grant(a *analyzer, s *pg.GrantStmt) error {
	var roles []string
	for _, gn := range s.Grantees {
		name, err := rn.roleName(a, gn.GetRoleSpec())
		if err != nil {
			return err
		}
		roles = append(roles, name)
	}
	switch s.Objtype {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_SEQUENCE:
		rels, err := rn.grantTargets(a, s)
		if err != nil {
			return err
		}
		for _, r := range rels {
			if err := rn.grantRelation(a, s, r, roles); err != nil {
				return err
			}
		}
		return nil
	case pg.ObjectType_OBJECT_SCHEMA:
		return rn.grantSchemas(a, s, roles)
	case pg.ObjectType_OBJECT_FUNCTION, pg.ObjectType_OBJECT_PROCEDURE, pg.ObjectType_OBJECT_ROUTINE:
		return rn.grantFunctions(a, s, roles)
	case pg.ObjectType_OBJECT_DATABASE:
		return nil // connecting is not modelled
	}
	return a.unsupported(-1, "GRANT ON "+strings.TrimPrefix(s.Objtype.String(), "OBJECT_"))
}

// grantTargets are the relations of GRANT .. ON TABLE or ON ALL TABLES IN SCHEMA.
func (rn *run) grantTargets(a *analyzer, s *pg.GrantStmt) ([]*Relation, error) {
	var rels []*Relation
	if s.Targtype == pg.GrantTargetType_ACL_TARGET_OBJECT {
		for _, on := range s.Objects {
			rv := on.GetRangeVar()
			r, err := a.cat.relation(rv.Schemaname, rv.Relname)
			if err != nil {
				return nil, a.at(err, -1)
			}
			rels = append(rels, r)
		}
		return rels, nil
	}
	schemas := map[string]bool{}
	for _, on := range s.Objects {
		name := on.GetString_().GetSval()
		if !a.cat.schemaExists(name) {
			return nil, types.Errorf("3F000", "schema %q does not exist", name)
		}
		schemas[name] = true
	}
	rn.d.st.List(rn.s.id, classRelation, func(_ string, p any) bool {
		r := p.(*Relation)
		isSeq := r.Kind == KindSequence
		if schemas[r.Schema] && r.Kind != KindIndex && isSeq == (s.Objtype == pg.ObjectType_OBJECT_SEQUENCE) {
			rels = append(rels, r)
		}
		return true
	})
	return rels, nil
}

func (rn *run) grantRelation(a *analyzer, s *pg.GrantStmt, r *Relation, roles []string) error {
	if err := rn.mayGrant(r.Owner, objectWord(r.Kind), r.Name); err != nil {
		for _, g := range r.ACL {
			if rn.d.memberships(rn.s, rn.s.user())[g.Role] { // some privilege, but none to hand on
				rn.warn("01007", "no privileges were granted for \""+r.Name+"\"")
				return nil
			}
		}
		return err
	}
	all, kind := tablePrivileges, "relation"
	if r.Kind == KindSequence {
		all, kind = sequencePrivileges, "sequence"
	}
	accs, err := a.accesses(s.Privileges, all, kind)
	if err != nil {
		return err
	}
	c, err := rn.change(a, r.QName())
	if err != nil {
		return err
	}
	for _, acc := range accs {
		for _, col := range acc.cols {
			if c.Col(col) < 0 {
				return types.Errorf("42703", "column %q of relation %q does not exist", col, c.Name)
			}
		}
		for _, role := range roles {
			c.ACL = edit(c.ACL, s.IsGrant, role, acc)
		}
	}
	return rn.replace(c)
}

func (rn *run) mayGrant(owner, kind, name string) error {
	if rn.owns(owner, kind, name) == nil {
		return nil
	}
	return types.Errorf("42501", "permission denied for %s %s", kind, name)
}

func (rn *run) grantSchemas(a *analyzer, s *pg.GrantStmt, roles []string) error {
	accs, err := a.accesses(s.Privileges, schemaPrivileges, "schema")
	if err != nil {
		return err
	}
	for _, on := range s.Objects {
		name := on.GetString_().GetSval()
		p, ok := a.cat.find(classSchema, name)
		if !ok && !a.cat.schemaExists(name) {
			return types.Errorf("3F000", "schema %q does not exist", name)
		}
		sc := &Schema{Name: name, Owner: superuser, ACL: []Grant{{Role: "", Privs: "U"}}}
		if ok {
			c := *p.(*Schema)
			sc = &c
		}
		if err := rn.mayGrant(sc.Owner, "schema", name); err != nil {
			return err
		}
		for _, acc := range accs {
			for _, role := range roles {
				sc.ACL = edit(sc.ACL, s.IsGrant, role, acc)
			}
		}
		if ok {
			err = rn.x.Replace(classSchema, name, sc)
		} else {
			err = rn.x.Define(classSchema, name, sc)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (rn *run) grantFunctions(a *analyzer, s *pg.GrantStmt, roles []string) error {
	accs, err := a.accesses(s.Privileges, "X", "function")
	if err != nil {
		return err
	}
	var fns []*Function
	if s.Targtype == pg.GrantTargetType_ACL_TARGET_OBJECT {
		for _, on := range s.Objects {
			f, err := a.functionOf(on.GetObjectWithArgs())
			if err != nil {
				return err
			}
			fns = append(fns, f)
		}
	} else {
		schemas := map[string]bool{}
		for _, on := range s.Objects {
			schemas[on.GetString_().GetSval()] = true
		}
		rn.d.st.List(rn.s.id, classFunction, func(_ string, p any) bool {
			if f := p.(*Function); schemas[f.Schema] {
				fns = append(fns, f)
			}
			return true
		})
	}
	for _, f := range fns {
		if err := rn.mayGrant(f.Owner, "function", f.Name); err != nil {
			return err
		}
		c := f.copy()
		for _, acc := range accs {
			for _, role := range roles {
				if role == "" {
					c.Public = s.IsGrant
					continue
				}
				c.ACL = edit(c.ACL, s.IsGrant, role, acc)
			}
		}
		if err := rn.x.Replace(classFunction, c.key(), c); err != nil {
			return err
		}
	}
	return nil
}

// copy is a function with the same body and a memory of its own.
func (f *Function) copy() *Function {
	return &Function{Schema: f.Schema, Name: f.Name, OID: f.OID, Owner: f.Owner, Params: f.Params, Ret: f.Ret, RetTable: f.RetTable, Set: f.Set,
		Cols: f.Cols, Language: f.Language, Volatility: f.Volatility, Strict: f.Strict, Definer: f.Definer, Procedure: f.Procedure, Body: f.Body,
		Text: f.Text, Config: f.Config, ACL: f.ACL, Public: f.Public, stmts: f.stmts, prog: f.prog}
}

// mayExecute says whether the current role may call a function.
func (d *Database) mayExecute(s *session, f *Function) bool {
	role := s.user()
	if f.Public || role == f.Owner || d.isSuperuser(s, role) {
		return true
	}
	set := d.memberships(s, role)
	if set[f.Owner] {
		return true
	}
	for _, g := range f.ACL {
		if set[g.Role] && strings.IndexByte(g.Privs, 'X') >= 0 {
			return true
		}
	}
	return false
}

// schemaPrivilege says whether the current role may use ('U') a schema or create in it ('C').
func (d *Database) schemaPrivilege(s *session, schema string, priv byte) bool {
	role := s.user()
	if d.isSuperuser(s, role) {
		return true
	}
	p, ok := d.st.Find(s.id, classSchema, schema)
	if !ok { // a schema that every database has: all may use it
		return priv == 'U'
	}
	set := d.memberships(s, role)
	sc := p.(*Schema)
	if set[sc.Owner] {
		return true
	}
	for _, g := range sc.ACL {
		if set[g.Role] && strings.IndexByte(g.Privs, priv) >= 0 {
			return true
		}
	}
	return false
}
