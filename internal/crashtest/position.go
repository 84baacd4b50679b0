//go:build unix

package crashtest

import (
	"encoding/json"
	"strings"
	"testing"
)

// Position is what a store says of a table, read without the code of the stores.
type Position struct {
	LSN      string `json:"lsn"`
	Done     bool   `json:"done"`
	Snapshot *struct {
		ID   string `json:"id"`
		Rows int    `json:"rows"`
	} `json:"snapshot"`
	Signals struct {
		Queue []struct {
			ID   string `json:"id"`
			Rows int    `json:"rows"`
		} `json:"queue"`
	} `json:"signals"`
}

// Positions are the stored positions by Name.stored.
func (l *Lab) Positions() map[string]Position {
	l.t.Helper()
	out := map[string]Position{}
	for table, text := range l.rawPositions() {
		var p Position
		if err := json.Unmarshal(text, &p); err != nil {
			l.t.Fatalf("the position of %s: %v in %s", table, err, text)
		}
		p.LSN = strings.ToLower(p.LSN)
		out[table] = p
	}
	return out
}

// splitPositions takes the positions out of a file.
func splitPositions(t testing.TB, text []byte) map[string][]byte {
	t.Helper()
	var file struct{ Positions map[string]json.RawMessage }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatalf("the stored positions: %v in %s", err, text)
	}
	out := map[string][]byte{}
	for table, p := range file.Positions {
		out[table] = p
	}
	return out
}
