package bulkload

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// Lossy names the changes to values that a load may make where a column cannot
// hold them as they are. What is not named is an error of the row.
type Lossy struct {
	// Text cuts text and binary that are too long, and puts "?" for characters
	// that a code page lacks and U+FFFD for invalid UTF-8.
	Text bool
	// Number rounds, half away from zero: decimals to the scale, floats to decimals,
	// integers and reals. A number that is out of range stays an error.
	Number bool
	// Time rounds to the fraction that a column has (1/300 s for datetime, minutes
	// for smalldatetime), and drops the time of day for date.
	Time bool
	// NaN stores NULL for NaN and the infinities, where the column may be NULL.
	NaN bool
}

// DefaultHints are the hints of a load whose Options name none: with them a load
// checks, fires and stores what an INSERT would.
var DefaultHints = []string{"CHECK_CONSTRAINTS", "FIRE_TRIGGERS", "KEEP_NULLS"}

// Options of a Plan.
type Options struct {
	// Hints are CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS, TABLOCK,
	// ROWS_PER_BATCH = n, KILOBYTES_PER_BATCH = n and ORDER(column [ASC|DESC], …).
	// nil stands for DefaultHints; an empty list for none.
	Hints []string
	Lossy Lossy
}

// ParseHints reads hints as Options has them. Columns of ORDER may be in brackets.
func ParseHints(hints []string) (session.BulkHints, error) {
	var h session.BulkHints
	if hints == nil {
		hints = DefaultHints
	}
	for _, text := range hints {
		if err := parseHint(&h, strings.TrimSpace(text)); err != nil {
			return h, fmt.Errorf("parsing hint %q: %w", text, err)
		}
	}
	return h, nil
}

func parseHint(h *session.BulkHints, text string) error {
	upper := strings.ToUpper(text)
	switch upper {
	case "CHECK_CONSTRAINTS":
		h.CheckConstraints = true
		return nil
	case "FIRE_TRIGGERS":
		h.FireTriggers = true
		return nil
	case "KEEP_NULLS":
		h.KeepNulls = true
		return nil
	case "TABLOCK":
		h.TabLock = true
		return nil
	}
	if name, value, ok := strings.Cut(upper, "="); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
		if err != nil || n < 1 {
			return fmt.Errorf("its number must be a positive integer")
		}
		switch strings.TrimSpace(name) {
		case "ROWS_PER_BATCH":
			h.RowsPerBatch = int(n)
			return nil
		case "KILOBYTES_PER_BATCH":
			h.KilobytesPerBatch = int(n)
			return nil
		}
	}
	if rest, ok := strings.CutPrefix(upper, "ORDER"); ok {
		list := strings.TrimSpace(text[len(text)-len(rest):])
		if len(list) > 2 && list[0] == '(' && list[len(list)-1] == ')' {
			order, err := parseOrder(list[1 : len(list)-1])
			h.Order = order
			return err
		}
	}
	return fmt.Errorf("it is not a hint of INSERT BULK that is known here")
}

// parseOrder reads "a, [b c] DESC".
func parseOrder(list string) (out []string, err error) {
	for rest := list; ; {
		rest = strings.TrimSpace(rest)
		var name string
		if strings.HasPrefix(rest, "[") {
			end := 1
			for ; ; end++ {
				if end >= len(rest) {
					return nil, fmt.Errorf("a bracket is not closed")
				}
				if rest[end] == ']' {
					if end+1 < len(rest) && rest[end+1] == ']' {
						end++
						continue
					}
					break
				}
			}
			name, rest = strings.ReplaceAll(rest[1:end], "]]", "]"), rest[end+1:]
		} else {
			end := strings.IndexAny(rest, " ,")
			if end < 0 {
				end = len(rest)
			}
			name, rest = rest[:end], rest[end:]
		}
		if name == "" {
			return nil, fmt.Errorf("a column has no name")
		}
		direction, tail, more := strings.Cut(rest, ",")
		switch direction = strings.ToUpper(strings.TrimSpace(direction)); direction {
		case "":
			direction = "ASC"
		case "ASC", "DESC":
		default:
			return nil, fmt.Errorf("%q is neither ASC nor DESC", direction)
		}
		out = append(out, catalog.Quote(name)+" "+direction)
		if !more {
			return out, nil
		}
		rest = tail
	}
}
