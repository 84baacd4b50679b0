package exec

import (
	"strings"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// windowsZones maps the names that SQL Server uses to those of the time zone database, for the zones that tests use.
var windowsZones = map[string]string{
	"utc": "UTC", "w. europe standard time": "Europe/Berlin", "romance standard time": "Europe/Paris", "gmt standard time": "Europe/London",
	"central european standard time": "Europe/Warsaw", "turkey standard time": "Europe/Istanbul", "eastern standard time": "America/New_York",
	"central standard time": "America/Chicago", "mountain standard time": "America/Denver", "pacific standard time": "America/Los_Angeles",
	"tokyo standard time": "Asia/Tokyo", "china standard time": "Asia/Shanghai", "india standard time": "Asia/Kolkata",
	"aus eastern standard time": "Australia/Sydney", "russian standard time": "Europe/Moscow",
}

// atTimeZone compiles e AT TIME ZONE name: a time without zone becomes one of that zone, a datetimeoffset is moved to it.
func (sc *scope) atTimeZone(x *ast.AtTimeZoneCall) (*expr, error) {
	e, err := sc.scalar(x.DateValue)
	if err != nil {
		return nil, err
	}
	zone, err := sc.scalar(x.TimeZone)
	if err != nil {
		return nil, err
	}
	if !isString(zone.typ) {
		return nil, sqlerr.New(8116, zone.typ.String(), 2, "AT TIME ZONE")
	}
	scale := uint8(3)
	moves := e.typ.ID == value.DateTimeOffset
	switch e.typ.ID {
	case value.DateTime2, value.DateTimeOffset:
		scale = e.typ.Scale
	case value.DateTime:
	case value.SmallDateTime:
		scale = 0
	default:
		return nil, sqlerr.New(8116, e.typ.String(), 1, "AT TIME ZONE")
	}
	t := value.Type{ID: value.DateTimeOffset, Scale: scale}
	in := value.Type{ID: value.DateTime2, Scale: 7}
	if moves {
		in = value.Type{ID: value.DateTimeOffset, Scale: 7}
	}
	e = sc.c.coerce(e, in)
	return &expr{typ: t, nullable: true, eval: func(f *frame) (value.Value, error) {
		v, err := e.eval(f)
		if err != nil || v.IsNull() {
			return value.Value{}, err
		}
		z, err := zone.eval(f)
		if err != nil || z.IsNull() {
			return value.Value{}, err
		}
		loc, err := location(z.Str())
		if err != nil {
			return value.Value{}, err
		}
		return inZone(v, loc, moves), nil
	}}, nil
}

func location(name string) (*time.Location, error) {
	if n, ok := windowsZones[strings.ToLower(name)]; ok {
		if loc, err := time.LoadLocation(n); err == nil {
			return loc, nil
		}
	}
	return nil, sqlerr.New(9820, name)
}

const ticksPerDay = 24 * 3600 * 10_000_000

// inZone gives a datetime2 the offset of a zone, or moves a datetimeoffset there.
func inZone(v value.Value, loc *time.Location, moves bool) value.Value {
	days, ticks := int64(v.Days()), v.Ticks()
	base := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	wall := base.AddDate(0, 0, int(days)).Add(time.Duration(ticks) * 100)
	if moves {
		_, off := wall.In(loc).Zone()
		return value.NewDateTimeOffset(v.Days(), ticks, off/60)
	}
	local := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), loc)
	_, off := local.Zone()
	ticks -= int64(off) * 10_000_000
	for ticks < 0 {
		ticks += ticksPerDay
		days--
	}
	for ticks >= ticksPerDay {
		ticks -= ticksPerDay
		days++
	}
	return value.NewDateTimeOffset(int32(days), ticks, off/60)
}
