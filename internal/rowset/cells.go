package rowset

import (
	"encoding/binary"
	"errors"
	"fmt"

	"example.com/mssqlcdc/internal/cellvalue"
	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/internal/tds"
)

// cellFunc appends one cell of the wire that is not NULL to a column. It leaves the column as it was when it fails.
type cellFunc func(b *Builder, v *vector, cell []byte) error

var errWireCell = errors.New("a cell that its type does not have")

// Plan prepares for rows of the wire: columns describes the expressions that were selected, of which the builder takes the first
// Cells. It has to be called for each result set; the same columns again cost a comparison.
func (b *Builder) Plan(columns []tds.ColumnMeta) error {
	if len(columns) < b.cells {
		return fmt.Errorf("reading rows of %s: %d columns for %d selected expressions", b.table, len(columns), b.cells)
	}
	columns = columns[:b.cells]
	if b.planned(columns) {
		return nil
	}
	b.wire = b.wire[:0]
	b.puts = b.puts[:0]
	b.variants = nil
	cell := 0
	for i, v := range b.cols {
		put, err := cellFor(v, &columns[cell].Info)
		if v.kind == sqltype.Variant && err == nil {
			put, err = nil, b.planVariant(i, columns[cell:cell+v.cells])
		}
		if err != nil {
			return fmt.Errorf("reading rows of %s: column %s (%s): %w", b.table, v.name, v.typ, err)
		}
		b.puts = append(b.puts, put)
		cell += v.cells
	}
	for i := range columns {
		b.wire = append(b.wire, columns[i].Info)
	}
	return nil
}

func (b *Builder) planned(columns []tds.ColumnMeta) bool {
	if len(b.wire) != len(columns) {
		return false
	}
	for i := range columns {
		if b.wire[i] != columns[i].Info {
			return false
		}
	}
	return true
}

// AppendCells appends a row of the wire, which Plan has prepared for. It keeps none of the slices. A row that cannot be appended
// leaves the builder as it was. Unlike AppendDriverRow it leaves no suspects: what the text is can be seen.
func (b *Builder) AppendCells(cells [][]byte) error {
	if len(cells) < b.cells || len(b.puts) != len(b.cols) {
		return fmt.Errorf("reading row %d of %s: %d cells for %d selected expressions", b.rows+1, b.table, len(cells), b.cells)
	}
	at := 0
	for i, v := range b.cols {
		cell := cells[at]
		var err error
		switch {
		case cell == nil:
			if !v.typ.Nullable {
				err = errors.New("NULL in a column that cannot have it")
			} else {
				v.putNull()
			}
		case v.cells > 1:
			err = b.appendVariantCells(i, v, cells[at:at+v.cells])
		default:
			err = b.puts[i](b, v, cell)
		}
		if err != nil {
			b.Truncate(b.rows)
			return b.cellError(Cell{Row: b.rows, Column: i}, err)
		}
		at += v.cells
	}
	b.rows++
	return nil
}

// cellFor plans a column for the type on the wire. What is not of the column's own kind goes through the value that the driver
// would have, and is an error where that is one.
func cellFor(v *vector, t *tds.TypeInfo) (cellFunc, error) {
	switch v.kind {
	case sqltype.Text:
		return textCell(t)
	case sqltype.Binary:
		switch t.Type {
		case tds.TypeBigVarBinary, tds.TypeBigBinary, tds.TypeImage, tds.TypeUDT:
			return func(_ *Builder, v *vector, cell []byte) error { return v.putBytes(cell) }, nil
		}
	case sqltype.RowVersion:
		if t.Type == tds.TypeBigBinary || t.Type == tds.TypeBigVarBinary {
			return func(_ *Builder, v *vector, cell []byte) error { return appendRowVersion(v, cell) }, nil
		}
	case sqltype.UUID:
		if t.Type == tds.TypeGUID {
			return func(_ *Builder, v *vector, cell []byte) error { canonicalUUID(v.fixed(), cell); return nil }, nil
		}
	case sqltype.Bit, sqltype.TinyInt, sqltype.SmallInt, sqltype.Int, sqltype.BigInt, sqltype.Real, sqltype.Float, sqltype.Decimal:
		if f := numberCell(v.kind, t); f != nil {
			return f, nil
		}
	case sqltype.Date, sqltype.Time, sqltype.DateTime2, sqltype.DateTime, sqltype.DateTimeOffset:
		if f := timeCell(v.kind, t); f != nil {
			return f, nil
		}
	case sqltype.Variant:
		return nil, nil
	}
	return valueCell(v, t)
}

// valueCell goes through a value of the driver's kinds.
func valueCell(v *vector, t *tds.TypeInfo) (cellFunc, error) {
	value, err := cellvalue.Of(t)
	if err != nil {
		return nil, err
	}
	put := appendFor(v.kind)
	return func(_ *Builder, v *vector, cell []byte) error {
		x, err := value(cell)
		if err != nil {
			return err
		}
		return put(v, x)
	}, nil
}

func numberCell(k sqltype.Kind, t *tds.TypeInfo) cellFunc {
	switch t.Type {
	case tds.TypeInt1, tds.TypeInt2, tds.TypeInt4, tds.TypeInt8, tds.TypeIntN:
		switch {
		case k == sqltype.Int && t.Size == 4:
			return func(_ *Builder, v *vector, cell []byte) error {
				if len(cell) != 4 {
					return putInteger(v, cell)
				}
				v.put32(int32(binary.LittleEndian.Uint32(cell)))
				return nil
			}
		case k == sqltype.BigInt && t.Size == 8:
			return func(_ *Builder, v *vector, cell []byte) error {
				if len(cell) != 8 {
					return putInteger(v, cell)
				}
				v.put64(int64(binary.LittleEndian.Uint64(cell)))
				return nil
			}
		case k == sqltype.TinyInt || k == sqltype.SmallInt || k == sqltype.Int || k == sqltype.BigInt:
			return func(_ *Builder, v *vector, cell []byte) error { return putInteger(v, cell) }
		}
	case tds.TypeBit, tds.TypeBitN:
		if k == sqltype.Bit {
			return func(_ *Builder, v *vector, cell []byte) error { v.putBool(cell[0] != 0); return nil }
		}
	case tds.TypeFlt4, tds.TypeFlt8, tds.TypeFltN:
		switch k {
		case sqltype.Real:
			return func(_ *Builder, v *vector, cell []byte) error {
				if len(cell) != 4 {
					f, _ := tds.Float64(cell)
					return putReal(v, f)
				}
				v.put32(int32(binary.LittleEndian.Uint32(cell)))
				return nil
			}
		case sqltype.Float:
			return func(_ *Builder, v *vector, cell []byte) error {
				f, ok := tds.Float64(cell)
				if !ok {
					return errWireCell
				}
				return putFloat(v, f)
			}
		}
	case tds.TypeMoney, tds.TypeMoney4, tds.TypeMoneyN:
		if k == sqltype.Decimal {
			return func(_ *Builder, v *vector, cell []byte) error {
				n, ok := tds.DecodeMoney(cell)
				if !ok {
					return errWireCell
				}
				return putScaled(v, tds.Decimal{Neg: n < 0, Lo: magnitude(n)}, 4)
			}
		}
	case tds.TypeDecimal, tds.TypeNumeric, tds.TypeDecimalN, tds.TypeNumericN:
		if k == sqltype.Decimal {
			scale := int(t.Scale)
			return func(_ *Builder, v *vector, cell []byte) error {
				d, ok := tds.DecodeDecimal(cell)
				if !ok {
					return errWireCell
				}
				return putScaled(v, d, scale)
			}
		}
	}
	return nil
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func putInteger(v *vector, cell []byte) error {
	n, ok := tds.Int64(cell)
	if !ok {
		return errWireCell
	}
	return putInt(v, n)
}

// textCell plans text. Text of a code page is decoded by the collation on the wire.
func textCell(t *tds.TypeInfo) (cellFunc, error) {
	switch t.Type {
	case tds.TypeNVarChar, tds.TypeNChar, tds.TypeNText, tds.TypeXML:
		return func(b *Builder, v *vector, cell []byte) error { return b.putUTF16(v, cell) }, nil
	case tds.TypeBigVarChar, tds.TypeBigChar, tds.TypeText:
		return pageCell(t.Collation)
	}
	return nil, fmt.Errorf("the server sent %v where text was expected", t.Type)
}

// putUTF16 appends a text and looks for lone surrogates on the way.
func (b *Builder) putUTF16(v *vector, cell []byte) error {
	if len(cell)%2 != 0 {
		return errors.New("text of an odd number of bytes")
	}
	whole := len(cell)
	if err := v.room(tds.MaxUTF8(whole)); err != nil {
		return err
	}
	dst := v.data[v.used:v.used:len(v.data)]
	for {
		var units int
		dst, units = tds.AppendValidUTF8(dst, cell)
		if cell = cell[2*units:]; len(cell) == 0 {
			v.endVariable(len(dst))
			return nil
		}
		if !b.opts.ReplaceInvalidText {
			return &InvalidTextError{Unit: binary.LittleEndian.Uint16(cell), Position: (whole - len(cell)) / 2}
		}
		dst, cell = append(dst, "\uFFFD"...), cell[2:]
	}
}
