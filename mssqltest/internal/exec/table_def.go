package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// tableBuilder makes a TableDef from a definition in SQL.
type tableBuilder struct {
	c   *compiler
	o   objectName
	def *storage.TableDef
	fks []*ast.ForeignKeyConstraintDefinition
	// fkCols are the columns of foreign keys that stand beside a column.
	fkCols map[*ast.ForeignKeyConstraintDefinition]string
	seed   int
	// clustered says that a constraint or an index asks for the clustered index, which the primary key then leaves to it.
	clustered bool
}

// tableDef compiles the columns, keys, indexes and constraints of CREATE TABLE, a table variable or a table type.
func (c *compiler) tableDef(o objectName, d *ast.TableDefinition) (*storage.TableDef, error) {
	if d == nil {
		return nil, sqlerr.New(102, ")")
	}
	b := &tableBuilder{c: c.at(o.db), o: o, fkCols: map[*ast.ForeignKeyConstraintDefinition]string{}}
	b.def = &storage.TableDef{ObjectHeader: storage.ObjectHeader{Schema: o.schema, Name: o.name, Type: "U"}}
	if err := b.add(d); err != nil {
		return nil, err
	}
	return b.def, nil
}

// add adds the elements of a definition: those of CREATE TABLE, or of ALTER TABLE ADD.
func (b *tableBuilder) add(d *ast.TableDefinition) error {
	w := walker{pre: func(n any) bool {
		switch x := n.(type) {
		case *ast.UniqueConstraintDefinition:
			b.clustered = b.clustered || x.Clustered || x.IndexType != nil && strings.EqualFold(x.IndexType.IndexTypeKind, "Clustered")
		case *ast.IndexDefinition:
			b.clustered = b.clustered || x.IndexType != nil && strings.EqualFold(x.IndexType.IndexTypeKind, "Clustered")
		}
		return true
	}}
	w.walk(valueOf(d))
	if err := b.columns(d); err != nil {
		return err
	}
	for _, k := range d.TableConstraints {
		if err := b.constraint(k); err != nil {
			return err
		}
	}
	for _, x := range d.Indexes {
		if err := b.indexOn(x, ""); err != nil {
			return err
		}
	}
	if err := b.foreignKeys(); err != nil {
		return err
	}
	b.order()
	return nil
}

// columns adds plain columns first, so that computed ones can name them wherever they stand.
func (b *tableBuilder) columns(d *ast.TableDefinition) error {
	first := len(b.def.Columns)
	for _, cd := range d.ColumnDefinitions {
		col, err := b.column(cd)
		if err != nil {
			return err
		}
		for _, have := range b.def.Columns {
			if sameIdent(b.o.db, have.Name, col.Name) {
				return sqlerr.New(2705, col.Name, b.o.name)
			}
		}
		b.def.Columns = append(b.def.Columns, col)
	}
	for i, cd := range d.ColumnDefinitions {
		if cd.ComputedColumnExpression != nil {
			if err := b.computed(b.def.Columns[first+i], cd); err != nil {
				return err
			}
		}
		if err := b.columnConstraints(cd, b.def.Columns[first+i]); err != nil {
			return err
		}
	}
	n := 0
	for _, col := range b.def.Columns {
		if col.Identity != nil {
			n++
		}
	}
	if n > 1 {
		return sqlerr.New(2744, b.o.name)
	}
	return nil
}

func (b *tableBuilder) nextColumnID() int {
	id := 0
	for _, c := range b.def.Columns {
		id = max(id, c.ID)
	}
	return id + 1
}

func (b *tableBuilder) column(cd *ast.ColumnDefinition) (*storage.Column, error) {
	col := &storage.Column{ID: b.nextColumnID(), Name: cd.ColumnIdentifier.Value, Nullable: true}
	if cd.ComputedColumnExpression != nil {
		return col, nil
	}
	var err error
	if cd.DataType == nil {
		col.Type = value.Type{ID: value.RowVersion, Len: 8}
	} else if col.Type, err = b.c.typeOf(cd.DataType, false); err != nil {
		return nil, err
	}
	if u, ok := cd.DataType.(*ast.UserDataTypeReference); ok {
		if n, ok := b.c.aliasNullable(u.Name); ok {
			col.Nullable = n
		}
	}
	if col.Type.Name == "sysname" {
		col.Nullable = false
	}
	if cd.Collation != nil {
		if !isString(col.Type) {
			return nil, sqlerr.New(450, cd.Collation.Value)
		}
		if col.Type.Coll, err = b.c.lookupCollation(cd.Collation.Value); err != nil {
			return nil, err
		}
	} else if isString(col.Type) {
		col.Type.Coll = b.o.db.Collation
	}
	if cd.Nullable != nil {
		col.Nullable = cd.Nullable.Nullable
	}
	if col.Type.ID == value.RowVersion {
		col.Nullable = false
	}
	if id := cd.IdentityOptions; id != nil {
		if err := b.identity(col, id); err != nil {
			return nil, err
		}
	}
	if cd.StorageOptions != nil {
		col.Sparse = cd.StorageOptions.SparseOption == "Sparse"
		if cd.StorageOptions.IsFileStream || cd.StorageOptions.SparseOption == "ColumnSetForAllSparseColumns" {
			return nil, notSupported("FILESTREAM and column sets")
		}
	}
	if cd.Encryption != nil {
		return nil, notSupported("ENCRYPTED WITH")
	}
	col.RowGUID, col.Hidden = cd.IsRowGuidCol, cd.IsHidden
	if cd.IsMasked {
		if s, ok := cd.MaskingFunction.(*ast.StringLiteral); ok {
			col.Masked = s.Value
		}
	}
	switch cd.GeneratedAlways {
	case "":
	case "RowStart":
		col.GeneratedAlways, col.Nullable = 1, false
	case "RowEnd":
		col.GeneratedAlways, col.Nullable = 2, false
	default:
		return nil, notSupported("GENERATED ALWAYS AS " + cd.GeneratedAlways)
	}
	return col, nil
}

func (b *tableBuilder) identity(col *storage.Column, id *ast.IdentityOptions) error {
	if !isExact(col.Type) || col.Type.ID == value.Bit || col.Type.Scale != 0 {
		return sqlerr.New(2749, col.Name)
	}
	p := &storage.Identity{Seed: 1, Increment: 1, NotForReplication: id.NotForReplication}
	for n, to := range map[ast.ScalarExpression]*int64{id.IdentitySeed: &p.Seed, id.IdentityIncrement: &p.Increment} {
		if n == nil {
			continue
		}
		v, err := b.c.r.evalTo(n, typeBigInt)
		if err != nil {
			return err
		}
		*to = v.Int()
	}
	col.Identity, col.Nullable = p, false
	return nil
}

// computed finds the type of a computed column.
func (b *tableBuilder) computed(col *storage.Column, cd *ast.ColumnDefinition) error {
	sc := &scope{c: b.c}
	if _, err := sc.add(&tableSlot{alias: b.def.Name, schema: b.def.Schema, name: b.def.Name, cols: columnsOf(b.def)}); err != nil {
		return err
	}
	e, err := sc.expr(cd.ComputedColumnExpression)
	if err != nil {
		return err
	}
	col.Type, col.Nullable = e.typ, e.nullable
	if col.Type.ID == value.Null {
		col.Type = typeInt
	}
	if cd.Nullable != nil {
		col.Nullable = cd.Nullable.Nullable
	}
	col.Computed = &storage.Computed{Text: "(" + b.source(cd.ComputedColumnExpression) + ")", Persisted: cd.IsPersisted, Expr: cd.ComputedColumnExpression}
	return nil
}

// source is the text of a node as it was written.
func (b *tableBuilder) source(n any) string { return b.c.r.source(n) }

// source is the text of a node of the running batch.
func (r *run) source(n any) string {
	f := fragment(n)
	for ; r != nil && r.b == nil; r = r.parent {
	}
	if f == nil || !f.HasSpan() || r == nil {
		return ""
	}
	return cutUTF16(r.b.src, f.StartOffset, f.EndOffset())
}

// cutUTF16 cuts a text at offsets in code units.
func cutUTF16(s string, from, to int) string {
	if isASCII(s) {
		return s[min(from, len(s)):min(to, len(s))]
	}
	units, start := 0, -1
	for i, c := range s {
		if units >= from && start < 0 {
			start = i
		}
		if units >= to {
			return s[start:i]
		}
		units++
		if c > 0xFFFF {
			units++
		}
	}
	if start < 0 {
		return ""
	}
	return s[start:]
}
