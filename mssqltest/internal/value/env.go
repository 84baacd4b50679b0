package value

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/collate"
)

// Env is what conversions and functions take from the session. A nil *Env stands for the zero one.
type Env struct {
	Now         func() time.Time   // nil: time.Now
	Location    *time.Location     // the server's time zone; nil: UTC
	DateFirst   int                // SET DATEFIRST, 1 Monday … 7 Sunday; 0: 7
	DateFormat  string             // SET DATEFORMAT: mdy, dmy, ymd, ydm, myd, dym; "": mdy
	DBCollation *collate.Collation // of literals and variables; nil: the default one
	Rand        func() float64     // RAND() without a seed; nil: a random source
	NewID       func() [16]byte    // NEWID(); nil: random
	Table       string             // the target of Assign, for error 2628
	Column      string
}

// Time returns the current time in the server's time zone.
func (e *Env) Time() time.Time {
	now := time.Now
	if e != nil && e.Now != nil {
		now = e.Now
	}
	loc := time.UTC
	if e != nil && e.Location != nil {
		loc = e.Location
	}
	return now().In(loc)
}

// FirstDay returns SET DATEFIRST, 7 if it is not set.
func (e *Env) FirstDay() int {
	if e == nil || e.DateFirst < 1 || e.DateFirst > 7 {
		return 7
	}
	return e.DateFirst
}

// Collation returns the collation of the database.
func (e *Env) Collation() *collate.Collation {
	if e == nil || e.DBCollation == nil {
		return collate.Default()
	}
	return e.DBCollation
}

// Random returns a number in [0, 1).
func (e *Env) Random() float64 {
	if e != nil && e.Rand != nil {
		return e.Rand()
	}
	return mathrand.Float64()
}

// GUID returns a new random identifier.
func (e *Env) GUID() [16]byte {
	if e != nil && e.NewID != nil {
		return e.NewID()
	}
	var g [16]byte
	rand.Read(g[:])
	g[6] = g[6]&0x0f | 0x40
	g[8] = g[8]&0x3f | 0x80
	return g
}

func (e *Env) dateFormat() string {
	if e == nil || e.DateFormat == "" {
		return "mdy"
	}
	return e.DateFormat
}
