package sqltype

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"
)

func TestTimestampsAgreeWithTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := instants().Draw(t, "v")
		for unit, want := range map[arrow.TimeUnit]int64{arrow.Second: v.Unix(), arrow.Millisecond: v.UnixMilli(), arrow.Microsecond: v.UnixMicro()} {
			if got, ok := TimestampOf(TicksOf(v), unit); !ok || got != want {
				t.Errorf("%v in %v = %d, %v, want %d", v, unit, got, ok, want)
			}
		}
	})
}

func TestTimestampsInNanoseconds(t *testing.T) {
	// The last 100 ns that 64 bits of nanoseconds hold, and the ones beyond.
	first, last := time.Unix(0, -9223372036854775800).UTC(), time.Unix(0, 9223372036854775800).UTC()
	for _, tt := range []struct {
		v    time.Time
		want int64
		ok   bool
	}{
		{time.Unix(0, 0), 0, true}, {time.Unix(0, -100), -100, true}, {time.Date(2024, 2, 29, 23, 59, 59, 123_456_700, time.UTC), 1709251199123456700, true},
		{first, first.UnixNano(), true}, {last, last.UnixNano(), true},
		{first.Add(-100), 0, false}, {last.Add(100), 0, false}, {firstDay, 0, false}, {lastTick, 0, false},
	} {
		if got, ok := TimestampOf(TicksOf(tt.v.UTC()), arrow.Nanosecond); got != tt.want || ok != tt.ok {
			t.Errorf("%v = %d, %v, want %d, %v", tt.v, got, ok, tt.want, tt.ok)
		}
	}
}

func TestExportedFieldKeepsWhatItWas(t *testing.T) {
	f, err := Type{Name: "datetime2", Scale: 3, Nullable: true}.ExportedField("at")
	if err != nil {
		t.Fatal(err)
	}
	if decl, _ := f.Metadata.GetValue(metaType); f.Name != "at" || f.Type.String() != "timestamp[ms]" || decl != "datetime2(3)" || !f.Nullable {
		t.Errorf("the field is %v", f)
	}
	if typ, err := FromExportedField(f); err != nil || typ.String() != "datetime2(3)" || !typ.Nullable {
		t.Errorf("the type comes back as %v: %v", typ, err)
	}
	for _, wrong := range []arrow.Field{{Name: "at", Type: f.Type}, {Name: "at", Type: arrow.PrimitiveTypes.Int64, Metadata: f.Metadata}} {
		if typ, err := FromExportedField(wrong); err == nil {
			t.Errorf("%v was read as %v", wrong, typ)
		}
	}
	if _, err := (Type{Name: "nothing"}).ExportedField("x"); err == nil {
		t.Error("a type without a rule has a field")
	}
}
