package mssqlcdc

import (
	"strings"
	"sync"
	"testing"

	"example.com/mssqlcdc/internal/progress"
)

// screenText is a terminal that is only text.
type screenText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screenText) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screenText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// A terminal gets a bar of a snapshot in place of lines in the log; anything else gets the lines, and no control characters.
func TestSnapshotProgressOnATerminal(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		t.Run(map[bool]string{true: "terminal", false: "no terminal"}[terminal], func(t *testing.T) {
			var out screenText
			defer progress.Install(progress.For(&out, terminal))()
			onSnapshot(t, 40, func(t *testing.T, r *cdcRig) {
				run := r.start("stream_snapshot: true\nbatching: {count: 5}")
				run.take(40)
				run.until("complete", func() bool { return run.log.count("the snapshot of table dbo.k is complete: 40 rows") == 1 })
				lines := run.log.count("rows") - 1
				switch text := out.String(); {
				case terminal && (!strings.Contains(text, "dbo.k [") || !strings.Contains(text, "dbo.k: 40 rows in") || lines > 0):
					t.Errorf("the terminal shows %q, and the log has %d lines of progress", text, lines)
				case !terminal && (text != "" || lines < 5):
					t.Errorf("what is no terminal got %q, and the log has %d lines of progress", text, lines)
				}
			})
		})
	}
}
