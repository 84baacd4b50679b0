package sqltype

// CommonType is the type of a column in the schema that goes with messages. The values have the names of Benthos' common schema
// types, so that the package that knows Benthos maps them one to one.
type CommonType uint8

// The common types.
const (
	CommonNone CommonType = iota
	CommonBoolean
	CommonInt32
	CommonInt64
	CommonFloat32
	CommonFloat64
	CommonString
	CommonByteArray
	CommonAny
	CommonDecimal
	CommonDate
	CommonTimeOfDay
	CommonTimestamp
	CommonUUID
)

var commonNames = [...]string{"NONE", "BOOLEAN", "INT32", "INT64", "FLOAT32", "FLOAT64", "STRING", "BYTE_ARRAY", "ANY", "DECIMAL", "DATE",
	"TIME_OF_DAY", "TIMESTAMP", "UUID"}

func (c CommonType) String() string {
	if int(c) < len(commonNames) {
		return commonNames[c]
	}
	return "NONE"
}

// Unit is the resolution of a CommonTimestamp or CommonTimeOfDay.
type Unit uint8

// The units.
const (
	NoUnit Unit = iota
	Seconds
	Millis
	Micros
	Nanos
)

var unitNames = [...]string{"", "SECONDS", "MILLIS", "MICROS", "NANOS"}

func (u Unit) String() string {
	if int(u) < len(unitNames) {
		return unitNames[u]
	}
	return ""
}

// Common describes a column to consumers of the message's schema.
type Common struct {
	Type             CommonType
	Precision, Scale int  // CommonDecimal
	Unit             Unit // CommonTimestamp, CommonTimeOfDay
	UTC              bool // CommonTimestamp: an instant (datetimeoffset) rather than a wall clock
	Optional         bool
}

// Common is the description of a column of type t.
func (t Type) Common() Common {
	e := lookup(t.Name)
	if e == nil {
		return Common{}
	}
	c := e.common(t)
	c.Optional = t.Nullable
	return c
}

func commonOf(c CommonType) func(Type) Common {
	return func(Type) Common { return Common{Type: c} }
}

func decimalCommon(t Type) Common {
	switch t.Name {
	case "money":
		return Common{Type: CommonDecimal, Precision: 19, Scale: 4}
	case "smallmoney":
		return Common{Type: CommonDecimal, Precision: 10, Scale: 4}
	}
	return Common{Type: CommonDecimal, Precision: t.Precision, Scale: t.Scale}
}

func timestampCommon(t Type) Common { return Common{Type: CommonTimestamp, Unit: commonUnit(t.Scale)} }

func instantCommon(t Type) Common {
	return Common{Type: CommonTimestamp, Unit: commonUnit(t.Scale), UTC: true}
}

func timeCommon(t Type) Common { return Common{Type: CommonTimeOfDay, Unit: commonUnit(t.Scale)} }

// commonUnit never says Seconds (a datetime and a smalldatetime have no scale and fit milliseconds): milliseconds hold the same values, and table formats have no coarser unit.
func commonUnit(digits int) Unit {
	switch {
	case digits <= 3:
		return Millis
	case digits <= 6:
		return Micros
	}
	return Nanos
}
