package sqltype

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

// Keys of the metadata of a Field. They let a schema alone say what its columns mean.
const (
	metaType      = "mssql.type"
	metaCollation = "mssql.collation"
)

// Inside is the lossless Arrow type that record batches of this project hold; nil for a type that the table does not have.
func (t Type) Inside() arrow.DataType {
	if e := lookup(t.Name); e != nil {
		return e.inside(t)
	}
	return nil
}

// Exported is the Arrow type that leaves the project: the same as Inside where Arrow has a type that everybody reads as we mean it.
func (t Type) Exported() (arrow.DataType, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	e := lookup(t.Name)
	if e.exported == nil {
		return e.inside(t), nil
	}
	return e.exported(t)
}

// Field is the field of a column of type t in the schema of an inside record batch.
func (t Type) Field(name string) arrow.Field {
	keys, values := []string{metaType}, []string{t.String()}
	if t.Collation != "" {
		keys, values = append(keys, metaCollation), append(values, t.Collation)
	}
	return arrow.Field{Name: name, Type: t.Inside(), Nullable: t.Nullable, Metadata: arrow.NewMetadata(keys, values)}
}

// FromField reads the type back from a field that Field made.
func FromField(f arrow.Field) (Type, error) {
	decl, ok := f.Metadata.GetValue(metaType)
	if !ok {
		return Type{}, fmt.Errorf("reading the type of column %s: the field has no %s metadata", f.Name, metaType)
	}
	t, err := Parse(decl)
	if err != nil {
		return Type{}, fmt.Errorf("reading the type of column %s: %w", f.Name, err)
	}
	t.Nullable = f.Nullable
	t.Collation, _ = f.Metadata.GetValue(metaCollation)
	if !arrow.TypeEqual(f.Type, t.Inside()) {
		return Type{}, fmt.Errorf("reading the type of column %s: %s is held as %s, not as %s", f.Name, t, t.Inside(), f.Type)
	}
	return t, nil
}

func fixed(dt arrow.DataType) func(Type) arrow.DataType {
	return func(Type) arrow.DataType { return dt }
}

func decimalOf(t Type) arrow.DataType {
	return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
}

// offsetStruct is the layout of a datetimeoffset. With a timestamp it is the storage of Arrow's canonical extension
// arrow.timestamp_with_offset.
func offsetStruct(instant arrow.DataType, name string) arrow.DataType {
	return arrow.StructOf(
		arrow.Field{Name: name, Type: instant},
		arrow.Field{Name: "offset_minutes", Type: arrow.PrimitiveTypes.Int16},
	)
}

// unitOf is the Arrow unit that holds a fraction of so many digits.
func unitOf(digits int) arrow.TimeUnit {
	switch {
	case digits == 0:
		return arrow.Second
	case digits <= 3:
		return arrow.Millisecond
	case digits <= 6:
		return arrow.Microsecond
	}
	return arrow.Nanosecond
}

func datetime2Exported(t Type) (arrow.DataType, error) {
	return &arrow.TimestampType{Unit: unitOf(t.Scale)}, nil
}

func timestampExported(u arrow.TimeUnit) func(Type) (arrow.DataType, error) {
	return func(Type) (arrow.DataType, error) { return &arrow.TimestampType{Unit: u}, nil }
}

func offsetExported(t Type) (arrow.DataType, error) {
	return offsetStruct(&arrow.TimestampType{Unit: unitOf(t.Scale), TimeZone: "UTC"}, "timestamp"), nil
}

func uuidExported(Type) (arrow.DataType, error) { return extensions.NewUUIDType(), nil }
