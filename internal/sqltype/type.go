package sqltype

import (
	"fmt"
	"strconv"
	"strings"
)

// Max is the Length of the (max) types, of text, ntext, image, xml and json.
const Max = -1

// CLR is the Name of user-defined CLR types; hierarchyid, geometry and geography keep their own names.
const CLR = "clr"

// Type is the type of a column: the name of the base type and its parameters, as sys.columns has them.
type Type struct {
	Name      string // lower case: "nvarchar", "datetime2"; rowversion is never called timestamp
	Length    int    // bytes, so nvarchar(10) has 20; Max; 0 where the type has none
	Precision int    // decimal, numeric
	Scale     int    // decimal, numeric, time, datetime2, datetimeoffset
	Collation string // char, varchar, text, nchar, nvarchar, ntext; "" = not known
	Nullable  bool
}

// FromCatalog makes a Type from a row of sys.columns. The names are those of sys.types: typeName of the column's user_type_id,
// baseTypeName of its system_type_id, which differ for alias types and is empty for CLR types. The numbers are max_length,
// precision and scale as the catalog has them.
func FromCatalog(typeName, baseTypeName string, maxLength, precision, scale int, collation string) (Type, error) {
	e := lookup(baseTypeName)
	if e == nil {
		e = lookup(typeName)
	}
	if e == nil && baseTypeName == "" && typeName != "" {
		e = lookup(CLR)
	}
	if e == nil {
		return Type{}, fmt.Errorf("mapping type %s (base type %q): no rule for this type", typeName, baseTypeName)
	}
	t := Type{Name: e.name}
	switch e.params {
	case lengthParam, unitsParam:
		t.Length = maxLength
	case precisionScaleParams:
		t.Precision, t.Scale = precision, scale
	case scaleParam:
		t.Scale = scale
	case maxOnly:
		t.Length = Max
	}
	if e.collated {
		t.Collation = collation
	}
	return t, t.Validate()
}

// Parse reads a declaration as String writes it. The collation and the nullability are not part of it.
func Parse(decl string) (Type, error) {
	name, args, hasArgs := strings.Cut(decl, "(")
	e := lookup(strings.TrimSpace(name))
	if e == nil {
		return Type{}, fmt.Errorf("parsing type %q: no rule for this type", decl)
	}
	t := Type{Name: e.name}
	if e.params == maxOnly {
		t.Length = Max
	}
	if !hasArgs {
		if e.params != noParams && e.params != maxOnly {
			return Type{}, fmt.Errorf("parsing type %q: its parameters are missing", decl)
		}
		return t, nil
	}
	args, ok := strings.CutSuffix(args, ")")
	if !ok {
		return Type{}, fmt.Errorf("parsing type %q: no closing parenthesis", decl)
	}
	var nums []int
	for a := range strings.SplitSeq(args, ",") {
		a = strings.TrimSpace(a)
		n, err := strconv.Atoi(a)
		if strings.EqualFold(a, "max") {
			n, err = Max, nil
		}
		if err != nil {
			return Type{}, fmt.Errorf("parsing type %q: %w", decl, err)
		}
		nums = append(nums, n)
	}
	switch {
	case e.params == lengthParam && len(nums) == 1:
		t.Length = nums[0]
	case e.params == unitsParam && len(nums) == 1:
		t.Length = nums[0]
		if t.Length != Max {
			t.Length *= 2
		}
	case e.params == precisionScaleParams && len(nums) == 2:
		t.Precision, t.Scale = nums[0], nums[1]
	case e.params == scaleParam && len(nums) == 1:
		t.Scale = nums[0]
	default:
		return Type{}, fmt.Errorf("parsing type %q: wrong number of parameters", decl)
	}
	return t, t.Validate()
}

// Validate says what is wrong with t, nil for a type that the table has and whose parameters the server would accept.
func (t Type) Validate() error {
	e := lookup(t.Name)
	if e == nil || e.name != t.Name {
		return fmt.Errorf("checking type %q: no rule for this type", t.Name)
	}
	bad := func(what string, v int) error {
		return fmt.Errorf("checking type %s: %s %d is out of range", t.Name, what, v)
	}
	switch e.params {
	case lengthParam, unitsParam:
		if t.Length == Max && e.maxAllowed {
			return nil
		}
		if t.Length < 1 || t.Length > 8000 {
			return bad("length", t.Length)
		}
		if e.params == unitsParam && t.Length%2 != 0 {
			return bad("odd length", t.Length)
		}
	case precisionScaleParams:
		if t.Precision < 1 || t.Precision > 38 {
			return bad("precision", t.Precision)
		}
		if t.Scale < 0 || t.Scale > t.Precision {
			return bad("scale", t.Scale)
		}
	case scaleParam:
		if t.Scale < 0 || t.Scale > 7 {
			return bad("scale", t.Scale)
		}
	}
	return nil
}

// String is the declaration of t in T-SQL, without collation and nullability: "nvarchar(160)", "decimal(10,2)".
func (t Type) String() string {
	e := lookup(t.Name)
	if e == nil {
		return t.Name
	}
	length := func(n int) string {
		if t.Length == Max {
			return t.Name + "(max)"
		}
		return t.Name + "(" + strconv.Itoa(n) + ")"
	}
	switch e.params {
	case lengthParam:
		return length(t.Length)
	case unitsParam:
		return length(t.Length / 2)
	case precisionScaleParams:
		return t.Name + "(" + strconv.Itoa(t.Precision) + "," + strconv.Itoa(t.Scale) + ")"
	case scaleParam:
		return t.Name + "(" + strconv.Itoa(t.Scale) + ")"
	}
	return t.Name
}

// ColumnDeclaration declares a column of type t in a temporary table: with its collation, which would be that of tempdb otherwise, and
// without an alias, which tempdb does not have.
func (t Type) ColumnDeclaration() string {
	text := t.String()
	if t.Name == "sysname" {
		text = "nvarchar(128)"
	}
	if t.Collation != "" {
		text += " COLLATE " + t.Collation
	}
	return text
}

// Kind is the inside form of t; Unknown for a type that the table does not have.
func (t Type) Kind() Kind {
	if e := lookup(t.Name); e != nil {
		return e.kind
	}
	return Unknown
}

// Digits is the number of digits after the decimal point in the message form of a decimal or a time.
func (t Type) Digits() int {
	if e := lookup(t.Name); e != nil && e.digits >= 0 {
		return e.digits
	}
	return t.Scale
}

// IsLOB reports whether the server may leave the value of an unchanged column of this type out of its log, so that NULL in a
// change table can mean "unchanged": the (max) types, text, ntext, image, xml, json, and CLR types that can exceed 8,000 bytes.
func (t Type) IsLOB() bool {
	e := lookup(t.Name)
	return e != nil && (t.Length == Max || e.lob)
}

// LossRule says in a sentence what can be lost on the way to the message and to exported Arrow; "" where nothing can.
func (t Type) LossRule() string {
	if e := lookup(t.Name); e != nil {
		return e.loss
	}
	return ""
}
