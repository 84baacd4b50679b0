package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// TestDebeziumComparison lets Debezium's engine and mssql_cdc read the changes of the same mixed transactions, and compares the
// events in `format: debezium` and in `format: json` with Debezium's, field by field; what may differ is listed in
// docs/formats.md and told by the rules of debezium_rules_test.go. 300 transactions where Debezium is installed and CI=true,
// 10,000 with MSSQLCDC_LONG=1:
//
//	MSSQLCDC_LONG=1 go test -count=1 -v -timeout 60m -run TestDebeziumComparison ./internal/compat/clients
func TestDebeziumComparison(t *testing.T) {
	debeziumInstalled(t)
	transactions := 300
	switch {
	case os.Getenv("MSSQLCDC_LONG") != "":
		transactions = 10_000
	case os.Getenv("CI") != "true":
		t.Skip("Debezium takes its time to start: set CI=true or MSSQLCDC_LONG=1")
	}
	script := comparedTables
	script = append(script[:len(script):len(script)], "EXEC sys.sp_cdc_enable_db")
	for _, table := range []string{"small", "wide", "tall"} {
		script = append(script, fmt.Sprintf("EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'%s', @role_name = NULL", table))
	}
	file := filepath.Join(t.TempDir(), "tables.sql")
	if err := os.WriteFile(file, []byte(strings.Join(script, "\nGO\n")+"\nGO\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startServer(t, file)
	db := p.database(t)
	plan := newMixedPlan(1)
	for range transactions {
		if sql := plan.transaction(); sql != "" {
			if _, err := db.ExecContext(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	execute(t, p, "INSERT dbo.small (id) VALUES (-7)")
	want := capturedRows(t, db)
	// A snapshot mode without rows, told to begin at the first change.
	state := t.TempDir()
	d := startDebezium(t, p, state, "table.include.list=dbo.small,dbo.wide,dbo.tall", "snapshot.mode=recovery", "provide.transaction.metadata=false",
		"offset.storage.file.filename="+firstOffset(t, db, state))
	theirs := map[string][]debeziumEvent{}
	for _, e := range d.take(t, want) {
		table := e.Topic[strings.LastIndexByte(e.Topic, '.')+1:]
		theirs[table] = append(theirs[table], e)
	}
	d.stop(t)
	clear(notLogged)
	defer func() { t.Logf("large values: %v", notLogged) }()
	for format, more := range map[string]string{"debezium": "metadata: [seqval], format: debezium", "json": "metadata: [seqval], before_image: metadata"} {
		out := &eventsOutput{events: map[string][]ourEvent{}}
		stop := startCopy(t, out, fmt.Sprintf("input: {mssql_cdc: {connection_string: %q, checkpoint_cache_key: compat, checkpoint_file: %q, %s}}\npipeline: {threads: 1}\noutput: {copy: {}}\n",
			p.dsn(), filepath.Join(t.TempDir(), "positions.json"), more))
		out.wait(t, want)
		stop()
		for table, events := range theirs {
			ours := out.events[table]
			if len(ours) != len(events) {
				t.Errorf("format %s: %d events of %s, Debezium has %d", format, len(ours), table, len(events))
			}
			different := 0
			for i := range min(len(ours), len(events)) {
				if diffs := compareEvents(t, format, table, &ours[i], &events[i]); len(diffs) > 0 {
					if different++; different <= 3 {
						t.Errorf("format %s, %s, event %d:\n%s\nours      %s %v\nDebezium's %s", format, table, i, strings.Join(diffs, "\n"), ours[i].body, ours[i].meta, events[i].Value)
					}
				}
			}
			t.Logf("format %s: %d events of %s from %d transactions, %d different", format, len(events), table, transactions, different)
		}
	}
}

// ourEvent is a message of mssql_cdc.
type ourEvent struct {
	body []byte
	meta map[string]any
}

// eventsOutput keeps messages by their table.
type eventsOutput struct {
	mu     sync.Mutex
	events map[string][]ourEvent
	n      int
	err    error
}

func (*eventsOutput) Connect(context.Context) error { return nil }
func (*eventsOutput) Close(context.Context) error   { return nil }

func (o *eventsOutput) WriteBatch(_ context.Context, batch service.MessageBatch) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range batch {
		body, err := m.AsBytes()
		if err != nil {
			o.err = err
			return nil
		}
		e := ourEvent{body: bytes.Clone(body), meta: map[string]any{}}
		_ = m.MetaWalkMut(func(key string, value any) error {
			if key != "schema" {
				e.meta[key] = value
			}
			return nil
		})
		table, _ := m.MetaGet("table")
		o.events[table] = append(o.events[table], e)
		o.n++
	}
	return nil
}

// wait waits until that many messages are there.
func (o *eventsOutput) wait(t *testing.T, want int) {
	t.Helper()
	deadline := time.NewTimer(debeziumBound)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		o.mu.Lock()
		n, err := o.n, o.err
		o.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if n >= want {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%d of %d messages came", n, want)
		}
	}
}

// decoded is a JSON document with its numbers as they are written.
func decoded(t *testing.T, text []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}
