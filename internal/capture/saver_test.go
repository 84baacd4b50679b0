package capture

import (
	"testing"

	"example.com/mssqlcdc/checkpoint"
)

// The handover of a snapshot is kept only if it can take the place of what is stored: else a server that lags has given it, and
// waiting for it would never end.
func TestWhatReplacesAPosition(t *testing.T) {
	at := func(lsn byte, id string, rows int64) checkpoint.Position {
		p := checkpoint.Position{LSN: checkpoint.LSN{9: lsn}, Done: true}
		if id != "" {
			p.Snapshot = &checkpoint.Snapshot{ID: id, Rows: rows}
		}
		return p
	}
	inside := checkpoint.Position{LSN: checkpoint.LSN{9: 5}, CommandID: 1, Operation: 2}
	for _, tt := range []struct {
		name   string
		p, old checkpoint.Position
		want   bool
	}{
		{"a first handover", at(5, "a", 0), checkpoint.Position{}, true},
		{"a handover above the stream", at(6, "a", 0), at(5, "", 0), true},
		{"a handover at the stream", at(5, "a", 0), at(5, "", 0), false},
		{"a handover below the stream", at(4, "a", 0), at(5, "", 0), false},
		{"a handover at a transaction that was begun", at(5, "a", 0), inside, true},
		{"another snapshot at the same LSN", at(5, "b", 0), at(5, "a", 70), true},
		{"another snapshot at an older LSN", at(4, "b", 0), at(5, "a", 70), false},
		{"progress", at(5, "a", 71), at(5, "a", 70), true},
		{"going back", at(5, "a", 69), at(5, "a", 70), false},
		{"the end of a snapshot", at(5, "", 0), at(5, "a", 70), true},
		{"the same", at(5, "", 0), at(5, "", 0), false},
	} {
		if got := replaces(tt.p, tt.old); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}
