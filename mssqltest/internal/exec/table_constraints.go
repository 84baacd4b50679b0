package exec

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func (b *tableBuilder) columnConstraints(cd *ast.ColumnDefinition, col *storage.Column) error {
	if d := cd.DefaultConstraint; d != nil {
		if err := b.deflt(col, d); err != nil {
			return err
		}
	}
	for _, k := range cd.Constraints {
		switch x := k.(type) {
		case *ast.NullableConstraintDefinition:
			col.Nullable = x.Nullable
		case *ast.DefaultConstraintDefinition:
			if err := b.deflt(col, x); err != nil {
				return err
			}
		case *ast.UniqueConstraintDefinition:
			if err := b.unique(x, col.Name); err != nil {
				return err
			}
		case *ast.CheckConstraintDefinition:
			if err := b.check(x); err != nil {
				return err
			}
		case *ast.ForeignKeyConstraintDefinition:
			b.fkCols[x] = col.Name
			b.fks = append(b.fks, x)
		default:
			return notSupported("this column constraint")
		}
	}
	if cd.Index != nil {
		return b.indexOn(cd.Index, col.Name)
	}
	return nil
}

func (b *tableBuilder) constraint(k ast.TableConstraint) error {
	switch x := k.(type) {
	case *ast.UniqueConstraintDefinition:
		return b.unique(x, "")
	case *ast.CheckConstraintDefinition:
		return b.check(x)
	case *ast.ForeignKeyConstraintDefinition:
		b.fks = append(b.fks, x)
		return nil
	case *ast.DefaultConstraintDefinition:
		if x.Column == nil {
			return sqlerr.New(102, "DEFAULT")
		}
		i, err := b.find(x.Column.Value)
		if err != nil {
			return err
		}
		col := *b.def.Columns[i]
		b.def.Columns[i] = &col
		return b.deflt(&col, x)
	}
	return notSupported("this table constraint")
}

func (b *tableBuilder) find(name string) (int, error) {
	for i, c := range b.def.Columns {
		if sameIdent(b.o.db, c.Name, name) {
			return i, nil
		}
	}
	return 0, sqlerr.New(1911, name)
}

// named is the name of a constraint: the given one, or one made up as the server does.
func (b *tableBuilder) named(id *ast.Identifier, prefix, part string) string {
	if id != nil && id.Value != "" {
		return id.Value
	}
	b.seed++
	h := fnv.New32a()
	fmt.Fprintf(h, "%s.%s.%s.%d.%d", b.o.schema, b.o.name, part, b.seed, b.o.db.NextObjectID())
	cut := func(s string, n int) string { return s[:min(n, len(s))] }
	name := prefix + "__" + cut(strings.TrimLeft(b.o.name, "#"), 9)
	if part != "" {
		name += "__" + cut(part, 5)
	}
	return name + "__" + fmt.Sprintf("%08X", h.Sum32())
}

func (b *tableBuilder) deflt(col *storage.Column, d *ast.DefaultConstraintDefinition) error {
	if col.Default != nil {
		return sqlerr.New(1781)
	}
	if col.Identity != nil || col.Type.ID == value.RowVersion || col.Computed != nil {
		return sqlerr.New(1754, b.o.name, col.Name)
	}
	sc := &scope{c: b.c}
	if _, err := sc.expr(d.Expression); err != nil {
		return err
	}
	col.Default = &storage.Default{ID: b.o.db.NextObjectID(), Name: b.named(d.ConstraintIdentifier, "DF", col.Name), Text: defaultText(b.source(d.Expression), d.Expression), Expr: d.Expression}
	return nil
}

// defaultText is a default as the catalog shows it: ((1)), ('abc'), (getdate()).
func defaultText(s string, n ast.ScalarExpression) string {
	for {
		p, ok := n.(*ast.ParenthesisExpression)
		if !ok {
			break
		}
		n = p.Expression
		s = strings.TrimSpace(s)
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	switch n.(type) {
	case *ast.IntegerLiteral, *ast.NumericLiteral, *ast.RealLiteral, *ast.MoneyLiteral:
		return "((" + s + "))"
	case *ast.UnaryExpression:
		return "((" + strings.ReplaceAll(s, " ", "") + "))"
	case *ast.NullLiteral:
		return "(NULL)"
	case *ast.FunctionCall, *ast.ParameterlessCall:
		return "(" + strings.ToLower(s) + ")"
	}
	return "(" + s + ")"
}

func (b *tableBuilder) check(x *ast.CheckConstraintDefinition) error {
	sc := &scope{c: b.c}
	if _, err := sc.add(&tableSlot{alias: b.def.Name, schema: b.def.Schema, name: b.def.Name, cols: columnsOf(b.def)}); err != nil {
		return err
	}
	if _, err := sc.pred(x.CheckCondition); err != nil {
		return err
	}
	b.def.Checks = append(b.def.Checks, &storage.Check{
		ID: b.o.db.NextObjectID(), Name: b.named(x.ConstraintIdentifier, "CK", ""), Text: "(" + b.source(x.CheckCondition) + ")", Expr: x.CheckCondition,
	})
	return nil
}

func (b *tableBuilder) unique(x *ast.UniqueConstraintDefinition, column string) error {
	d := &storage.IndexDef{Unique: true, PrimaryKey: x.IsPrimaryKey, UniqueConstraint: !x.IsPrimaryKey}
	if x.IsPrimaryKey {
		if b.def.PrimaryKey() != nil {
			return sqlerr.New(1779, b.o.name)
		}
	}
	explicit := x.IndexType != nil && x.IndexType.IndexTypeKind != ""
	d.Clustered = x.Clustered || explicit && strings.EqualFold(x.IndexType.IndexTypeKind, "Clustered")
	if !explicit && !x.Clustered && x.IsPrimaryKey {
		d.Clustered = !b.clustered && !b.hasClustered()
	}
	prefix := "UQ"
	if x.IsPrimaryKey {
		prefix = "PK"
	}
	d.Name = b.named(x.ConstraintIdentifier, prefix, "")
	cols := x.Columns
	if len(cols) == 0 && column != "" {
		i, err := b.find(column)
		if err != nil {
			return err
		}
		d.Columns = []storage.IndexColumn{{Column: i}}
	}
	if err := b.keyColumns(d, cols); err != nil {
		return err
	}
	if x.IsPrimaryKey {
		for _, ic := range d.Columns {
			col := *b.def.Columns[ic.Column]
			col.Nullable = false
			*b.def.Columns[ic.Column] = col
		}
	}
	return b.addIndex(d)
}

func (b *tableBuilder) hasClustered() bool {
	for _, x := range b.def.Indexes {
		if x.Clustered {
			return true
		}
	}
	return false
}

func (b *tableBuilder) clusteredName() string {
	for _, x := range b.def.Indexes {
		if x.Clustered {
			return x.Name
		}
	}
	return ""
}

func (b *tableBuilder) keyColumns(d *storage.IndexDef, cols []*ast.ColumnWithSortOrder) error {
	for _, c := range cols {
		ids := c.Column.MultiPartIdentifier.Identifiers
		i, err := b.find(ids[len(ids)-1].Value)
		if err != nil {
			return err
		}
		for _, have := range d.Columns {
			if have.Column == i {
				return sqlerr.New(1909, "index", b.def.Columns[i].Name)
			}
		}
		if t := b.def.Columns[i].Type; t.IsLOB() || isLegacyLOB(t) {
			return sqlerr.New(1919, b.def.Columns[i].Name, b.o.name)
		}
		d.Columns = append(d.Columns, storage.IndexColumn{Column: i, Desc: c.SortOrder == ast.SortOrderDescending})
	}
	return nil
}

func (b *tableBuilder) addIndex(d *storage.IndexDef) error {
	if d.Clustered && b.hasClustered() {
		return sqlerr.New(1902, "table", b.o.name, b.clusteredName())
	}
	for _, x := range b.def.Indexes {
		if sameIdent(b.o.db, x.Name, d.Name) {
			return sqlerr.New(1913, d.Name, b.o.name)
		}
	}
	d.ObjectID = 0
	if d.PrimaryKey || d.UniqueConstraint {
		d.ObjectID = b.o.db.NextObjectID()
	}
	b.def.Indexes = append(b.def.Indexes, d)
	return nil
}

func (b *tableBuilder) indexOn(x *ast.IndexDefinition, column string) error {
	d := &storage.IndexDef{Name: x.Name.Value, Unique: x.Unique}
	if x.IndexType != nil {
		switch k := x.IndexType.IndexTypeKind; {
		case strings.EqualFold(k, "Clustered"):
			d.Clustered = true
		case k != "" && !strings.EqualFold(k, "NonClustered"):
			return notSupported("this kind of index")
		}
	}
	if len(x.Columns) == 0 && column != "" {
		i, err := b.find(column)
		if err != nil {
			return err
		}
		d.Columns = []storage.IndexColumn{{Column: i}}
	}
	if err := b.keyColumns(d, x.Columns); err != nil {
		return err
	}
	return b.finishIndex(d, x.IncludeColumns, x.FilterPredicate)
}

// finishIndex adds INCLUDE and WHERE.
func (b *tableBuilder) finishIndex(d *storage.IndexDef, include []*ast.ColumnReferenceExpression, filter ast.BooleanExpression) error {
	for _, c := range include {
		ids := c.MultiPartIdentifier.Identifiers
		i, err := b.find(ids[len(ids)-1].Value)
		if err != nil {
			return err
		}
		d.Include = append(d.Include, i)
	}
	if filter != nil {
		// The index outlives the session: its condition is compiled for a session of its own.
		r := detachedRun(b.c.r.s, b.o.db)
		sc := &scope{c: &compiler{r: r, db: b.o.db}}
		if _, err := sc.add(&tableSlot{alias: b.def.Name, name: b.def.Name, schema: b.def.Schema, cols: columnsOf(b.def)}); err != nil {
			return err
		}
		p, err := sc.pred(filter)
		if err != nil {
			return err
		}
		d.FilterText = "(" + b.source(filter) + ")"
		d.Filter = func(vals []value.Value) bool {
			f := &frame{r: r, rows: [][]value.Value{vals}}
			t, err := p.test(f)
			return err == nil && t == yes
		}
	}
	return b.addIndex(d)
}

// order puts the clustered index first and numbers the indexes.
func (b *tableBuilder) order() {
	for i, x := range b.def.Indexes {
		if x.Clustered && i > 0 {
			copy(b.def.Indexes[1:i+1], b.def.Indexes[:i])
			b.def.Indexes[0] = x
		}
	}
	next := 2
	for _, x := range b.def.Indexes {
		next = max(next, x.ID+1)
	}
	for _, x := range b.def.Indexes {
		switch {
		case x.ID != 0:
		case x.Clustered:
			x.ID = 1
		default:
			x.ID = next
			next++
		}
	}
}

// detachedRun is a run of no session that anyone uses, for expressions that are kept.
func detachedRun(s *Session, db *storage.Database) *run {
	d := &Session{in: s.in, login: "sa", opt: defaultOptions(), db: db}
	d.initEnv()
	return &run{s: d, ctx: context.Background(), vars: map[string]*variable{}}
}

// parseExpr parses one expression from the text of a constraint.
func parseExpr(text string) (ast.ScalarExpression, error) {
	b, err := parseBatch("SELECT " + text)
	if err != nil {
		return nil, err
	}
	if s, ok := b.stmts[0].(*ast.SelectStatement); ok {
		if q, ok := s.QueryExpression.(*ast.QuerySpecification); ok && len(q.SelectElements) == 1 {
			if e, ok := q.SelectElements[0].(*ast.SelectScalarExpression); ok {
				return e.Expression, nil
			}
		}
	}
	return nil, sqlerr.New(102, strconv.Quote(text))
}
