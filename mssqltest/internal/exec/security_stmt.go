package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// securityStatement finds how to run a statement about logins, users, roles and permissions. They take effect at once and
// are not undone by a rollback.
func (r *run) securityStatement(st ast.Statement) (func() error, bool) {
	do := func(fn func() error) (func() error, bool) {
		return func() error {
			if err := fn(); err != nil {
				return err
			}
			return r.done(CmdDDL, 0, false)
		}, true
	}
	sec := r.s.in.Storage.Logins
	switch x := st.(type) {
	case *ast.CreateLoginStatement:
		return do(func() error { return r.createLogin(x) })
	case *ast.AlterLoginOptionsStatement:
		return do(func() error { return r.alterLogin(x) })
	case *ast.AlterLoginEnableDisableStatement:
		return do(func() error {
			if err := r.permitAdmin(); err != nil {
				return err
			}
			return sec.AlterLogin(x.Name.Value, func(l *storage.Login) { l.Disabled = !x.IsEnable })
		})
	case *ast.DropLoginStatement:
		return do(func() error {
			if err := r.permitAdmin(); err != nil {
				return err
			}
			if _, ok := sec.Login(x.Name.Value); !ok && x.IsIfExists {
				return nil
			}
			return sec.DropLogin(x.Name.Value)
		})
	case *ast.CreateUserStatement:
		return do(func() error { return r.createUser(x) })
	case *ast.AlterUserStatement:
		return do(func() error { return r.alterUser(x) })
	case *ast.DropUserStatement:
		return do(func() error { return r.dropPrincipal(x.Name.Value, "S", x.IsIfExists) })
	case *ast.CreateRoleStatement:
		return do(func() error {
			if err := r.permitSecurity(); err != nil {
				return err
			}
			_, err := sec.CreatePrincipal(r.s.db.ID, storage.Principal{Name: x.Name.Value, Type: "R"})
			return err
		})
	case *ast.DropRoleStatement:
		return do(func() error { return r.dropPrincipal(x.Name.Value, "R", x.IsIfExists) })
	case *ast.AlterRoleStatement:
		return do(func() error { return r.alterRole(x) })
	case *ast.AlterServerRoleStatement:
		return do(func() error { return r.alterServerRole(x) })
	case *ast.GrantStatement:
		state := "G"
		if x.WithGrantOption {
			state = "W"
		}
		return do(func() error { return r.setPermissions(x.Permissions, x.Principals, x.SecurityTargetObject, state) })
	case *ast.DenyStatement:
		return do(func() error { return r.setPermissions(x.Permissions, x.Principals, x.SecurityTargetObject, "D") })
	case *ast.RevokeStatement:
		return do(func() error { return r.setPermissions(x.Permissions, x.Principals, x.SecurityTargetObject, "") })
	}
	return nil, false
}

// permitSecurity is for changes of users, roles and permissions.
func (r *run) permitSecurity() error {
	if _, owner := r.s.roles(r.s.db); owner || r.s.IsMember(r.s.db, "db_securityadmin") || r.s.IsMember(r.s.db, "db_accessadmin") {
		return nil
	}
	return sqlerr.New(15247)
}

func stringOf(n ast.ScalarExpression) (string, bool) {
	s, ok := n.(*ast.StringLiteral)
	if !ok {
		return "", false
	}
	return s.Value, true
}

func (r *run) createLogin(x *ast.CreateLoginStatement) error {
	if err := r.permitAdmin(); err != nil {
		return err
	}
	src, ok := x.Source.(*ast.PasswordCreateLoginSource)
	if !ok {
		return notSupported("logins without a password")
	}
	password, ok := stringOf(src.Password)
	if !ok || src.Hashed {
		return notSupported("hashed passwords")
	}
	l := storage.Login{Name: x.Name.Value}
	for _, o := range src.Options {
		if id, ok := o.(*ast.IdentifierPrincipalOption); ok {
			switch id.OptionKind {
			case "DefaultDatabase":
				l.DefaultDatabase = id.Identifier.Value
			case "DefaultLanguage":
				l.DefaultLanguage = id.Identifier.Value
			}
		}
	}
	return r.s.in.Storage.Logins.CreateLogin(l, password)
}

func (r *run) alterLogin(x *ast.AlterLoginOptionsStatement) error {
	if !sameName(x.Name.Value, r.s.login) {
		if err := r.permitAdmin(); err != nil {
			return err
		}
	}
	sec := r.s.in.Storage.Logins
	for _, o := range x.Options {
		switch p := o.(type) {
		case *ast.PasswordAlterPrincipalOption:
			s, ok := stringOf(p.Password)
			if !ok {
				return notSupported("hashed passwords")
			}
			if err := sec.SetPassword(x.Name.Value, s); err != nil {
				return err
			}
		case *ast.IdentifierPrincipalOption:
			err := sec.AlterLogin(x.Name.Value, func(l *storage.Login) {
				switch p.OptionKind {
				case "DefaultDatabase":
					l.DefaultDatabase = p.Identifier.Value
				case "DefaultLanguage":
					l.DefaultLanguage = p.Identifier.Value
				case "Name":
					l.Name = p.Identifier.Value
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) createUser(x *ast.CreateUserStatement) error {
	if err := r.permitSecurity(); err != nil {
		return err
	}
	p := storage.Principal{Name: x.Name.Value, Type: "S", Login: x.Name.Value}
	if o := x.UserLoginOption; o != nil {
		switch {
		case o.UserLoginOptionType == "WithoutLogin":
			p.Login = ""
		case o.Identifier != nil:
			p.Login = o.Identifier.Value
		}
	}
	for _, o := range x.UserOptions {
		switch q := o.(type) {
		case *ast.IdentifierPrincipalOption:
			if q.OptionKind == "DefaultSchema" {
				p.DefaultSchema = q.Identifier.Value
			}
		case *ast.DefaultSchemaPrincipalOption:
			p.DefaultSchema = q.Identifier.Value
		}
	}
	_, err := r.s.in.Storage.Logins.CreatePrincipal(r.s.db.ID, p)
	return err
}

func (r *run) alterUser(x *ast.AlterUserStatement) error {
	if err := r.permitSecurity(); err != nil {
		return err
	}
	return r.s.in.Storage.Logins.AlterPrincipal(r.s.db.ID, x.Name.Value, func(p *storage.Principal) {
		for _, o := range x.UserOptions {
			q, ok := o.(*ast.IdentifierPrincipalOption)
			if !ok {
				continue
			}
			switch q.OptionKind {
			case "DefaultSchema":
				p.DefaultSchema = q.Identifier.Value
			case "Login":
				p.Login = q.Identifier.Value
			case "Name":
				p.Name = q.Identifier.Value
			}
		}
	})
}

func (r *run) dropPrincipal(name, kind string, ifExists bool) error {
	if err := r.permitSecurity(); err != nil {
		return err
	}
	p, ok := r.s.in.Storage.Logins.Principal(r.s.db.ID, name)
	if !ok || p.Type != kind {
		if ifExists {
			return nil
		}
		return sqlerr.New(15151, "find", map[string]string{"S": "user", "R": "role"}[kind], name)
	}
	return r.s.in.Storage.Logins.DropPrincipal(r.s.db.ID, name)
}

func (r *run) alterRole(x *ast.AlterRoleStatement) error {
	if err := r.permitSecurity(); err != nil {
		return err
	}
	sec, db := r.s.in.Storage.Logins, r.s.db.ID
	switch a := x.Action.(type) {
	case *ast.AddMemberAlterRoleAction:
		return sec.AddMember(db, x.Name.Value, a.Member.Value)
	case *ast.DropMemberAlterRoleAction:
		return sec.DropMember(db, x.Name.Value, a.Member.Value)
	case *ast.RenameAlterRoleAction:
		return sec.AlterPrincipal(db, x.Name.Value, func(p *storage.Principal) { p.Name = a.NewName.Value })
	}
	return notSupported("this action of ALTER ROLE")
}

func (r *run) alterServerRole(x *ast.AlterServerRoleStatement) error {
	if err := r.permitAdmin(); err != nil {
		return err
	}
	sec := r.s.in.Storage.Logins
	set := func(login string, on bool) error {
		return sec.AlterLogin(login, func(l *storage.Login) {
			if sameName(x.Name.Value, "sysadmin") {
				l.Sysadmin = on
				return
			}
			kept := l.ServerRoles[:0:0]
			for _, n := range l.ServerRoles {
				if !sameName(n, x.Name.Value) {
					kept = append(kept, n)
				}
			}
			if on {
				kept = append(kept, x.Name.Value)
			}
			l.ServerRoles = kept
		})
	}
	switch a := x.Action.(type) {
	case *ast.AddMemberAlterRoleAction:
		return set(a.Member.Value, true)
	case *ast.DropMemberAlterRoleAction:
		return set(a.Member.Value, false)
	}
	return notSupported("this action of ALTER SERVER ROLE")
}

// setPermissions grants, denies or (state "") revokes.
func (r *run) setPermissions(perms []*ast.Permission, who []*ast.SecurityPrincipal, on *ast.SecurityTargetObject, state string) error {
	if err := r.permitSecurity(); err != nil {
		return err
	}
	sec := r.s.in.Storage.Logins
	for _, p := range perms {
		words := identifierNames(p.Identifiers)
		name := strings.ToUpper(strings.Join(words, " "))
		base := storage.Permission{Name: name, State: state}
		db := r.s.db.ID
		server := on == nil && serverPermission(name)
		if server {
			db = 0
		}
		var columns []int
		if on != nil {
			var err error
			if columns, err = r.permissionTarget(&base, on, p); err != nil {
				return err
			}
		}
		if len(columns) == 0 {
			columns = []int{0}
		}
		names := []string{name}
		if name == "ALL" || name == "ALL PRIVILEGES" {
			names = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES", "EXECUTE"}
		}
		for _, w := range who {
			id, err := r.grantee(w, server)
			if err != nil {
				return err
			}
			for _, c := range columns {
				for _, n := range names {
					q := base
					q.Grantee, q.Minor, q.Name = id, c, n
					if state == "" {
						sec.RevokePermission(db, q)
					} else {
						sec.SetPermission(db, q)
					}
				}
			}
		}
	}
	return nil
}

func serverPermission(name string) bool {
	switch name {
	case "VIEW SERVER STATE", "CONTROL SERVER", "ALTER ANY LOGIN", "CREATE ANY DATABASE", "VIEW ANY DATABASE", "VIEW ANY DEFINITION",
		"CONNECT SQL", "ALTER SERVER STATE", "VIEW SERVER PERFORMANCE STATE", "CONNECT ANY DATABASE", "SELECT ALL USER SECURABLES":
		return true
	}
	return false
}

func (r *run) grantee(w *ast.SecurityPrincipal, server bool) (int, error) {
	sec := r.s.in.Storage.Logins
	if w.PrincipalType == ast.PrincipalTypePublic {
		return storage.PublicRole, nil
	}
	name := ""
	if w.Identifier != nil {
		name = w.Identifier.Value
	}
	if server {
		l, ok := sec.Login(name)
		if !ok {
			return 0, sqlerr.New(15151, "find", "login", name)
		}
		return l.ID, nil
	}
	p, ok := sec.Principal(r.s.db.ID, name)
	if !ok {
		return 0, sqlerr.New(15151, "find", "user", name)
	}
	return p.ID, nil
}

// permissionTarget resolves ON …; the result is the column ids, if there are columns.
func (r *run) permissionTarget(p *storage.Permission, on *ast.SecurityTargetObject, perm *ast.Permission) ([]int, error) {
	ids := on.ObjectName.MultiPartIdentifier.Identifiers
	last := ids[len(ids)-1].Value
	cat := r.catalog(r.s.db)
	switch on.ObjectKind {
	case "Schema":
		s := cat.Schema(last)
		if s == nil {
			return nil, sqlerr.New(15151, "find", "schema", last)
		}
		p.Class, p.Major = storage.ClassSchema, s.ID
		return nil, nil
	case "Database":
		return nil, nil
	case "", "NotSpecified", "Object":
	case "Type":
		return nil, nil
	default:
		return nil, notSupported("permissions on " + on.ObjectKind)
	}
	n := &ast.SchemaObjectName{BaseIdentifier: ids[len(ids)-1]}
	if len(ids) > 1 {
		n.SchemaIdentifier = ids[len(ids)-2]
	}
	o, err := r.compiler().nameOf(n)
	if err != nil {
		return nil, err
	}
	obj := r.object(o.db, o.schema, o.name)
	if obj == nil {
		if r.systemView(o) != nil || r.s.in.Registry.proc(o.schema, o.name) != nil || r.s.in.Registry.scalar(o.schema, o.name) != nil {
			// Everyone may use the server's own objects already.
			p.Class, p.Major = storage.ClassObject, -1
			return nil, nil
		}
		if f := r.s.in.Registry.FindTableFunc; f != nil {
			if fn := f(r.context(o.db), o.db, o.schema, o.name); fn != nil {
				p.Class, p.Major = storage.ClassObject, -1
				return nil, nil
			}
		}
		return nil, sqlerr.New(15151, "find", "object", o.name)
	}
	p.Class, p.Major = storage.ClassObject, obj.Header().ID
	var out []int
	t, _ := obj.(*storage.Table)
	for _, c := range append(append([]*ast.Identifier(nil), on.Columns...), perm.Columns...) {
		if t == nil {
			return nil, notSupported("permissions on columns of a view")
		}
		hit := false
		for _, col := range t.Def().Columns {
			if sameIdent(t.Database(), col.Name, c.Value) {
				out, hit = append(out, col.ID), true
			}
		}
		if !hit {
			return nil, sqlerr.New(1911, c.Value)
		}
	}
	return out, nil
}
