package catalog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Database is the database of a connection and the server that holds it.
type Database struct {
	Name       string
	ID         int
	Collation  string
	CDCEnabled bool
	// Snapshot tells whether ALLOW_SNAPSHOT_ISOLATION is fully on.
	Snapshot bool
	// ReadCommittedSnapshot tells whether READ COMMITTED reads row versions.
	ReadCommittedSnapshot bool
	// ReadOnly is true for a read-only database and on a secondary.
	ReadOnly      bool
	Compatibility int
	CreateDate    time.Time // server's wall clock
	EngineEdition int       // 5 and 8 are Azure SQL Database and Managed Instance
	Version       string    // "16.0.1000.6"
	Server        string
	// TimeZone is the server's time zone id as Windows names it, or "".
	TimeZone string
	// Offset is the server's offset from UTC at the time of the query.
	Offset time.Duration
}

// Azure tells whether the server is one of Azure's, without an agent of its own.
func (d *Database) Azure() bool { return d.EngineEdition == 5 || d.EngineEdition == 8 }

// Major is the major version of the server, 13 for SQL Server 2016.
func (d *Database) Major() int {
	major, _, _ := strings.Cut(d.Version, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}

// LoadDatabase reads the properties of the connection's database.
func LoadDatabase(ctx context.Context, q Querier) (*Database, error) {
	var d *Database
	err := query(ctx, q, sqlDatabase, "", nil, func(c *cells) {
		d = &Database{
			Name: c.text(), ID: int(c.int()), Collation: c.text(), CDCEnabled: c.bool(),
			Snapshot: c.int() == 1, ReadCommittedSnapshot: c.bool(), ReadOnly: c.bool(),
			Compatibility: int(c.int()), CreateDate: c.clock(), EngineEdition: int(c.int()),
			Version: c.text(), Server: c.text(),
		}
		d.ReadOnly = c.text() == "READ_ONLY" || d.ReadOnly
		d.Offset = time.Duration(c.int()) * time.Minute
	})
	if err != nil {
		return nil, fmt.Errorf("reading database properties: %w", err)
	}
	if d == nil {
		return nil, fmt.Errorf("reading database properties: the server does not list the database of this connection")
	}
	if d.Major() >= 16 || d.Azure() {
		err := query(ctx, q, sqlTimeZone, "", nil, func(c *cells) { d.TimeZone = c.text() })
		// A server that does not know the function after all has said so, and the
		// present offset has to do.
		var answer interface{ SQLErrorNumber() int32 }
		if err != nil && !errors.As(err, &answer) {
			return nil, fmt.Errorf("reading the server's time zone: %w", err)
		}
	}
	return d, nil
}

// Location is the time zone of the server's wall clocks: configured if that is
// given, else the server's own by name, else its present offset, which is wrong
// by an hour for times on the other side of a daylight saving change.
func (d *Database) Location(configured *time.Location) *time.Location {
	if configured != nil {
		return configured
	}
	if loc, ok := zoneLocation(d.TimeZone); ok {
		return loc
	}
	if d.Offset == 0 {
		return time.UTC
	}
	return time.FixedZone("", int(d.Offset/time.Second))
}

// ToUTC reads a wall clock of the server in its time zone.
func ToUTC(wall time.Time, loc *time.Location) time.Time {
	if wall.IsZero() {
		return wall
	}
	return time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), loc).UTC()
}
