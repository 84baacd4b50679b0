package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// definition finds how to run a statement that defines something.
func (r *run) definition(st ast.Statement) (func() error, bool) {
	switch x := st.(type) {
	case *ast.CreateTableStatement:
		return func() error { return r.ddl(func() error { return r.createTableStatement(x) }) }, true
	case *ast.DropTableStatement:
		return func() error { return r.ddl(func() error { return r.dropTables(x) }) }, true
	case *ast.AlterTableAddTableElementStatement:
		return func() error { return r.ddl(func() error { return r.alterAdd(x) }) }, true
	case *ast.AlterTableDropTableElementStatement:
		return func() error { return r.ddl(func() error { return r.alterDrop(x) }) }, true
	case *ast.AlterTableAlterColumnStatement:
		return func() error { return r.ddl(func() error { return r.alterColumn(x) }) }, true
	case *ast.AlterTableConstraintModificationStatement:
		return func() error { return r.ddl(func() error { return r.alterConstraint(x) }) }, true
	case *ast.AlterTableTriggerModificationStatement:
		return func() error { return r.ddl(func() error { return r.alterTriggers(x) }) }, true
	case *ast.AlterTableSetStatement, *ast.AlterTableRebuildStatement:
		return func() error { return r.ddl(func() error { return r.alterOptions(x) }) }, true
	case *ast.CreateIndexStatement:
		return func() error { return r.ddl(func() error { return r.createIndex(x) }) }, true
	case *ast.DropIndexStatement:
		return func() error { return r.ddl(func() error { return r.dropIndexes(x) }) }, true
	case *ast.AlterIndexStatement:
		return func() error { return r.ddl(func() error { return r.alterIndex(x) }) }, true
	case *ast.CreateSchemaStatement:
		return func() error { return r.ddl(func() error { return r.createSchema(x) }) }, true
	case *ast.DropSchemaStatement:
		return func() error { return r.ddl(func() error { return r.dropSchema(x) }) }, true
	case *ast.AlterSchemaStatement:
		return func() error { return r.ddl(func() error { return r.alterSchema(x) }) }, true
	case *ast.CreateStatisticsStatement, *ast.DropStatisticsStatement, *ast.UpdateStatisticsStatement:
		return func() error { return r.done(CmdDDL, 0, false) }, true
	}
	if run, ok := r.moduleStatement(st); ok {
		return run, true
	}
	if run, ok := r.triggerStatement(st); ok {
		return run, true
	}
	if run, ok := r.sequenceStatement(st); ok {
		return run, true
	}
	if run, ok := r.databaseStatement(st); ok {
		return run, true
	}
	return r.securityStatement(st)
}

// ddl runs a definition as one statement.
func (r *run) ddl(fn func() error) error {
	if err := r.change(fn); err != nil {
		return err
	}
	return r.done(CmdDDL, 0, false)
}

// writable is 3906 for a database that cannot be changed.
func (r *run) writable(db *storage.Database) error {
	if db.ID >= storage.FirstUserDatabase && (r.s.replica != nil || db.Props().ReadOnly) {
		return sqlerr.New(3906, db.Name())
	}
	return nil
}

func (r *run) createTableStatement(x *ast.CreateTableStatement) error {
	if x.AsEdge || x.AsNode || x.AsFileTable || x.SelectStatement != nil || x.FederationScheme != nil {
		return notSupported("this kind of table")
	}
	c := r.compiler()
	o, err := c.nameOf(x.SchemaObjectName)
	if err != nil {
		return err
	}
	for _, opt := range x.Options {
		switch opt.(type) {
		case *ast.TableDataCompressionOption, *ast.LockEscalationTableOption:
		default:
			return notSupported("this table option")
		}
	}
	if err := r.permitDatabase(o.db, "CREATE TABLE"); err != nil {
		return err
	}
	def, err := c.tableDef(o, x.Definition)
	if err != nil {
		return err
	}
	_, err = r.createTable(o, def)
	return err
}

// createTable makes a table; the name of a temporary one is kept by the session.
func (r *run) createTable(o objectName, def *storage.TableDef) (*storage.Table, error) {
	if err := r.writable(o.db); err != nil {
		return nil, err
	}
	for _, col := range def.Columns {
		if t := col.Type; t.Name != "" && t.ID != value.CLR && t.Name != "sysname" && isString(t) && t.Coll == nil {
			col.Type.Coll = o.db.Collation
		}
	}
	if strings.HasPrefix(o.name, "#") {
		if old := r.s.temp.find(o.name); old != nil && o.db.ObjectByID(old.ID()) != nil {
			return nil, sqlerr.New(2714, o.name)
		}
		def.Name, def.Schema = r.s.tempName(o.name), defaultSchema
	} else if sch := r.catalog(o.db).Schema(o.schema); sch == nil {
		return nil, sqlerr.New(2760, o.schema)
	} else {
		def.Schema, def.SchemaID = sch.Name, sch.ID
	}
	t, err := r.stmt.tx.CreateTable(o.db, def)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(o.name, "#") {
		r.s.temp.add(o.name, t)
	}
	return t, nil
}

func (r *run) dropTables(x *ast.DropTableStatement) error {
	for _, n := range x.Objects {
		o, err := r.compiler().nameOf(n)
		if err != nil {
			if e := r.asSQL(err); e != nil && e.Number == 208 && x.IsIfExists {
				continue
			}
			return err
		}
		t, ok := r.object(o.db, o.schema, o.name).(*storage.Table)
		if !ok {
			if x.IsIfExists {
				continue
			}
			return sqlerr.New(3701, "drop", "table", o.text)
		}
		if err := r.writable(o.db); err != nil {
			return err
		}
		if err := r.permit(o.db, t.Header(), "ALTER"); err != nil {
			return sqlerr.New(3701, "drop", "table", o.text)
		}
		for _, ref := range r.references(o.db, t.ID()) {
			if ref.table.ID() != t.ID() {
				return sqlerr.New(3726, o.text)
			}
		}
		if h := r.s.in.Hooks.DropTable; h != nil && t.Def().TrackedByCDC {
			if err := h(r.context(o.db), t); err != nil {
				return err
			}
		}
		for _, m := range r.catalog(o.db).Children(t.ID()) {
			if err := r.stmt.tx.DropModule(o.db, m); err != nil {
				return err
			}
		}
		if err := r.stmt.tx.DropTable(r.ctx, t); err != nil {
			return err
		}
		r.s.temp.remove(t)
	}
	return nil
}

// alterOptions is ALTER TABLE SET and REBUILD: LOCK_ESCALATION is heeded, the rest changes nothing here.
func (r *run) alterOptions(st ast.Statement) error {
	var name *ast.SchemaObjectName
	var set []ast.TableOption
	switch x := st.(type) {
	case *ast.AlterTableSetStatement:
		name, set = x.SchemaObjectName, x.Options
	case *ast.AlterTableRebuildStatement:
		name = x.SchemaObjectName
	}
	t, _, err := r.tableToAlter(name)
	if err != nil {
		return err
	}
	for _, o := range set {
		e, ok := o.(*ast.LockEscalationTableOption)
		if !ok {
			return notSupported("this option of ALTER TABLE SET")
		}
		def := t.Def().Clone()
		if def.NoEscalation = strings.EqualFold(e.Value, "DISABLE"); def.NoEscalation == t.Def().NoEscalation {
			continue
		}
		if err := r.stmt.tx.AlterTable(r.ctx, t, def, nil); err != nil {
			return err
		}
	}
	return nil
}

// tableToAlter finds the table of ALTER TABLE, CREATE INDEX and the like.
func (r *run) tableToAlter(n *ast.SchemaObjectName) (*storage.Table, objectName, error) {
	o, err := r.compiler().nameOf(n)
	if err != nil {
		return nil, o, err
	}
	t, ok := r.object(o.db, o.schema, o.name).(*storage.Table)
	if !ok {
		return nil, o, sqlerr.New(4902, o.text)
	}
	if err := r.writable(o.db); err != nil {
		return nil, o, err
	}
	if err := r.permit(o.db, t.Header(), "ALTER"); err != nil {
		return nil, o, sqlerr.New(1088, o.text)
	}
	return t, o, nil
}

func (r *run) createSchema(x *ast.CreateSchemaStatement) error {
	db := r.compiler().db
	if err := r.permitDatabase(db, "CREATE SCHEMA"); err != nil {
		return err
	}
	if err := r.writable(db); err != nil {
		return err
	}
	if x.StatementList != nil && len(x.StatementList.Statements) > 0 {
		return notSupported("objects inside CREATE SCHEMA")
	}
	name := ""
	switch {
	case x.Name != nil:
		name = x.Name.Value
	case x.Owner != nil:
		name = x.Owner.Value
	}
	_, err := r.stmt.tx.CreateSchema(db, name)
	return err
}

func (r *run) dropSchema(x *ast.DropSchemaStatement) error {
	db, name := r.compiler().db, x.Schema.BaseIdentifier.Value
	if err := r.permitDatabase(db, "CREATE SCHEMA"); err != nil {
		return err
	}
	if x.IsIfExists && r.catalog(db).Schema(name) == nil {
		return nil
	}
	return r.stmt.tx.DropSchema(db, name)
}

func (r *run) alterSchema(x *ast.AlterSchemaStatement) error {
	o, err := r.compiler().nameOf(x.ObjectName)
	if err != nil {
		return err
	}
	obj := r.object(o.db, o.schema, o.name)
	if obj == nil {
		return sqlerr.New(15151, "find", "object", o.name)
	}
	if err := r.permit(o.db, obj.Header(), "ALTER"); err != nil {
		return err
	}
	return r.stmt.tx.TransferObject(r.ctx, o.db, obj, x.Name.Value)
}
