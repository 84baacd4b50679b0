package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Hooks tell package cdc of definitions that concern captured tables. They run inside the statement's transaction; an
// error refuses the statement.
type Hooks struct {
	// AlterTable is called after ALTER TABLE changed a tracked table, with the statement's text.
	AlterTable func(c *Context, t *storage.Table, old, new *storage.TableDef, text string) error
	// DropTable is called before a tracked table is dropped.
	DropTable func(c *Context, t *storage.Table) error
	// Changes is called before rows of a tracked table change.
	Changes func(c *Context, t *storage.Table, changes []storage.Change) error
	// Configure is called when sp_configure has changed a setting.
	Configure func(name string, value int64)
	// CreateDatabase and DropDatabase are called after the fact.
	CreateDatabase, DropDatabase func(c *Context, db *storage.Database)
}

// alter replaces a table's definition and tells the hook.
func (r *run) alter(t *storage.Table, o objectName, def *storage.TableDef, rewrite func([]value.Value) ([]value.Value, error)) error {
	old := t.Def()
	if err := r.stmt.tx.AlterTable(r.ctx, t, def, rewrite); err != nil {
		return err
	}
	if h := r.s.in.Hooks.AlterTable; h != nil && old.TrackedByCDC {
		return h(r.context(o.db), t, old, t.Def(), r.statementText())
	}
	return nil
}

// statementText is the text of the statement being run.
func (r *run) statementText() string { return r.source(r.current) }

// alterAdd is ALTER TABLE … ADD: columns and constraints.
func (r *run) alterAdd(x *ast.AlterTableAddTableElementStatement) error {
	t, o, err := r.tableToAlter(x.SchemaObjectName)
	if err != nil {
		return err
	}
	old := t.Def()
	b := &tableBuilder{c: r.compiler().at(o.db), o: o, def: old.Clone(), fkCols: map[*ast.ForeignKeyConstraintDefinition]string{}}
	for i, c := range b.def.Columns {
		cp := *c
		b.def.Columns[i] = &cp
	}
	n, checks, fks := len(old.Columns), len(old.Checks), len(old.ForeignKeys)
	if x.Definition.SystemTimePeriod != nil {
		return notSupported("PERIOD FOR SYSTEM_TIME")
	}
	if err := b.add(x.Definition); err != nil {
		return err
	}
	if pk := b.def.PrimaryKey(); pk != nil && old.PrimaryKey() == nil {
		for _, c := range pk.Columns {
			if c.Column < n && old.Columns[c.Column].Nullable {
				return sqlerr.New(8111, o.name)
			}
			b.def.Columns[c.Column].Nullable = false
		}
	}
	unchecked := x.ExistingRowsCheckEnforcement == "NoCheck"
	for _, k := range b.def.Checks[checks:] {
		k.Untrusted = unchecked
	}
	for _, k := range b.def.ForeignKeys[fks:] {
		k.Untrusted = unchecked
	}
	rewrite, err := r.addColumns(t, o, b.def, n, x.Definition)
	if err != nil {
		return err
	}
	if err := r.alter(t, o, b.def, rewrite); err != nil {
		return err
	}
	if unchecked {
		return nil
	}
	return r.checkExisting(t, o, checks, fks)
}

// addColumns makes the function that gives existing rows their new columns: a default where the column is NOT NULL or says
// WITH VALUES, an identity value, a row version; 4901 where there is nothing to put in.
func (r *run) addColumns(t *storage.Table, o objectName, def *storage.TableDef, n int, d *ast.TableDefinition) (func([]value.Value) ([]value.Value, error), error) {
	if len(def.Columns) == n {
		return nil, nil
	}
	withValues := map[string]bool{}
	for _, cd := range d.ColumnDefinitions {
		if cd.DefaultConstraint != nil && cd.DefaultConstraint.WithValues {
			withValues[cd.ColumnIdentifier.Value] = true
		}
	}
	cols := columnsOf(def)
	rs, err := r.compileRules(def, cols, o.db)
	if err != nil {
		return nil, err
	}
	tg := &target{t: t, def: def, db: o.db, cols: cols, rules: rs}
	next := map[int]int64{}
	return func(old []value.Value) ([]value.Value, error) {
		row := make([]value.Value, len(def.Columns))
		copy(row, old)
		for i := n; i < len(row); i++ {
			c := def.Columns[i]
			switch {
			case c.Computed != nil:
			case c.Type.ID == value.RowVersion:
				row[i] = tg.rowVersion()
			case c.Identity != nil:
				v := c.Identity.Seed + next[i]*c.Identity.Increment
				next[i]++
				var err error
				if row[i], err = value.Convert(nil, value.NewInt(value.BigInt, v), typeBigInt, c.Type, 0); err != nil {
					return nil, err
				}
				t.NoteIdentity(v)
			case rs.defaults[i] != nil && (!c.Nullable || withValues[c.Name]):
				v, err := rs.defaults[i](rs.f)
				if err != nil {
					return nil, err
				}
				row[i] = v
			case !c.Nullable:
				return nil, sqlerr.New(4901, c.Name, o.name)
			}
		}
		rs.f.rows[0] = row
		for i := n; i < len(row); i++ {
			if ev := rs.computed[i]; ev != nil {
				v, err := ev(rs.f)
				if err != nil {
					return nil, err
				}
				row[i] = v
			}
		}
		return row, nil
	}, nil
}

// checkExisting checks the rows of a table against the constraints from position checks and fks on (547).
func (r *run) checkExisting(t *storage.Table, o objectName, checks, fks int) error {
	only := t.Def().Clone()
	only.Checks, only.ForeignKeys = only.Checks[checks:], only.ForeignKeys[fks:]
	return r.checkRows(t, o, only)
}

// checkRows checks the rows of a table against the constraints of only.
func (r *run) checkRows(t *storage.Table, o objectName, only *storage.TableDef) error {
	if len(only.Checks)+len(only.ForeignKeys) == 0 {
		return nil
	}
	def := t.Def()
	cols := columnsOf(def)
	rs, err := r.compileRules(only, cols, o.db)
	if err != nil {
		return err
	}
	tg := &target{t: t, def: def, db: o.db, cols: cols, rules: rs}
	b := &boundTable{t: t}
	var changes []storage.Change
	err = b.scan(r, -1, storage.Range{}, func(row *storage.Row) error {
		rs.f.rows[0] = row.Vals
		for _, k := range rs.checks {
			ok, err := k.test(rs.f)
			if err != nil {
				return err
			}
			if ok == no {
				return sqlerr.New(547, "ALTER TABLE", "CHECK", k.def.Name, o.db.Name(), def.QualifiedName(), checkColumn(def, k.def))
			}
		}
		if len(only.ForeignKeys) > 0 {
			changes = append(changes, storage.Change{New: row.Vals})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, fk := range only.ForeignKeys {
		if err := r.checkParents(tg, fk, changes, "ALTER TABLE"); err != nil {
			return err
		}
	}
	return nil
}

// alterColumn is ALTER TABLE … ALTER COLUMN: a new type or nullability; values are converted as an assignment does.
func (r *run) alterColumn(x *ast.AlterTableAlterColumnStatement) error {
	t, o, err := r.tableToAlter(x.SchemaObjectName)
	if err != nil {
		return err
	}
	old := t.Def()
	at := -1
	for i, c := range old.Columns {
		if sameIdent(o.db, c.Name, x.ColumnIdentifier.Value) {
			at = i
		}
	}
	if at < 0 {
		return sqlerr.New(4924, "ALTER TABLE ALTER COLUMN", x.ColumnIdentifier.Value, o.name)
	}
	col := *old.Columns[at]
	from := col.Type
	if col.Computed != nil || col.Type.ID == value.RowVersion {
		return sqlerr.New(4928, col.Name, "COMPUTED")
	}
	switch x.AlterTableAlterColumnOption {
	case "", "NoOptionDefined", "Null", "NotNull":
	case "AddSparse", "DropSparse":
		col.Sparse = x.AlterTableAlterColumnOption == "AddSparse"
	case "AddRowGuidCol", "DropRowGuidCol":
		col.RowGUID = x.AlterTableAlterColumnOption == "AddRowGuidCol"
	default:
		return notSupported("ALTER COLUMN " + x.AlterTableAlterColumnOption)
	}
	if x.DataType != nil {
		if col.Type, err = r.compiler().at(o.db).typeOf(x.DataType, false); err != nil {
			return err
		}
		if isString(col.Type) {
			col.Type.Coll = o.db.Collation
			if isString(from) && x.Collation == nil && from.Coll != nil {
				col.Type.Coll = from.Coll
			}
		}
		if x.Collation != nil {
			if col.Type.Coll, err = r.compiler().lookupCollation(x.Collation.Value); err != nil {
				return err
			}
		}
		// Without NULL or NOT NULL the column becomes nullable, as ANSI_NULL_DFLT_ON says.
		col.Nullable = x.AlterTableAlterColumnOption != "NotNull"
	}
	if err := r.alterable(old, at, &col, from); err != nil {
		return err
	}
	def := old.Clone()
	def.Columns[at] = &col
	env := r.s.env
	env.Table, env.Column = o.db.Name()+"."+old.QualifiedName(), col.Name
	convert := !sameRep(from, col.Type) || from.Coll != col.Type.Coll
	if !convert && (col.Nullable || !old.Columns[at].Nullable) {
		return r.alter(t, o, def, nil)
	}
	return r.alter(t, o, def, func(vals []value.Value) ([]value.Value, error) {
		v := vals[at]
		if v.IsNull() {
			if !col.Nullable {
				return nil, sqlerr.New(515, col.Name, o.db.Name()+"."+old.QualifiedName(), "UPDATE")
			}
			return vals, nil
		}
		n, err := value.Assign(&env, v, from, col.Type)
		if err != nil {
			return nil, err
		}
		row := append([]value.Value(nil), vals...)
		row[at] = n
		return row, nil
	})
}

// alterable refuses a new type where something depends on the column (5074): an index, unless the column only grows, a
// constraint, a computed column.
func (r *run) alterable(def *storage.TableDef, at int, col *storage.Column, from value.Type) error {
	grows := sameRep(from, col.Type) && from.Coll == col.Type.Coll
	name := def.Columns[at].Name
	for _, x := range def.Indexes {
		for _, c := range x.Columns {
			if c.Column == at && (!grows || x.PrimaryKey && col.Nullable) {
				kind := "index"
				if x.PrimaryKey || x.UniqueConstraint {
					kind = "object"
				}
				return dependent5074(kind, x.Name, "ALTER TABLE ALTER COLUMN", name)
			}
		}
	}
	if grows {
		return nil
	}
	for _, fk := range def.ForeignKeys {
		for _, c := range fk.Columns {
			if c == at {
				return dependent5074("object", fk.Name, "ALTER TABLE ALTER COLUMN", name)
			}
		}
	}
	for _, k := range def.Checks {
		if mentions(k.Expr, name) {
			return dependent5074("object", k.Name, "ALTER TABLE ALTER COLUMN", name)
		}
	}
	if d := def.Columns[at].Default; d != nil && from.ID != col.Type.ID {
		return dependent5074("object", d.Name, "ALTER TABLE ALTER COLUMN", name)
	}
	for _, c := range def.Columns {
		if c.Computed != nil && mentions(c.Computed.Expr, name) {
			return dependent5074("column", c.Name, "ALTER TABLE ALTER COLUMN", name)
		}
	}
	return nil
}

func dependent5074(kind, dep, what, col string) error {
	// A server sends both numbers; 4922 is the one that it ends the statement with.
	e := sqlerr.New(4922, what+" "+col)
	e.Message = sqlerr.New(5074, kind, dep, "column", col).Message + " " + e.Message
	return e
}

// mentions reports whether an expression of a constraint names a column.
func mentions(expr any, col string) bool {
	found := false
	w := walker{pre: func(n any) bool {
		if c, ok := n.(*ast.ColumnReferenceExpression); ok && c.MultiPartIdentifier != nil {
			ids := c.MultiPartIdentifier.Identifiers
			found = found || len(ids) > 0 && sameName(ids[len(ids)-1].Value, col)
		}
		return !found
	}}
	if expr != nil {
		w.walk(valueOf(expr))
	}
	return found
}
