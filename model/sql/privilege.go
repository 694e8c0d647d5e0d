package sql

import (
	"strings"

	"simrun/model/storage"
	"simrun/model/types"
)

// user is the role in force.
func (s *session) user() string {
	if r, ok := lookup(s.current(), "role"); ok && r != "none" {
		return r
	}
	return s.login
}

// Role is the catalog's payload for a role.
type Role struct {
	Name      string
	Superuser bool
	MemberOf  []string
}

func (d *Database) isSuperuser(s *session, role string) bool {
	if role == superuser {
		return true
	}
	p, ok := d.st.Find(s.id, classRole, role)
	return ok && p.(*Role).Superuser
}

// memberships are the roles whose rights a role has: itself, PUBLIC and those it is a member of.
func (d *Database) memberships(s *session, role string) map[string]bool {
	set := map[string]bool{role: true, "": true}
	todo := []string{role}
	for len(todo) > 0 {
		r := todo[0]
		todo = todo[1:]
		if p, ok := d.st.Find(s.id, classRole, r); ok {
			for _, m := range p.(*Role).MemberOf {
				if !set[m] {
					set[m] = true
					todo = append(todo, m)
				}
			}
		}
	}
	return set
}

// setRole is SET ROLE.
func (d *Database) setRole(s *session, role string, local bool) error {
	if role != "none" {
		if _, ok := d.st.Find(s.id, classRole, role); !ok && role != superuser {
			return types.Errorf("22023", "role %q does not exist", role)
		}
		if !d.isSuperuser(s, s.login) && !d.memberships(s, s.login)[role] {
			return types.Errorf("42501", "permission denied to set role %q", role)
		}
	}
	s.settings.set("role", role, local, role == "none")
	return nil
}

// hasPrivilege says whether a role may do priv with a relation, for all of cols when some are given.
func (d *Database) hasPrivilege(role string, r *Relation, priv byte, cols []int) bool {
	if role == superuser || role == r.Owner || r.Schema == "pg_catalog" && priv == 'r' {
		return true
	}
	for _, s := range d.sess {
		if s != nil {
			return d.granted(s, role, r, priv)
		}
	}
	return false
}

func (d *Database) granted(s *session, role string, r *Relation, priv byte) bool {
	if d.isSuperuser(s, role) {
		return true
	}
	set := d.memberships(s, role)
	if set[r.Owner] {
		return true
	}
	for _, g := range r.ACL {
		if set[g.Role] && len(g.Columns) == 0 && strings.IndexByte(g.Privs, priv) >= 0 {
			return true
		}
	}
	return false
}

// grantedColumns says whether a role may do priv with all of the columns, or with any when there are none.
func (d *Database) grantedColumns(s *session, role string, r *Relation, priv byte, cols []int) bool {
	set := d.memberships(s, role)
	may := map[string]bool{}
	for _, g := range r.ACL {
		if set[g.Role] && strings.IndexByte(g.Privs, priv) >= 0 {
			for _, c := range g.Columns {
				may[c] = true
			}
		}
	}
	for _, c := range cols {
		if !may[r.Columns[c].Name] {
			return false
		}
	}
	return len(may) > 0
}

// checkPrivileges is ExecCheckPermissions.
func (d *Database) checkPrivileges(s *session, privs []privCheck) error {
	role := s.user()
	if role == superuser {
		return nil
	}
	for i := range privs {
		p := &privs[i]
		if p.rel.Schema == "pg_catalog" {
			continue
		}
		if !d.schemaPrivilege(s, p.rel.Schema, 'U') {
			e := types.Errorf("42501", "permission denied for schema %s", p.rel.Schema)
			e.Position = p.pos
			return e
		}
		if !d.granted(s, role, p.rel, p.priv) && !d.grantedColumns(s, role, p.rel, p.priv, p.cols) {
			return types.Errorf("42501", "permission denied for %s %s", objectKind(p.rel.Kind), p.rel.Name)
		}
	}
	return nil
}

func objectKind(k RelKind) string {
	switch k {
	case KindView:
		return "view"
	case KindSequence:
		return "sequence"
	}
	return "table"
}

// lockPrivilege is what LOCK TABLE asks for.
func (d *Database) lockPrivilege(s *session, r *Relation, mode storage.TableLock) error {
	need := "wdD"
	switch {
	case mode <= storage.AccessShare:
		need = "rwdD"
	case mode <= storage.RowExclusive:
		need = "awdD"
	}
	for i := range need {
		if d.hasPrivilege(s.user(), r, need[i], nil) {
			return nil
		}
	}
	return types.Errorf("42501", "permission denied for table %s", r.Name)
}

var privilegeLetters = map[string]byte{"select": 'r', "insert": 'a', "update": 'w', "delete": 'd', "truncate": 'D',
	"references": 'x', "trigger": 't', "usage": 'U', "execute": 'X', "create": 'C'}

// hasNamedPrivilege answers has_table_privilege and has_sequence_privilege.
func (d *Database) hasNamedPrivilege(s *session, class, role, object, column, privilege string) (bool, error) {
	if class != "table" && class != "sequence" {
		return false, types.Errorf("0A000", "has_%s_privilege is not supported by the model", class)
	}
	if role == "" {
		role = s.user()
	}
	c := d.catalog(s)
	v, err := c.regclass(object)
	if err != nil {
		return false, err
	}
	for _, p := range strings.Split(privilege, ",") {
		letter, ok := privilegeLetters[strings.ToLower(strings.TrimSpace(p))]
		if !ok {
			return false, types.Errorf("22023", "unrecognized privilege type: %q", strings.TrimSpace(p))
		}
		if d.hasPrivilege(role, c.byOID(v.N), letter, nil) {
			return true, nil
		}
	}
	return false, nil
}
