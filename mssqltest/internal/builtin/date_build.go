package builtin

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func init() {
	register(
		Func{"DATEFROMPARTS", 3, 3, always(value.Type{ID: value.Date}), strict(dateFromParts)},
		Func{"DATETIMEFROMPARTS", 7, 7, always(typeDateTime), strict(dateTimeFromParts)},
		Func{"SMALLDATETIMEFROMPARTS", 5, 5, always(value.Type{ID: value.SmallDateTime}), strict(smallDateTimeFromParts)},
		Func{"DATETIME2FROMPARTS", 8, 8, always(value.Type{ID: value.DateTime2, Scale: 7}), strict(dateTime2FromParts)},
		Func{"TIMEFROMPARTS", 5, 5, always(value.Type{ID: value.Time, Scale: 7}), strict(timeFromParts)},
		Func{"DATETIMEOFFSETFROMPARTS", 10, 10, always(value.Type{ID: value.DateTimeOffset, Scale: 7}), strict(dateTimeOffsetFromParts)},
		Func{"SWITCHOFFSET", 2, 2, offsetType, strict(switchOffset)},
		Func{"TODATETIMEOFFSET", 2, 2, offsetType, strict(toDateTimeOffset)},
	)
}

// integers converts all arguments.
func integers(env *value.Env, args []value.Value, types []value.Type) ([]int64, error) {
	out := make([]int64, len(args))
	for i := range args {
		var err error
		if out[i], err = integer(env, args[i], types[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// badParts is error 289.
func badParts(t string) error { return sqlerr.New(289, t) }

// dayOf checks a date.
func dayOf(n []int64) (int32, bool) {
	if n[0] < 1 || n[0] > 9999 || n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > int64(value.DaysIn(int(n[0]), int(n[1]))) {
		return 0, false
	}
	return value.DaysOf(int(n[0]), int(n[1]), int(n[2])), true
}

// ticksOf checks hour, minute, second and a fraction of so many digits.
func ticksOf(n []int64, fraction, digits int64) (int64, bool) {
	if n[0] < 0 || n[0] > 23 || n[1] < 0 || n[1] > 59 || n[2] < 0 || n[2] > 59 || digits < 0 || digits > 7 || fraction < 0 {
		return 0, false
	}
	unit := int64(ticksPerSecond)
	for range digits {
		unit /= 10
	}
	if fraction*unit >= ticksPerSecond {
		return 0, false
	}
	return (n[0]*3600+n[1]*60+n[2])*ticksPerSecond + fraction*unit, true
}

func dateFromParts(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	n, err := integers(env, args, types)
	if err != nil {
		return value.Value{}, err
	}
	d, ok := dayOf(n)
	if !ok {
		return value.Value{}, badParts("date")
	}
	return value.NewDate(d), nil
}

func dateTimeFromParts(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	n, err := integers(env, args, types)
	if err != nil {
		return value.Value{}, err
	}
	d, ok := dayOf(n)
	k, ok2 := ticksOf(n[3:6], n[6], 3)
	if !ok || !ok2 || n[0] < 1753 {
		return value.Value{}, badParts("datetime")
	}
	return value.Convert(env, value.NewDateTime2(d, k), value.Type{ID: value.DateTime2, Scale: 7}, typeDateTime, 0)
}

func smallDateTimeFromParts(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	n, err := integers(env, args, types)
	if err != nil {
		return value.Value{}, err
	}
	d, ok := dayOf(n)
	k, ok2 := ticksOf([]int64{n[3], n[4], 0}, 0, 0)
	if !ok || !ok2 {
		return value.Value{}, badParts("smalldatetime")
	}
	return value.Convert(env, value.NewDateTime2(d, k), value.Type{ID: value.DateTime2, Scale: 7}, value.Type{ID: value.SmallDateTime}, 0)
}

func dateTime2FromParts(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	n, err := integers(env, args, types)
	if err != nil {
		return value.Value{}, err
	}
	d, ok := dayOf(n)
	k, ok2 := ticksOf(n[3:6], n[6], n[7])
	if !ok || !ok2 {
		return value.Value{}, badParts("datetime2")
	}
	return value.NewDateTime2(d, k), nil
}

func timeFromParts(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	n, err := integers(env, args, types)
	if err != nil {
		return value.Value{}, err
	}
	k, ok := ticksOf(n[:3], n[3], n[4])
	if !ok {
		return value.Value{}, badParts("time")
	}
	return value.NewTime(k), nil
}

func dateTimeOffsetFromParts(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	n, err := integers(env, args, types)
	if err != nil {
		return value.Value{}, err
	}
	d, ok := dayOf(n)
	k, ok2 := ticksOf(n[3:6], n[6], n[9])
	off := n[7]*60 + n[8]
	if !ok || !ok2 || off < -840 || off > 840 || n[8] < -59 || n[8] > 59 {
		return value.Value{}, badParts("datetimeoffset")
	}
	v, ok := value.AtOffset(value.NewDateTime2(d, k), int(off))
	if !ok {
		return value.Value{}, badParts("datetimeoffset")
	}
	return v, nil
}

func offsetType(args []value.Type) (value.Type, error) {
	t := value.Type{ID: value.DateTimeOffset, Scale: 7}
	switch args[0].ID {
	case value.DateTime2, value.DateTimeOffset, value.Time:
		t.Scale = args[0].Scale
	case value.DateTime:
		t.Scale = 3
	case value.SmallDateTime, value.Date:
		t.Scale = 0
	}
	return t, nil
}

// offset reads minutes or ±hh:mm. Error 9812.
func offset(env *value.Env, v value.Value, t value.Type, function string) (int, error) {
	bad := sqlerr.New(9812, function)
	if !t.IsChar() {
		n, err := integer(env, v, t)
		if err == nil && (n < -840 || n > 840) {
			err = bad
		}
		return int(n), err
	}
	s := strings.TrimSpace(v.Str())
	if len(s) != 6 || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, bad
	}
	n := 0
	for _, i := range []int{1, 2, 4, 5} {
		if s[i] < '0' || s[i] > '9' {
			return 0, bad
		}
		w := map[int]int{1: 600, 2: 60, 4: 10, 5: 1}[i]
		n += int(s[i]-'0') * w
	}
	if s[0] == '-' {
		n = -n
	}
	if n < -840 || n > 840 || s[4] > '5' {
		return 0, bad
	}
	return n, nil
}

// switchOffset keeps the moment and changes the offset.
func switchOffset(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	t, _ := offsetType(types)
	v, err := value.Convert(env, args[0], types[0], t, 0)
	if err != nil {
		return value.Value{}, err
	}
	n, err := offset(env, args[1], types[1], "switchoffset")
	if err != nil {
		return value.Value{}, err
	}
	return value.NewDateTimeOffset(v.Days(), v.Ticks(), n), nil
}

// toDateTimeOffset keeps what the clock shows and gives it an offset.
func toDateTimeOffset(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	t, _ := offsetType(types)
	v, err := value.Convert(env, args[0], types[0], value.Type{ID: value.DateTime2, Scale: t.Scale}, 0)
	if err != nil {
		return value.Value{}, err
	}
	n, err := offset(env, args[1], types[1], "todatetimeoffset")
	if err != nil {
		return value.Value{}, err
	}
	out, ok := value.AtOffset(v, n)
	if !ok {
		return value.Value{}, sqlerr.New(9813, "todatetimeoffset")
	}
	return out, nil
}
