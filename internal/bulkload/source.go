package bulkload

import (
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/sqltype"
)

// family is what values of a field are, whatever their width.
type family uint8

const (
	famNull     family = iota
	famBool            // number 0 or 1
	famInt             // whole number
	famFloat           // binary floating point
	famDecimal         // decimal of the source's scale
	famDate            // day
	famClock           // time of day
	famWall            // date and time without a zone
	famInstant         // date and time with a zone in the schema
	famOffset          // instant with an offset of its own
	famDateTime        // 1/300 s, the inside form of datetime
	famText
	famBinary
	famVariant // the inside form of sql_variant
	famNested  // text: the JSON of the value
)

// source is a field of the schema, classified.
type source struct {
	family family
	scale  int            // famDecimal
	digits int            // of a second: famClock, famWall, famInstant, famOffset
	epoch  int64          // day of 0 counted from 0001-01-01: famDate, famWall, famInstant, famOffset
	zone   *time.Location // famInstant
	uuid   bool           // famBinary: 16 bytes in the order of the text form
	width  int            // famBinary of fixed size
	text   string         // for errors
}

// unixEpoch and epoch1900 are days counted from 0001-01-01.
const (
	unixEpoch = 719_162
	epoch1900 = 693_595
)

// classify says what the values of a field are. A field with the metadata of
// sqltype is in its inside form.
func classify(f arrow.Field) (source, error) {
	if t, err := sqltype.FromField(f); err == nil {
		if s, ok := inside(t); ok {
			return s, nil
		}
	}
	return plain(f.Type)
}

// inside gives the forms that plain Arrow would read otherwise.
func inside(t sqltype.Type) (source, bool) {
	s := source{text: t.String() + " held as " + t.Inside().String(), digits: 7}
	switch t.Kind() {
	case sqltype.DateTime2:
		s.family = famWall
	case sqltype.DateTime:
		s.family = famDateTime
	case sqltype.DateTimeOffset:
		s.family = famOffset
	case sqltype.Variant:
		s.family = famVariant
	case sqltype.UUID:
		s.family, s.uuid, s.width = famBinary, true, 16
	default:
		return s, false
	}
	return s, true
}

// plain classifies an Arrow type.
func plain(dt arrow.DataType) (source, error) {
	s := source{text: dt.String()}
	switch t := dt.(type) {
	case *arrow.NullType:
		s.family = famNull
	case *arrow.BooleanType:
		s.family = famBool
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type,
		*arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		s.family = famInt
	case *arrow.Float16Type, *arrow.Float32Type, *arrow.Float64Type:
		s.family = famFloat
	case arrow.DecimalType:
		s.family, s.scale = famDecimal, int(t.GetScale())
	case *arrow.Date32Type:
		s.family, s.epoch = famDate, unixEpoch
	case *arrow.Date64Type:
		s.family, s.epoch, s.digits = famWall, unixEpoch, 3
	case *arrow.Time32Type:
		s.family, s.digits = famClock, digitsOf(t.Unit)
	case *arrow.Time64Type:
		s.family, s.digits = famClock, digitsOf(t.Unit)
	case *arrow.TimestampType:
		return timestamp(t, s)
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		s.family = famText
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		s.family = famBinary
	case *arrow.FixedSizeBinaryType:
		s.family, s.width, s.uuid = famBinary, t.ByteWidth, t.ByteWidth == 16
	case *arrow.DictionaryType:
		return plain(t.ValueType)
	case *arrow.RunEndEncodedType:
		return plain(t.Encoded())
	case arrow.ExtensionType:
		return plain(t.StorageType())
	case *arrow.StructType:
		return structure(t, s)
	case *arrow.MapType, arrow.ListLikeType:
		s.family = famNested
	default:
		return s, fmt.Errorf("the Arrow type %s has no counterpart in SQL Server; cast it first", dt)
	}
	return s, nil
}

func timestamp(t *arrow.TimestampType, s source) (source, error) {
	s.family, s.epoch, s.digits = famWall, unixEpoch, digitsOf(t.Unit)
	if t.TimeZone == "" {
		return s, nil
	}
	zone, err := t.GetZone()
	if err != nil {
		return s, fmt.Errorf("the time zone %q is not known", t.TimeZone)
	}
	s.family, s.zone = famInstant, zone
	return s, nil
}

// structure recognises the exported form of datetimeoffset; other structs are
// nested values.
func structure(t *arrow.StructType, s source) (source, error) {
	s.family = famNested
	if t.NumFields() != 2 || t.Field(1).Name != "offset_minutes" || t.Field(1).Type.ID() != arrow.INT16 {
		return s, nil
	}
	if ts, ok := t.Field(0).Type.(*arrow.TimestampType); ok && t.Field(0).Name == "timestamp" {
		s.family, s.epoch, s.digits = famOffset, unixEpoch, digitsOf(ts.Unit)
	}
	return s, nil
}

func digitsOf(u arrow.TimeUnit) int {
	switch u {
	case arrow.Second:
		return 0
	case arrow.Millisecond:
		return 3
	case arrow.Microsecond:
		return 6
	}
	return 9
}
