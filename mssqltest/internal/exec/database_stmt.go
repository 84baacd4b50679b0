package exec

import (
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// databaseStatement finds how to run a statement about whole databases. They cannot stand in a transaction (226).
func (r *run) databaseStatement(st ast.Statement) (func() error, bool) {
	alone := func(what string, fn func() error) (func() error, bool) {
		return func() error {
			if r.s.tran.count > 0 {
				return sqlerr.New(226, what)
			}
			if err := fn(); err != nil {
				return err
			}
			return r.done(CmdDDL, 0, false)
		}, true
	}
	switch x := st.(type) {
	case *ast.CreateDatabaseStatement:
		return alone("CREATE DATABASE", func() error { return r.createDatabase(x) })
	case *ast.DropDatabaseStatement:
		return alone("DROP DATABASE", func() error { return r.dropDatabases(x) })
	case *ast.AlterDatabaseSetStatement:
		return alone("ALTER DATABASE", func() error { return r.alterDatabaseSet(x) })
	case *ast.AlterDatabaseModifyNameStatement:
		return alone("ALTER DATABASE", func() error {
			if err := r.permitAdmin(); err != nil {
				return err
			}
			return r.s.in.Storage.RenameDatabase(x.DatabaseName.Value, x.NewName.Value)
		})
	case *ast.AlterDatabaseCollateStatement:
		return alone("ALTER DATABASE", func() error { return notSupported("ALTER DATABASE … COLLATE") })
	}
	return nil, false
}

func (r *run) createDatabase(x *ast.CreateDatabaseStatement) error {
	if x.CopyOf != nil || x.DatabaseSnapshot != nil || x.AttachMode != "" && x.AttachMode != "None" {
		return notSupported("CREATE DATABASE FOR ATTACH, AS COPY OF and AS SNAPSHOT OF")
	}
	if !r.s.IsSysadmin() && !r.s.HasPermission(r.s.db, ClassServer, nil, "CREATE ANY DATABASE") {
		return sqlerr.New(262, "CREATE DATABASE", "master")
	}
	coll := r.s.in.Storage.Collation()
	if x.Collation != nil {
		var err error
		if coll, err = r.compiler().lookupCollation(x.Collation.Value); err != nil {
			return err
		}
	}
	db, err := r.s.in.Storage.CreateDatabase(x.DatabaseName.Value, coll)
	if err != nil {
		return err
	}
	if h := r.s.in.Hooks.CreateDatabase; h != nil {
		h(r.context(db), db)
	}
	return nil
}

func (r *run) dropDatabases(x *ast.DropDatabaseStatement) error {
	for _, id := range x.Databases {
		db := r.s.in.Storage.Database(id.Value)
		if db == nil {
			if x.IsIfExists {
				continue
			}
			return sqlerr.New(3701, "drop", "database", id.Value)
		}
		if err := r.permitAdmin(); err != nil {
			return err
		}
		for _, s := range r.s.in.Sessions() {
			if s.Database() == db {
				return sqlerr.New(3702, db.Name())
			}
		}
		if err := r.s.in.Storage.DropDatabase(id.Value); err != nil {
			return err
		}
		if h := r.s.in.Hooks.DropDatabase; h != nil {
			h(r.context(r.s.db), db)
		}
	}
	return nil
}

// alterDatabaseSet is ALTER DATABASE … SET; options that change nothing here are taken.
func (r *run) alterDatabaseSet(x *ast.AlterDatabaseSetStatement) error {
	db := r.s.db
	if !x.UseCurrent && x.DatabaseName != nil {
		if db = r.s.in.Storage.Database(x.DatabaseName.Value); db == nil {
			return sqlerr.New(5011, x.DatabaseName.Value)
		}
	}
	if !r.s.IsSysadmin() && !r.s.HasPermission(db, ClassDatabase, nil, "ALTER") {
		return sqlerr.New(5011, db.Name())
	}
	var changes []func(*storage.Props)
	for _, o := range x.Options {
		f, err := r.databaseOption(db, o)
		if err != nil {
			return err
		}
		if f != nil {
			changes = append(changes, f)
		}
	}
	if x.Termination != nil && x.Termination.ImmediateRollback {
		r.endOthers(db)
	}
	db.UpdateProps(func(p *storage.Props) {
		for _, f := range changes {
			f(p)
		}
	})
	return nil
}

// endOthers ends the sessions that are in a database (WITH ROLLBACK IMMEDIATE).
func (r *run) endOthers(db *storage.Database) {
	for _, s := range r.s.in.Sessions() {
		if s != r.s && s.Database() == db {
			s.Kill()
			if end := r.s.in.Kill; end != nil {
				end(s.spid)
			}
		}
	}
}

func (r *run) databaseOption(db *storage.Database, o ast.DatabaseOption) (func(*storage.Props), error) {
	if db.ID < storage.FirstUserDatabase {
		switch o.(type) {
		case *ast.OnOffDatabaseOption, *ast.SimpleDatabaseOption:
			if db.ID != storage.MSDBID && db.ID != storage.ModelID {
				return nil, sqlerr.New(5058, "option", db.Name())
			}
		}
	}
	switch x := o.(type) {
	case *ast.OnOffDatabaseOption:
		on := x.OptionState == "On"
		switch x.OptionKind {
		case "AllowSnapshotIsolation":
			return func(p *storage.Props) { p.SnapshotIsolation = on }, nil
		case "ReadCommittedSnapshot":
			return func(p *storage.Props) { p.ReadCommittedSnapshot = on }, nil
		}
	case *ast.SimpleDatabaseOption:
		switch x.OptionKind {
		case "Offline", "Emergency":
			if r.s.db == db {
				return nil, sqlerr.New(5070)
			}
			return func(p *storage.Props) { p.Offline = true }, nil
		case "Online":
			return func(p *storage.Props) { p.Offline = false }, nil
		case "ReadOnly":
			return func(p *storage.Props) { p.ReadOnly = true }, nil
		case "ReadWrite":
			return func(p *storage.Props) { p.ReadOnly = false }, nil
		case "SingleUser":
			return func(p *storage.Props) { p.SingleUser = true }, nil
		case "MultiUser", "RestrictedUser":
			return func(p *storage.Props) { p.SingleUser = false }, nil
		}
	case *ast.RecoveryDatabaseOption:
		name := map[string]string{"Simple": "SIMPLE", "Full": "FULL", "BulkLogged": "BULK_LOGGED"}[x.Value]
		return func(p *storage.Props) { p.Recovery = name }, nil
	case *ast.LiteralDatabaseOption:
		if x.OptionKind == "CompatibilityLevel" {
			lit, ok := x.Value.(*ast.IntegerLiteral)
			if !ok {
				return nil, sqlerr.New(102, "COMPATIBILITY_LEVEL")
			}
			n, err := strconv.Atoi(lit.Value)
			if err != nil || n < 100 || n > 170 || n%10 != 0 {
				return nil, sqlerr.New(15048)
			}
			return func(p *storage.Props) { p.CompatLevel = n }, nil
		}
	}
	return nil, nil
}

func (r *run) use(x *ast.UseStatement) error {
	old := r.s.db.Name()
	if err := r.s.SetDatabase(x.DatabaseName.Value); err != nil {
		return err
	}
	now := r.s.db.Name()
	if err := r.sink.Env(EnvDatabase, []byte(now), []byte(old)); err != nil {
		return err
	}
	msg := sqlerr.Newf(5701, 0, "Changed database context to '%s'.", now)
	msg.State, msg.Line = 2, lineOf(x)
	if err := r.sink.Message(msg); err != nil {
		return err
	}
	return r.done(CmdUse, 0, false)
}

func (r *run) kill(x *ast.KillStatement) error {
	v, err := r.evalTo(x.Parameter, typeInt)
	if err != nil {
		return err
	}
	if err := r.permitAdmin(); err != nil {
		return err
	}
	if !x.WithStatusOnly {
		s := r.s.in.Session(int(v.Int()))
		switch {
		case s == r.s:
			return sqlerr.New(6104)
		case s == nil:
			return sqlerr.New(6106, v.Int())
		}
		s.Kill()
	}
	return r.done(CmdOther, 0, false)
}

// dbcc takes the DBCC commands that clients send; CHECKIDENT really reseeds, the others say that they are done.
func (r *run) dbcc(x *ast.DbccStatement) error {
	switch strings.ToUpper(x.Command) {
	case "CHECKIDENT":
		if err := r.checkIdent(x); err != nil {
			return err
		}
	case "USEROPTIONS", "SHOW_STATISTICS", "INPUTBUFFER", "OPENTRAN":
		return notSupported("DBCC " + x.Command)
	}
	msg := sqlerr.Newf(2528, 0, "DBCC execution completed. If DBCC printed error messages, contact your system administrator.")
	msg.Line = lineOf(x)
	if err := r.sink.Message(msg); err != nil {
		return err
	}
	return r.done(CmdOther, 0, false)
}

func (r *run) checkIdent(x *ast.DbccStatement) error {
	if len(x.Literals) == 0 {
		return sqlerr.New(102, "CHECKIDENT")
	}
	name := ""
	switch n := x.Literals[0].Value.(type) {
	case *ast.StringLiteral:
		name = n.Value
	case *ast.ColumnReferenceExpression:
		name = joinNames(n.MultiPartIdentifier.Identifiers)
	}
	parts, err := SplitName(name)
	if err != nil {
		return err
	}
	db, schema, table, err := r.nameParts(parts)
	if err != nil {
		return err
	}
	t, _ := r.object(db, schema, table).(*storage.Table)
	if t == nil {
		return sqlerr.New(2501, name)
	}
	if t.Def().IdentityColumn() < 0 {
		return sqlerr.New(7997, table)
	}
	if len(x.Literals) > 2 {
		v, err := r.evalTo(x.Literals[2].Value, typeBigInt)
		if err != nil {
			return err
		}
		t.ReseedIdentity(v.Int())
	}
	return nil
}
