package builtin

import (
	"fmt"
	"strings"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func init() {
	dt2 := value.Type{ID: value.DateTime2, Scale: 7}
	dto := value.Type{ID: value.DateTimeOffset, Scale: 7}
	now := func(t value.Type, f func(time.Time) value.Value) (typeFunc, evalFunc) {
		return always(t), func(env *value.Env, _ []value.Value, _ []value.Type) (value.Value, error) { return f(env.Time()), nil }
	}
	for _, f := range []struct {
		name string
		t    value.Type
		of   func(time.Time) value.Value
	}{
		{"GETDATE", typeDateTime, value.LocalDateTime},
		{"CURRENT_TIMESTAMP", typeDateTime, value.LocalDateTime},
		{"GETUTCDATE", typeDateTime, func(t time.Time) value.Value { return value.LocalDateTime(t.UTC()) }},
		{"SYSDATETIME", dt2, value.LocalDateTime2},
		{"SYSUTCDATETIME", dt2, func(t time.Time) value.Value { return value.LocalDateTime2(t.UTC()) }},
		{"SYSDATETIMEOFFSET", dto, value.FromTime},
	} {
		typ, eval := now(f.t, f.of)
		register(Func{f.name, 0, 0, typ, eval})
	}
	register(
		Func{"DATEADD", 3, 3, dateAddType, strict(dateAdd)},
		Func{"DATEDIFF", 3, 3, always(typeInt), strict(dateDiff)},
		Func{"DATEDIFF_BIG", 3, 3, always(typeBigInt), strict(dateDiffBig)},
		Func{"DATETRUNC", 2, 2, dateTruncType, strict(dateTrunc)},
		Func{"DATEPART", 2, 2, always(typeInt), strict(datePart)},
		Func{"DATENAME", 2, 2, always(nvarchar(30)), strict(dateName)},
		Func{"YEAR", 1, 1, always(typeInt), partOf("year")},
		Func{"MONTH", 1, 1, always(typeInt), partOf("month")},
		Func{"DAY", 1, 1, always(typeInt), partOf("day")},
		Func{"EOMONTH", 1, 2, always(value.Type{ID: value.Date}), endOfMonth},
		Func{"ISDATE", 1, 1, always(typeInt), isDate},
	)
}

// parts maps the names and abbreviations of the date parts to their names.
var parts = map[string]string{
	"year": "year", "yy": "year", "yyyy": "year", "quarter": "quarter", "qq": "quarter", "q": "quarter", "month": "month", "mm": "month", "m": "month",
	"dayofyear": "dayofyear", "dy": "dayofyear", "y": "dayofyear", "day": "day", "dd": "day", "d": "day", "week": "week", "wk": "week", "ww": "week",
	"weekday": "weekday", "dw": "weekday", "w": "weekday", "hour": "hour", "hh": "hour", "minute": "minute", "mi": "minute", "n": "minute",
	"second": "second", "ss": "second", "s": "second", "millisecond": "millisecond", "ms": "millisecond", "microsecond": "microsecond", "mcs": "microsecond",
	"nanosecond": "nanosecond", "ns": "nanosecond", "tzoffset": "tzoffset", "tz": "tzoffset", "iso_week": "iso_week", "isowk": "iso_week", "isoww": "iso_week",
}

// partName reads the first argument of a date function. Error 155.
func partName(v value.Value, function string) (string, error) {
	p, ok := parts[strings.ToLower(v.Str())]
	if !ok {
		return "", sqlerr.New(155, v.Str(), function)
	}
	return p, nil
}

// dateArgument converts an argument of DATEADD, DATEPART and the like to a date or time type; texts and numbers become datetime
// or, texts that need it, datetimeoffset.
func dateArgument(env *value.Env, v value.Value, t value.Type) (value.Value, value.Type, error) {
	if t.IsDateTime() {
		return v, t, nil
	}
	if t.ID == value.Variant {
		inner, it := v.Variant()
		return dateArgument(env, inner, it)
	}
	if t.IsChar() {
		wide := value.Type{ID: value.DateTimeOffset, Scale: 7}
		out, err := value.Convert(env, v, t, wide, 0)
		return out, wide, err
	}
	out, err := value.Convert(env, v, t, typeDateTime, 0)
	return out, typeDateTime, err
}

func dateAddType(args []value.Type) (value.Type, error) {
	if args[2].IsDateTime() {
		return args[2], nil
	}
	return typeDateTime, nil
}

// Units of the parts of a day in ticks of 100 ns.
const (
	ticksPerSecond = 10_000_000
	ticksPerDay    = 86400 * ticksPerSecond
)

func unitTicks(part string) int64 {
	switch part {
	case "hour":
		return 3600 * ticksPerSecond
	case "minute":
		return 60 * ticksPerSecond
	case "second":
		return ticksPerSecond
	case "millisecond":
		return 10_000
	case "microsecond":
		return 10
	}
	return 0
}

// dateAdd adds n date parts. Errors: 517 overflow, 9806 and 9810 for a part that the function or the type lacks.
func dateAdd(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	part, err := partName(args[0], "dateadd")
	if err != nil {
		return value.Value{}, err
	}
	n, err := integer(env, args[1], types[1])
	if err != nil {
		return value.Value{}, err
	}
	t, _ := dateAddType(types)
	v, err := value.Convert(env, args[2], types[2], t, 0)
	if err != nil {
		return value.Value{}, err
	}
	if part == "tzoffset" || part == "iso_week" {
		return value.Value{}, sqlerr.New(9806, part, "dateadd")
	}
	clockPart := unitTicks(part) != 0 || part == "nanosecond"
	fine := part == "microsecond" || part == "nanosecond"
	if clockPart && t.ID == value.Date || !clockPart && t.ID == value.Time || fine && (t.ID == value.DateTime || t.ID == value.SmallDateTime) {
		return value.Value{}, sqlerr.New(9810, part, "dateadd", t.ID.String())
	}
	if n > 1<<31-1 || n < -1<<31 {
		return value.Value{}, sqlerr.New(8115, "expression", "int")
	}
	out, ok := value.AddToDate(v, t, part, n)
	if !ok {
		return value.Value{}, sqlerr.New(517, t.ID.String())
	}
	return out, nil
}

func dateDiff(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	n, err := difference(env, args, types, "datediff")
	if err != nil {
		return value.Value{}, err
	}
	if n > 1<<31-1 || n < -1<<31 {
		return value.Value{}, sqlerr.New(535)
	}
	return value.NewInt(value.Int, n), nil
}

func dateDiffBig(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	n, err := difference(env, args, types, "datediff_big")
	if err != nil {
		return value.Value{}, err
	}
	return value.NewInt(value.BigInt, n), nil
}

// difference counts the boundaries of a date part between two dates, in UTC for datetimeoffset. DATEFIRST does not count: weeks begin on Sunday.
func difference(env *value.Env, args []value.Value, types []value.Type, function string) (int64, error) {
	part, err := partName(args[0], function)
	if err != nil {
		return 0, err
	}
	var days [2]int64
	var ticks [2]int64
	for i := range days {
		v, t, err := dateArgument(env, args[i+1], types[i+1])
		if err != nil {
			return 0, err
		}
		d, k := value.DayAndTicks(v, t)
		days[i], ticks[i] = int64(d), k
	}
	y0, m0, _ := value.CivilOf(int32(days[0]))
	y1, m1, _ := value.CivilOf(int32(days[1]))
	switch part {
	case "year":
		return int64(y1 - y0), nil
	case "quarter":
		return int64((y1-y0)*4 + (m1-1)/3 - (m0-1)/3), nil
	case "month":
		return int64((y1-y0)*12 + m1 - m0), nil
	case "day", "dayofyear", "weekday":
		return days[1] - days[0], nil
	case "week":
		return (days[1]+1)/7 - (days[0]+1)/7, nil // day 0 was a Monday
	case "tzoffset", "iso_week":
		return 0, sqlerr.New(9806, part, function)
	case "nanosecond":
		d := days[1] - days[0]
		if d > 106751 || d < -106751 {
			return 0, sqlerr.New(535)
		}
		return (d*ticksPerDay + ticks[1] - ticks[0]) * 100, nil
	}
	u := unitTicks(part)
	return (days[1]-days[0])*(ticksPerDay/u) + ticks[1]/u - ticks[0]/u, nil
}

func datePart(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	part, err := partName(args[0], "datepart")
	if err != nil {
		return value.Value{}, err
	}
	n, err := partValue(env, part, args[1], types[1], "datepart")
	return value.NewInt(value.Int, n), err
}

func partOf(part string) evalFunc {
	return strict(func(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
		n, err := partValue(env, part, args[0], types[0], part)
		return value.NewInt(value.Int, n), err
	})
}

// partValue computes one part of a date. Error 9810: the type has no such part.
func partValue(env *value.Env, part string, arg value.Value, at value.Type, function string) (int64, error) {
	v, t, err := dateArgument(env, arg, at)
	if err != nil {
		return 0, err
	}
	days, ticks := value.LocalDayAndTicks(v, t)
	y, m, d := value.CivilOf(days)
	bad := sqlerr.New(9810, part, function, t.ID.String())
	if t.ID == value.Time {
		switch part {
		case "year", "quarter", "month", "day", "dayofyear", "week", "weekday", "iso_week", "tzoffset":
			return 0, bad
		}
	}
	if t.ID == value.Date && (unitTicks(part) != 0 || part == "nanosecond") {
		return 0, bad
	}
	sec := ticks / ticksPerSecond
	switch part {
	case "year":
		return int64(y), nil
	case "quarter":
		return int64((m + 2) / 3), nil
	case "month":
		return int64(m), nil
	case "day":
		return int64(d), nil
	case "dayofyear":
		return int64(days - value.DaysOf(y, 1, 1) + 1), nil
	case "weekday":
		return weekday(days, env.FirstDay()), nil
	case "week":
		jan1 := value.DaysOf(y, 1, 1)
		return (int64(days-jan1)+weekday(jan1, env.FirstDay())-1)/7 + 1, nil
	case "iso_week":
		_, w := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).ISOWeek()
		return int64(w), nil
	case "hour":
		return sec / 3600, nil
	case "minute":
		return sec / 60 % 60, nil
	case "second":
		return sec % 60, nil
	case "millisecond":
		if t.ID == value.DateTime { // a third of a hundredth shows as 3 or 7
			ticks += 5000
		}
		return ticks % ticksPerSecond / 10_000, nil
	case "microsecond":
		return ticks % ticksPerSecond / 10, nil
	case "nanosecond":
		return ticks % ticksPerSecond * 100, nil
	}
	if t.ID != value.DateTimeOffset && t.ID != value.DateTime2 {
		return 0, bad
	}
	return int64(v.OffsetMinutes()), nil
}

// weekday counts from the first day of the week, 1 to 7.
func weekday(days int32, first int) int64 {
	iso := int64(days)%7 + 1 // 1 Monday: day 0 was one
	return (iso-int64(first)+7)%7 + 1
}

var dayNames = [...]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}

func dateName(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	part, err := partName(args[0], "datename")
	if err != nil {
		return value.Value{}, err
	}
	n, err := partValue(env, part, args[1], types[1], "datename")
	if err != nil {
		return value.Value{}, err
	}
	s := fmt.Sprint(n)
	switch part {
	case "month":
		s = value.MonthName(int(n))
	case "weekday":
		s = dayNames[(int(n)+env.FirstDay()-2)%7]
	case "tzoffset":
		sign := '+'
		if n < 0 {
			sign, n = '-', -n
		}
		s = fmt.Sprintf("%c%02d:%02d", sign, n/60, n%60)
	}
	return value.NewNVarChar(s), nil
}

// endOfMonth gives the last day of the month, some months later.
func endOfMonth(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	if args[0].IsNull() {
		return value.Value{}, nil
	}
	d, err := value.Convert(env, args[0], types[0], value.Type{ID: value.Date}, 0)
	if err != nil {
		return value.Value{}, err
	}
	months := int64(0)
	if len(args) > 1 && !args[1].IsNull() {
		if months, err = integer(env, args[1], types[1]); err != nil {
			return value.Value{}, err
		}
	}
	y, m, _ := value.CivilOf(d.Days())
	at := int64(y)*12 + int64(m) - 1 + months
	if at < 12 || at >= 120000 {
		return value.Value{}, sqlerr.New(517, "date")
	}
	y, m = int(at/12), int(at%12)+1
	return value.NewDate(value.DaysOf(y, m, value.DaysIn(y, m))), nil
}

// isDate says whether a text is a datetime.
func isDate(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	ok := false
	switch {
	case args[0].IsNull():
	case types[0].ID == value.DateTime || types[0].ID == value.SmallDateTime:
		ok = true
	case types[0].IsChar() && strings.TrimSpace(args[0].Str()) != "":
		_, err := value.Convert(env, args[0], types[0], typeDateTime, 0)
		ok = err == nil
	}
	n := int64(0)
	if ok {
		n = 1
	}
	return value.NewInt(value.Int, n), nil
}

func dateTruncType(args []value.Type) (value.Type, error) {
	if args[1].IsDateTime() {
		return args[1], nil
	}
	return value.Type{ID: value.DateTime2, Scale: 7}, nil
}

// dateTrunc is DATETRUNC: the parts that have begun since a day at which all of them began.
func dateTrunc(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	part, err := partName(args[0], "datetrunc")
	if err != nil {
		return value.Value{}, err
	}
	t, _ := dateTruncType(types)
	day := "19000101"
	switch part {
	case "week":
		day = "18991231"
	case "iso_week":
		part = "week"
	case "weekday", "tzoffset", "nanosecond":
		return value.Value{}, sqlerr.New(9810, part, "datetrunc", t.ID.String())
	}
	base, err := value.Convert(env, value.NewVarChar(day), varchar(8), t, 0)
	if err != nil {
		return value.Value{}, err
	}
	v, err := value.Convert(env, args[1], types[1], t, 0)
	if err != nil {
		return value.Value{}, err
	}
	n, err := dateDiffBig(env, []value.Value{value.NewNVarChar(part), base, v}, []value.Type{types[0], t, t})
	if err != nil {
		return value.Value{}, err
	}
	out, ok := value.AddToDate(base, t, part, n.Int())
	if !ok {
		return value.Value{}, sqlerr.New(517, t.ID.String())
	}
	return out, nil
}
