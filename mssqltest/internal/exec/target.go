package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// target is the table that INSERT, UPDATE, DELETE or MERGE changes.
type target struct {
	t      *storage.Table
	mem    *memTable
	def    *storage.TableDef
	db     *storage.Database
	access storage.Access
	cols   []Column
	rules  *rules
	set    []bool // columns that a SET clause names
	events uint8  // what the clauses of a MERGE do
}

// noteSet remembers that a SET clause names a column.
func (t *target) noteSet(col int) {
	if t.set == nil {
		t.set = make([]bool, len(t.def.Columns))
	}
	t.set[col] = true
}

// target resolves the table of a data modification.
func (r *run) target(ref ast.TableReference) (*target, error) {
	switch x := ref.(type) {
	case *ast.VariableTableReference:
		v := r.lookup(x.Variable.Name)
		if v == nil || v.table == nil {
			return nil, sqlerr.New(1087, x.Variable.Name)
		}
		return &target{mem: v.table, def: v.table.def, db: r.compiler().db, cols: columnsOf(v.table.def)}, nil
	case *ast.NamedTableReference:
		if r.logicalTable(x.SchemaObject) != nil {
			return nil, sqlerr.New(286)
		}
		o, err := r.compiler().nameOf(x.SchemaObject)
		if err != nil {
			return nil, err
		}
		return r.namedTarget(o, x.TableHints)
	}
	return nil, notSupported("this kind of target")
}

func (r *run) namedTarget(o objectName, hints []ast.TableHintType) (*target, error) {
	switch obj := r.object(o.db, o.schema, o.name).(type) {
	case *storage.Table:
		def, err := r.bind(obj)
		if err != nil {
			return nil, err
		}
		b := &boundTable{t: obj, forced: -1}
		if err := b.hint(r, def, hints); err != nil {
			return nil, err
		}
		return &target{t: obj, def: def, db: o.db, access: b.access, cols: columnsOf(def)}, nil
	case *storage.Module:
		switch m := obj.Parsed.(type) {
		case *synonym:
			to, err := r.compiler().at(o.db).nameOf(m.target)
			if err != nil {
				return nil, err
			}
			return r.namedTarget(to, hints)
		case *view:
			return r.viewTarget(o, m, hints)
		}
	}
	if r.systemView(o) != nil {
		return nil, sqlerr.New(259)
	}
	return nil, sqlerr.New(208, o.text)
}

// viewTarget passes a change on to the one table of a view that shows its columns under their own names.
func (r *run) viewTarget(o objectName, v *view, hints []ast.TableHintType) (*target, error) {
	q, ok := v.query.QueryExpression.(*ast.QuerySpecification)
	if ok && q.FromClause != nil && len(q.FromClause.TableReferences) == 1 && len(v.columns) == 0 && q.GroupByClause == nil && q.UniqueRowFilter != "Distinct" && q.WhereClause == nil {
		if n, ok := q.FromClause.TableReferences[0].(*ast.NamedTableReference); ok {
			to, err := r.compiler().at(o.db).nameOf(n.SchemaObject)
			if err != nil {
				return nil, err
			}
			return r.namedTarget(to, hints)
		}
	}
	return nil, notSupported("changes through a view that is more than one table")
}

// column finds a column of the target by name.
func (t *target) column(name string) (int, error) {
	for i, c := range t.def.Columns {
		if sameIdent(t.db, c.Name, name) {
			return i, nil
		}
	}
	return 0, sqlerr.New(207, name)
}

// name is schema.table, as messages show it.
func (t *target) name() string {
	if t.mem != nil {
		return t.def.Name
	}
	return t.def.QualifiedName()
}

// apply makes the changes and gives the new rows in their order, nil for deleted ones.
func (t *target) apply(r *run, changes []storage.Change) error {
	if len(changes) == 0 {
		return nil
	}
	if t.mem != nil {
		return t.mem.apply(changes)
	}
	if h := r.s.in.Hooks.Changes; h != nil && t.def.TrackedByCDC {
		if err := h(r.context(t.t.Database()), t.t, changes); err != nil {
			return err
		}
	}
	_, err := r.stmt.tx.Apply(r.ctx, t.t, changes)
	return err
}

// nextIdentity gives out a value of the identity column.
func (t *target) nextIdentity(c *storage.Column) (value.Value, error) {
	n := int64(0)
	if t.mem != nil {
		n = t.mem.nextIdentity(c.Identity)
	} else {
		var err error
		if n, err = t.t.NextIdentity(); err != nil {
			return value.Value{}, err
		}
	}
	v, err := value.Convert(nil, value.NewInt(value.BigInt, n), typeBigInt, c.Type, 0)
	if err != nil {
		return v, sqlerr.New(8115, "IDENTITY", c.Type.ID.String())
	}
	return v, nil
}

func (t *target) rowVersion() value.Value {
	b := t.db.NextRowVersion()
	return value.NewBinary(value.RowVersion, b[:])
}

// identityValue is a value of SCOPE_IDENTITY and @@IDENTITY.
func identityValue(n int64) value.Value {
	if n < 0 {
		return value.NewDecimal(true, 0, uint64(-n), 0)
	}
	return value.NewDecimal(false, 0, uint64(n), 0)
}

// noteIdentity remembers the last identity value of the scope and the session.
func (r *run) noteIdentity(v value.Value, t value.Type) {
	n, err := value.Convert(nil, v, t, identityType, 0)
	if err != nil {
		return
	}
	r.scopeIdentity, r.s.lastIdentity = n, n
}
