package bulkload

import (
	"fmt"
	"math"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/internal/tds"
)

// form is how a column's cells are written.
type form uint8

const (
	formInt form = iota
	formBit
	formFloat
	formDecimal
	formMoney
	formDate
	formTime
	formDateTime2
	formDateTimeOffset
	formDateTime
	formSmallDateTime
	formGUID
	formUTF16
	formNarrow // bytes of a code page
	formBinary
	formVariant
)

// frame is what stands around a cell's bytes.
type frame uint8

const (
	frameByte frame = iota // a length byte; 0 is NULL
	frameShort
	framePLP
	frameLong // the text pointer of text, ntext and image
	frameVariant
)

// wire is a target column as it is loaded.
type wire struct {
	form     form
	frame    frame
	size     int // of the cell, or the most bytes that the column stores
	min, max int64
	limit    number // of a decimal's magnitude, exclusive
	scale    int
	page     *codePage // formNarrow, and formUTF16 where the column's bytes are counted
	info     tds.TypeInfo
	decl     string
}

// nullCell is the cell that says NULL (2.2.5.5 Data Type Dependent Data Streams).
func (w *wire) nullCell() []byte {
	switch w.frame {
	case frameShort:
		return []byte{0xFF, 0xFF}
	case framePLP:
		return []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}
	case frameVariant:
		return []byte{0, 0, 0, 0}
	}
	return []byte{0}
}

// newWire plans the cells of a column. All types are the nullable ones, also for
// columns that are NOT NULL, so that every cell has its length.
func newWire(c *TargetColumn) (*wire, error) {
	t := c.Type
	w := &wire{decl: t.String(), size: t.Length, scale: t.Scale}
	switch t.Name {
	case "bit":
		w.form, w.size, w.info = formBit, 1, tds.Nullable(tds.TypeBitN, 1)
	case "tinyint":
		w.integer(1, 0, math.MaxUint8)
	case "smallint":
		w.integer(2, math.MinInt16, math.MaxInt16)
	case "int":
		w.integer(4, math.MinInt32, math.MaxInt32)
	case "bigint":
		w.integer(8, math.MinInt64, math.MaxInt64)
	case "real":
		w.form, w.size, w.info = formFloat, 4, tds.Nullable(tds.TypeFltN, 4)
	case "float":
		w.form, w.size, w.info = formFloat, 8, tds.Nullable(tds.TypeFltN, 8)
	case "decimal", "numeric":
		kind := tds.TypeDecimalN
		if t.Name == "numeric" {
			kind = tds.TypeNumericN
		}
		w.info = tds.DecimalType(kind, uint8(t.Precision), uint8(t.Scale))
		w.form, w.size, w.limit = formDecimal, w.info.Size, pow10[t.Precision]
	case "money", "smallmoney":
		w.form, w.size, w.scale, w.min, w.max = formMoney, 8, 4, math.MinInt64, math.MaxInt64
		if t.Name == "smallmoney" {
			w.size, w.min, w.max = 4, math.MinInt32, math.MaxInt32
		}
		w.info = tds.Nullable(tds.TypeMoneyN, w.size)
	case "date":
		w.form, w.info = formDate, tds.TemporalType(tds.TypeDateN, 0)
	case "time":
		w.form, w.info = formTime, tds.TemporalType(tds.TypeTimeN, uint8(t.Scale))
	case "datetime2":
		w.form, w.info = formDateTime2, tds.TemporalType(tds.TypeDateTime2N, uint8(t.Scale))
	case "datetimeoffset":
		w.form, w.info = formDateTimeOffset, tds.TemporalType(tds.TypeDateTimeOffsetN, uint8(t.Scale))
	case "datetime":
		w.form, w.info = formDateTime, tds.Nullable(tds.TypeDateTimN, 8)
	case "smalldatetime":
		w.form, w.info = formSmallDateTime, tds.Nullable(tds.TypeDateTimN, 4)
	case "uniqueidentifier":
		w.form, w.info = formGUID, tds.Nullable(tds.TypeGUID, 16)
	case "binary":
		w.form, w.frame, w.info = formBinary, frameShort, tds.Nullable(tds.TypeBigBinary, t.Length)
	case "varbinary":
		w.variable(formBinary, tds.TypeBigVarBinary, tds.Collation{})
	case "hierarchyid", "geometry", "geography", sqltype.CLR:
		// CLR types go as their serialized bytes (2.2.6.1 Bulk Load BCP).
		w.size, w.decl = sqltype.Max, "varbinary(max)"
		w.variable(formBinary, tds.TypeBigVarBinary, tds.Collation{})
	case "image":
		w.form, w.frame, w.info = formBinary, frameLong, tds.Nullable(tds.TypeImage, math.MaxInt32)
	case "sql_variant":
		w.form, w.frame, w.info = formVariant, frameVariant, tds.Nullable(tds.TypeSSVariant, tds.VariantSize)
	default:
		return w, w.text(c)
	}
	w.size = max(w.size, sqltype.Max)
	return w, nil
}

func (w *wire) integer(size int, lo, hi int64) {
	w.form, w.size, w.min, w.max, w.info = formInt, size, lo, hi, tds.Nullable(tds.TypeIntN, size)
}

// variable plans a type whose declared length decides between two frames.
func (w *wire) variable(f form, t tds.DataType, c tds.Collation) {
	w.form, w.frame = f, frameShort
	size := w.size
	if w.size == sqltype.Max {
		w.frame, size = framePLP, tds.MaxSize
	}
	w.info = tds.TypeInfo{Type: t, Size: size, Collation: c}
}

// text plans the text types. nchar and nvarchar are UTF-16. char and varchar are
// the bytes of their code page where a collation on the wire can say which, else,
// as with UTF-8 collations, UTF-16 that the server converts.
func (w *wire) text(c *TargetColumn) error {
	t := c.Type
	coll := c.collation.wire(t.Collation)
	switch t.Name {
	case "nvarchar":
		w.variable(formUTF16, tds.TypeNVarChar, coll)
	case "sysname":
		w.size, w.decl = 256, "nvarchar(128)"
		w.variable(formUTF16, tds.TypeNVarChar, coll)
	case "nchar":
		w.variable(formUTF16, tds.TypeNChar, coll)
	case "ntext":
		w.form, w.frame, w.info = formUTF16, frameLong, tds.CharType(tds.TypeNText, math.MaxInt32, coll)
	case "xml", "json", "vector":
		// Their own types must not be sent (2.2.6.1 Bulk Load BCP).
		if t.Name != "xml" {
			w.decl = "nvarchar(max)"
		}
		w.size = sqltype.Max
		w.variable(formUTF16, tds.TypeNVarChar, tds.DefaultCollation)
	case "char", "varchar", "text":
		return w.narrow(c)
	default:
		return fmt.Errorf("type %s is not one that rows can be loaded into", t)
	}
	return nil
}

// narrow plans char, varchar and text.
func (w *wire) narrow(c *TargetColumn) error {
	t := c.Type
	page, err := pageOf(c.collation.codePage)
	if err != nil {
		return fmt.Errorf("collation %s: %w", t.Collation, err)
	}
	w.page = page
	if !c.collation.sendable() {
		// A code unit takes at least a byte, so the units fit if the bytes do.
		if t.Name == "text" || w.size == sqltype.Max || w.size > 4000 {
			w.decl = "nvarchar(max)"
			w.form, w.frame = formUTF16, framePLP
			w.info = tds.CharType(tds.TypeNVarChar, tds.MaxSize, tds.DefaultCollation)
			return nil
		}
		w.decl = fmt.Sprintf("nvarchar(%d)", w.size)
		w.form, w.frame = formUTF16, frameShort
		w.info = tds.CharType(tds.TypeNVarChar, 2*w.size, tds.DefaultCollation)
		return nil
	}
	w.decl += " COLLATE " + t.Collation
	coll := c.collation.wire(t.Collation)
	switch t.Name {
	case "char":
		w.variable(formNarrow, tds.TypeBigChar, coll)
	case "varchar":
		w.variable(formNarrow, tds.TypeBigVarChar, coll)
	case "text":
		w.form, w.frame, w.info = formNarrow, frameLong, tds.CharType(tds.TypeText, math.MaxInt32, coll)
	}
	return nil
}

// column is the wire column as a load declares it.
func (w *wire) column(c *TargetColumn, table string) session.BulkColumn {
	flags := uint16(tds.ColumnUpdatableUnsure)
	if c.Type.Nullable {
		flags |= tds.ColumnNullable
	}
	if c.Identity {
		flags |= tds.ColumnIdentity
	}
	out := session.BulkColumn{
		Meta:        tds.ColumnMeta{Flags: flags, Info: w.info, Name: c.Name},
		Declaration: w.decl,
		RawOnly:     c.Type.Name == "xml",
	}
	if w.frame == frameLong {
		out.Meta.Table = []string{table}
	}
	if w.form == formNarrow {
		out.Wide = w.page.decode
	}
	switch {
	case w.form != formUTF16 || w.page == nil:
	case w.page.number == utf8Page:
		out.UTF8 = true
	default:
		page := w.page
		out.Narrow = func(dst []byte, text string) ([]byte, error) { return page.append(dst, []byte(text), true) }
	}
	return out
}
