package signal

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"example.com/mssqlcdc/cmd/mssqlcdc/pipeline"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// row is one of the signal table.
type row struct{ id, kind, data string }

// maxData is the length of the column data in Debezium's shape of the table.
const maxData = 2048

// kinds are the types of signals by the words of the command line.
var kinds = map[string]string{
	"execute-snapshot": "execute-snapshot", "stop-snapshot": "stop-snapshot", "pause-snapshot": "pause-snapshot", "resume-snapshot": "resume-snapshot",
	"execute": "execute-snapshot", "stop": "stop-snapshot", "pause": "pause-snapshot", "resume": "resume-snapshot",
}

// body is the JSON of a signal, with Debezium's keys.
type body struct {
	Collections []string    `json:"data-collections,omitempty"`
	Type        string      `json:"type"`
	Conditions  []condition `json:"additional-conditions,omitempty"`
}

type condition struct {
	Collection string `json:"data-collection"`
	Filter     string `json:"filter"`
}

// newRow makes the row of what the command line says, under a fresh id.
func newRow(words []string, where string) (row, error) {
	if len(words) == 0 {
		return row{}, errors.New("say what to do: execute-snapshot, stop, pause, or resume")
	}
	kind, ok := kinds[words[0]]
	execute := kind == "execute-snapshot"
	tables := words[1:]
	switch {
	case !ok:
		return row{}, fmt.Errorf("%q is none of execute-snapshot, stop, pause and resume", words[0])
	case execute && len(tables) == 0:
		return row{}, errors.New("name the tables to read after execute-snapshot")
	case !execute && where != "":
		return row{}, errors.New("--where goes with execute-snapshot")
	case !execute && kind != "stop-snapshot" && len(tables) > 0:
		return row{}, fmt.Errorf("%s is for all tables: name none", words[0])
	}
	b := body{Type: "incremental"}
	for _, text := range tables {
		n, err := catalog.ParseName(text)
		if err != nil {
			return row{}, err
		}
		b.Collections = append(b.Collections, n.String())
		if where != "" {
			b.Conditions = append(b.Conditions, condition{n.String(), where})
		}
	}
	text, err := json.Marshal(b)
	if err != nil {
		return row{}, err
	}
	r := row{id: newID(), kind: kind, data: ascii(string(text))}
	if len(r.data) > maxData {
		return row{}, fmt.Errorf("the signal has %d characters, and the table takes %d: name fewer tables, or a shorter condition", len(r.data), maxData)
	}
	return r, nil
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// ascii escapes what a varchar column may have no character for. In JSON every such character is within a string.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// script is the T-SQL that writes the row.
func (r row) script(table catalog.Name) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	return "INSERT INTO " + table.Quoted() + " ([id], [type], [data]) VALUES (" + quote(r.id) + ", " + quote(r.kind) + ", " + quote(r.data) + ");"
}

// write writes the row.
func write(ctx context.Context, src pipeline.Source, r row) error {
	conn, err := session.Open(ctx, src.Session)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "INSERT INTO "+src.Signals.Quoted()+" ([id], [type], [data]) VALUES (@id, @type, @data)",
		"@id varchar(42), @type varchar(32), @data varchar(2048)", r.id, r.kind, r.data)
	_ = conn.Close() // the row is there or not
	switch {
	case session.IsDenied(err):
		return fmt.Errorf("writing into %s: %w; GRANT INSERT ON %s to the login", src.Signals, err, src.Signals.Quoted())
	case err != nil:
		return fmt.Errorf("writing into %s: %w", src.Signals, err)
	}
	return nil
}
