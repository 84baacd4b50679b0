package mssqlcdc

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// cdcLog keeps the lines that are logged at INFO and above.
type cdcLog struct {
	mu    sync.Mutex
	lines []string
}

func (*cdcLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *cdcLog) WithAttrs([]slog.Attr) slog.Handler             { return l }
func (l *cdcLog) WithGroup(string) slog.Handler                  { return l }

func (l *cdcLog) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, r.Time.UTC().Format(time.TimeOnly)+" "+r.Level.String()+" "+r.Message)
	return nil
}

// copied is the log as it is now.
func (l *cdcLog) copied() *cdcLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &cdcLog{lines: slices.Clone(l.lines)}
}

// count counts the lines that have a text.
func (l *cdcLog) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// String is the log with repeated lines left out.
func (l *cdcLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(slices.CompactFunc(slices.Clone(l.lines), func(a, b string) bool { return a[len(time.TimeOnly):] == b[len(time.TimeOnly):] }), "\n")
}
