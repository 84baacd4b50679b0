// Package progress shows on a terminal how far the snapshots of tables have come. The input reports to whatever display was
// installed; our own binary installs one when its stderr is a terminal. Elsewhere there is none, and the log has its lines.
package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	width    = 110                    // of the line; a wider one would break, and not be cleared
	cells    = 20                     // of a bar
	interval = 200 * time.Millisecond // between two drawings

	clearLine = "\r\x1b[K"
)

var installed atomic.Pointer[Display]

// Install makes d the display of this process, nil for none. It returns what takes it away again.
func Install(d *Display) (remove func()) {
	installed.Store(d)
	return func() { installed.CompareAndSwap(d, nil) }
}

// Report tells the display of a table's snapshot. It tells whether there is a display.
func Report(table string, rows, total int64, finished bool) bool {
	d := installed.Load()
	if d == nil {
		return false
	}
	d.report(table, rows, total, finished)
	return true
}

// Display is one line that is drawn again and again: a bar for each table, as many as fit. A table that is finished leaves a line
// of its own.
type Display struct {
	out io.Writer
	now func() time.Time

	mu     sync.Mutex
	tables []*table
	drawn  time.Time
}

// table is a snapshot that is being taken.
type table struct {
	name        string
	rows, total int64
	first       int64 // rows when it was first heard of: a snapshot that goes on has some
	since       time.Time
}

// For gives a display on a terminal, and none for anything else.
func For(out io.Writer, terminal bool) *Display {
	if !terminal {
		return nil
	}
	return &Display{out: out, now: time.Now}
}

func (d *Display) report(name string, rows, total int64, finished bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	at := slices.IndexFunc(d.tables, func(t *table) bool { return t.name == name })
	if at < 0 {
		if finished && rows == 0 {
			return // it was empty: there is nothing to show
		}
		at = len(d.tables)
		d.tables = append(d.tables, &table{name: name, first: rows, since: now})
	}
	t := d.tables[at]
	t.rows, t.total = rows, max(rows, total)
	if finished {
		d.tables = slices.Delete(d.tables, at, at+1)
		took := now.Sub(t.since)
		d.write(fmt.Sprintf("%s%s: %d rows in %s%s\n", clearLine, name, rows, took.Round(time.Second), t.speed(now)))
	}
	if finished || now.Sub(d.drawn) >= interval {
		d.draw(now)
	}
}

// draw writes the line.
func (d *Display) draw(now time.Time) {
	d.drawn = now
	var line strings.Builder
	for i, t := range d.tables {
		text := t.bar(now)
		if i > 0 {
			text = "  " + text
		}
		if more := fmt.Sprintf("  and %d more", len(d.tables)-i); i > 0 && len(line.String())+len(text)+len(more) > width {
			line.WriteString(more)
			break
		}
		line.WriteString(text)
	}
	d.write(clearLine + line.String())
}

// write cannot say that the terminal is gone; the pipeline goes on without it.
func (d *Display) write(text string) { _, _ = io.WriteString(d.out, text) }

// bar is what is shown of a table: the bar, rows done of the estimate, rows a second, time left.
func (t *table) bar(now time.Time) string {
	percent := int64(0)
	if t.total > 0 {
		percent = min(99, 100*t.rows/t.total)
	}
	full := int(percent) * cells / 100
	text := fmt.Sprintf("%s [%s%s] %d%% %d of about %d rows%s", t.name, strings.Repeat("#", full), strings.Repeat(".", cells-full), percent, t.rows, t.total, t.speed(now))
	if rate := t.rate(now); rate > 0 && t.total > t.rows {
		text += ", " + (time.Duration(float64(t.total-t.rows) / rate * float64(time.Second))).Round(time.Second).String() + " left"
	}
	return text
}

func (t *table) rate(now time.Time) float64 {
	seconds := now.Sub(t.since).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(t.rows-t.first) / seconds
}

func (t *table) speed(now time.Time) string {
	if rate := t.rate(now); rate > 0 {
		return fmt.Sprintf(", %.0f rows/s", rate)
	}
	return ""
}
