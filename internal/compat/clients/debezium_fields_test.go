package clients

import (
	"encoding/json"
	"strings"
	"testing"
)

// The comparison with Debezium sees every field: the same event passes, and each change to it is told.
func TestComparedFields(t *testing.T) {
	const theirs = `{"before":{"id":1,"f":0.5,"note":"a"},"after":{"id":1,"f":1.5,"note":"__debezium_unavailable_value"},"source":{"version":"3.6.1.Final","connector":"sqlserver","name":"compat","ts_ms":5,
		"snapshot":"false","db":"testdb","sequence":null,"ts_us":5000,"ts_ns":5000000,"schema":"dbo","table":"small","change_lsn":"00000025:000001a8:0003","commit_lsn":"00000025:000001a8:0005","event_serial_no":2},
		"transaction":null,"op":"u","ts_ms":6,"ts_us":6000,"ts_ns":6000000}`
	ours := strings.NewReplacer(`,"note":"__debezium_unavailable_value"`, ``, "3.6.1.Final", "0.1.0", `"ts_ms":5`, `"ts_ms":4`, `"f":1.5`, `"f":1.50`).Replace(theirs)
	them := &debeziumEvent{Key: json.RawMessage(`{"id":1}`), Value: json.RawMessage(theirs)}
	check := func(format, name string, e *ourEvent, want int) {
		t.Helper()
		if got := compareEvents(t, format, "small", e, them); (len(got) > 0) != (want > 0) {
			t.Errorf("format %s, %s: %d differences %v, want %d", format, name, len(got), got, want)
		}
	}
	meta := func() map[string]any { return map[string]any{"key": `{"id":1}`} }
	check("debezium", "the same", &ourEvent{body: []byte(ours), meta: meta()}, 0)
	for _, edit := range [][2]string{
		{`"before":{"id":1`, `"before":{"id":2`}, {`"f":1.50`, `"f":1.51`}, {`"f":1.50`, `"f":null`}, {`"note":"a"`, `"note":"b"`}, {`"f":1.50`, `"f":1.50,"note":null`}, {`"connector":"sqlserver",`, ``},
		{`"name":"compat"`, `"name":"x"`}, {`"snapshot":"false"`, `"snapshot":"true"`}, {`"db":"testdb"`, `"db":"x"`}, {`"sequence":null`, `"sequence":1`}, {`"schema":"dbo"`, `"schema":"x"`},
		{`"table":"small"`, `"table":"x"`}, {`a8:0003`, `a8:0004`}, {`a8:0005`, `a8:0006`}, {`"event_serial_no":2`, `"event_serial_no":1`}, {`"transaction":null,`, ``}, {`"op":"u"`, `"op":"c"`},
		{`"ts_ns":6000000}`, `"ts_ns":6000000,"more":1}`},
	} {
		body := strings.Replace(ours, edit[0], edit[1], 1)
		if body == ours {
			t.Fatalf("%s is not in the event", edit[0])
		}
		check("debezium", edit[1], &ourEvent{body: []byte(body), meta: meta()}, 1)
	}
	check("debezium", "another key", &ourEvent{body: []byte(ours), meta: map[string]any{"key": `{"id":2}`}}, 1)
	flat := func() *ourEvent {
		return &ourEvent{body: []byte(`{"id":1,"f":1.5}`), meta: map[string]any{"key": `{"id":1}`, "operation": "update", "table": "small", "database_schema": "dbo",
			"lsn": "0x00000025000001a80005", "seqval": "0x00000025000001a80003", "before": map[string]any{"id": 1, "f": 0.5, "note": "a"}}}
	}
	check("json", "the same", flat(), 0)
	for name, value := range map[string]any{"key": `{"id":2}`, "operation": "insert", "table": "x", "database_schema": "x", "lsn": "0x00", "seqval": "0x00", "before": map[string]any{"id": 1}} {
		e := flat()
		e.meta[name] = value
		check("json", name, e, 1)
	}
}
