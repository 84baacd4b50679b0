package verify

import (
	"errors"
	"slices"
	"strings"
	"time"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// Defaults of a Config.
const (
	DefaultChunk  = 10_000
	DefaultSettle = 30 * time.Second
	DefaultList   = 100
)

// Config says what to compare and how gently.
type Config struct {
	Source, Target session.Config
	Tables         []Pair
	// Columns are compared alone, besides the key; none means all. Skip are left out. Names of the source, without regard to case.
	Columns, Skip []string
	// Lossy allows numbers and times to be rounded to what the target's type holds.
	Lossy bool
	// Chunk is how many rows of the source are compared at a time.
	Chunk int
	// Pause is made after each page that is read.
	Pause time.Duration
	// Settle is how long a row of the source must have stood still before the target's counts as different.
	Settle time.Duration
	// List bounds the rows of a table that are listed; others are counted.
	List int
	// State is the file in which progress is kept, "" for none.
	State string
}

// Pair is a table of the source and one of the target.
type Pair struct{ Source, Target catalog.Name }

func (c *Config) withDefaults() (*Config, error) {
	out := *c
	if out.Chunk == 0 {
		out.Chunk = DefaultChunk
	}
	var wrong []error
	switch {
	case len(out.Tables) == 0:
		wrong = append(wrong, errors.New("there is no table to compare"))
	case out.Chunk < 1 || out.List < 0 || out.Pause < 0 || out.Settle < 0:
		wrong = append(wrong, errors.New("chunk must be at least 1, and list, pause and settle not below 0"))
	}
	wrong = append(wrong, out.Source.Validate(), out.Target.Validate())
	return &out, errors.Join(wrong...)
}

// wants tells whether a column is compared, unless it is of the key.
func (c *Config) wants(name string) bool {
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(n string) bool { return strings.EqualFold(n, name) })
	}
	return (len(c.Columns) == 0 || in(c.Columns)) && !in(c.Skip)
}
