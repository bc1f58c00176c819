package sqlclass

import (
	pg "github.com/pganalyze/pg_query_go/v5"
)

func grantStmt(_ *walker, s *pg.GrantStmt, v *verdict) {
	if !s.IsGrant {
		v.mentions = true
		v.text = "REVOKE of rights on " + objectType(s.Objtype) + " " + names(s.Objects)
		return
	}
	v.text = "GRANT of rights on " + objectType(s.Objtype) + " " + names(s.Objects) + " to " + grantees(s.Grantees)
	if s.Objtype == pg.ObjectType_OBJECT_PARAMETER_ACL {
		v.class = Forbidden
	}
}

func grantees(nodes []*pg.Node) string {
	for _, n := range nodes {
		if n.GetRoleSpec().GetRoletype() == pg.RoleSpecType_ROLESPEC_PUBLIC {
			return "everybody"
		}
	}
	return names(nodes)
}

// grantRoleStmt refuses membership in roles that have a superuser's rights.
func grantRoleStmt(_ *walker, s *pg.GrantRoleStmt, v *verdict) {
	v.text = "change of who is a member of a role"
	for _, n := range s.GrantedRoles {
		if name := n.GetAccessPriv().GetPrivName(); s.IsGrant && isSuperRole(name) {
			v.class, v.text = Forbidden, "GRANT of the role "+show(name)
		}
	}
}

func createRoleStmt(_ *walker, s *pg.CreateRoleStmt, v *verdict) {
	v.text = "CREATE ROLE " + show(s.Role)
	roleOptions(s.Options, v)
}

func alterRoleStmt(_ *walker, s *pg.AlterRoleStmt, v *verdict) {
	v.text = "ALTER ROLE " + show(s.Role.GetRolename())
	roleOptions(s.Options, v)
	for _, n := range s.Options {
		if n.GetDefElem().GetDefname() == "rolemembers" && s.Action > 0 && isSuperRole(s.Role.GetRolename()) {
			v.class = Forbidden
			v.text += ", with new members"
		}
	}
}

// roleOptions refuses options that give a role a superuser's rights.
func roleOptions(options []*pg.Node, v *verdict) {
	for _, n := range options {
		o := n.GetDefElem()
		switch o.GetDefname() {
		case "superuser", "isreplication", "bypassrls":
			if !isOff(o.Arg) {
				v.class = Forbidden
				v.text += ", with the rights of a superuser"
			}
		case "addroleto":
			for _, r := range o.Arg.GetList().GetItems() {
				if isSuperRole(r.GetRoleSpec().GetRolename()) {
					v.class = Forbidden
					v.text += ", as a member of " + show(r.GetRoleSpec().GetRolename())
				}
			}
		}
	}
}
