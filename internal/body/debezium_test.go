package body

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestDebeziumEnvelope(t *testing.T) {
	rec := exportRecord(t, memory.NewGoAllocator())
	defer rec.Release()
	j, err := NewJSON("dbo.t", rec.Schema(), []int{3, 18}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := j.Bind(rec)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDebezium(DebeziumSource{Version: "1", Name: "n", Database: `d"b`, Schema: "s", Table: "t"})
	var without Set
	without.Add(18)
	change := [10]byte{0, 0, 0, 0x25, 0, 0, 1, 0xa8, 0, 3}
	commit := [10]byte{0, 0, 0, 0x26, 0, 0, 0, 0, 0xff, 0xff}
	at, now := time.UnixMilli(1_700_000_000_123), time.Unix(1_700_000_001, 234_567_891)
	tests := []struct {
		name   string
		change DebeziumChange
		want   string
	}{
		{"update", DebeziumChange{Op: 'u', Before: 0, After: 2, NotInBefore: without, ChangeLSN: change, CommitLSN: commit, Serial: 2, Committed: at, Now: now},
			`{"before":{"c3":-7},"after":{"c3":8,"c18":""},"source":{"version":"1","connector":"sqlserver","name":"n","ts_ms":1700000000123,"snapshot":"false","db":"d\"b","sequence":null,"schema":"s","table":"t",` +
				`"ts_us":1700000000123000,"ts_ns":1700000000123000000,"change_lsn":"00000025:000001a8:0003","commit_lsn":"00000026:00000000:ffff","event_serial_no":2},` +
				`"transaction":null,"op":"u","ts_ms":1700000001234,"ts_us":1700000001234567,"ts_ns":1700000001234567891}`},
		{"snapshot, no time", DebeziumChange{Op: 'r', Before: -1, After: 1, Snapshot: true, CommitLSN: commit, Now: now},
			`{"before":null,"after":{"c3":null,"c18":null},"source":{"version":"1","connector":"sqlserver","name":"n","ts_ms":null,"snapshot":"true","db":"d\"b","sequence":null,"schema":"s","table":"t",` +
				`"ts_us":null,"ts_ns":null,"change_lsn":null,"commit_lsn":"00000026:00000000:ffff","event_serial_no":null},` +
				`"transaction":null,"op":"r","ts_ms":1700000001234,"ts_us":1700000001234567,"ts_ns":1700000001234567891}`},
	}
	for _, tt := range tests {
		got, err := d.Append([]byte("x"), rows, tt.change)
		if err != nil || string(got) != "x"+tt.want {
			t.Errorf("%s:\n got %s\nwant x%s: %v", tt.name, got, tt.want, err)
		}
	}
}
