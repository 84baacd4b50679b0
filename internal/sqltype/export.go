package sqltype

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// epochTicks are the 100 ns from 0001-01-01 to 1970-01-01.
const epochTicks = daysTo1970 * secondsPerDay * ticksPerSecond

// TimestampOf gives 100 ns ticks since 0001-01-01 as an Arrow timestamp of a unit, counted from 1970-01-01. It reports false when
// the timestamp does not reach so far: nanoseconds end in 1677 and 2262. Digits below the unit are cut; a column's Exported type
// has none.
func TimestampOf(ticks int64, unit arrow.TimeUnit) (v int64, ok bool) {
	ticks -= epochTicks
	switch unit {
	case arrow.Second:
		return floorDiv(ticks, ticksPerSecond), true
	case arrow.Millisecond:
		return floorDiv(ticks, ticksPerSecond/1000), true
	case arrow.Microsecond:
		return floorDiv(ticks, ticksPerSecond/1_000_000), true
	}
	if ticks > math.MaxInt64/100 || ticks < math.MinInt64/100 {
		return 0, false
	}
	return ticks * 100, true
}

// ExportedField is the field of a column of type t in the schema of a record batch that leaves the project. It keeps the metadata of
// Field, so that a reader can tell which SQL Server type it was.
func (t Type) ExportedField(name string) (arrow.Field, error) {
	out, err := t.Exported()
	if err != nil {
		return arrow.Field{}, err
	}
	f := t.Field(name)
	f.Type = out
	return f, nil
}

// FromExportedField reads the type back from a field that ExportedField made.
func FromExportedField(f arrow.Field) (Type, error) {
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
	if out, err := t.Exported(); err != nil || !arrow.TypeEqual(f.Type, out) {
		return Type{}, fmt.Errorf("reading the type of column %s: %s is not exported as %s", f.Name, t, f.Type)
	}
	return t, nil
}
