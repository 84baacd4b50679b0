package body

import (
	"encoding/hex"
	"strconv"
	"time"

	"example.com/mssqlcdc/internal/sqltype"
)

// DebeziumSource is what all changes of a table have in common.
type DebeziumSource struct {
	Version, Name, Database, Schema, Table string
}

// Debezium is the plan of the envelope that Debezium's SQL Server connector writes, without schemas: before, after, source,
// transaction, op and the time. The rows in it are those of a JSON. See "Debezium connector for SQL Server", "Data change events".
type Debezium struct {
	connector, place []byte // the parts of source that never change
}

// NewDebezium plans a table.
func NewDebezium(s DebeziumSource) *Debezium {
	text := func(dst []byte, label, v string) []byte {
		dst = append(dst, label...)
		dst, ok := sqltype.AppendString(dst, v)
		if !ok { // no name of SQL Server is that; a label is not worth a stop
			dst = append(dst, `""`...)
		}
		return dst
	}
	d := &Debezium{}
	d.connector = text(d.connector, `"source":{"version":`, s.Version)
	d.connector = text(append(d.connector, `,"connector":"sqlserver"`...), `,"name":`, s.Name)
	d.connector = append(d.connector, `,"ts_ms":`...)
	d.place = text(d.place, `,"db":`, s.Database)
	d.place = text(append(d.place, `,"sequence":null`...), `,"schema":`, s.Schema)
	d.place = text(d.place, `,"table":`, s.Table)
	return d
}

// DebeziumChange is one change.
type DebeziumChange struct {
	Op                      byte // c, u, d, r
	Before, After           int  // rows; -1 for none
	NotInBefore, NotInAfter Set  // columns that the server did not log
	Snapshot                bool // a row of a snapshot
	Incremental             bool // of one that a signal has asked for
	ChangeLSN, CommitLSN    [10]byte
	Serial                  int       // of the event among those of its change LSN
	Committed               time.Time // zero: not known
	Now                     time.Time
}

// Append appends the envelope of a change whose rows are in rows.
func (d *Debezium) Append(dst []byte, rows *Rows, c DebeziumChange) ([]byte, error) {
	start := len(dst)
	var err error
	if dst, err = appendImage(append(dst, `{"before":`...), rows, c.Before, c.NotInBefore); err != nil {
		return dst[:start], err
	}
	if dst, err = appendImage(append(dst, `,"after":`...), rows, c.After, c.NotInAfter); err != nil {
		return dst[:start], err
	}
	dst = append(append(dst, ','), d.connector...)
	dst = appendEpoch(dst, c.Committed, time.Time.UnixMilli)
	dst = append(dst, `,"snapshot":`...)
	if c.Incremental {
		dst = append(dst, `"incremental"`...)
	} else {
		dst = strconv.AppendQuote(dst, strconv.FormatBool(c.Snapshot))
	}
	dst = append(dst, d.place...)
	dst = appendEpoch(append(dst, `,"ts_us":`...), c.Committed, time.Time.UnixMicro)
	dst = appendEpoch(append(dst, `,"ts_ns":`...), c.Committed, time.Time.UnixNano)
	dst = append(dst, `,"change_lsn":`...)
	if c.Snapshot {
		dst = append(dst, "null"...)
	} else {
		dst = appendDebeziumLSN(dst, c.ChangeLSN)
	}
	dst = appendDebeziumLSN(append(dst, `,"commit_lsn":`...), c.CommitLSN)
	dst = append(dst, `,"event_serial_no":`...)
	if c.Snapshot {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, int64(c.Serial), 10)
	}
	dst = append(append(dst, `},"transaction":null,"op":"`...), c.Op)
	dst = appendEpoch(append(dst, `","ts_ms":`...), c.Now, time.Time.UnixMilli)
	dst = appendEpoch(append(dst, `,"ts_us":`...), c.Now, time.Time.UnixMicro)
	dst = appendEpoch(append(dst, `,"ts_ns":`...), c.Now, time.Time.UnixNano)
	return append(dst, '}'), nil
}

func appendImage(dst []byte, rows *Rows, row int, without Set) ([]byte, error) {
	if row < 0 {
		return append(dst, "null"...), nil
	}
	return rows.AppendRow(dst, row, without)
}

func appendEpoch(dst []byte, at time.Time, unit func(time.Time) int64) []byte {
	if at.IsZero() {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, unit(at), 10)
}

// appendDebeziumLSN appends an LSN as SQL Server's own functions show it: 00000025:000001a8:0003.
func appendDebeziumLSN(dst []byte, l [10]byte) []byte {
	dst = hex.AppendEncode(append(dst, '"'), l[:4])
	dst = hex.AppendEncode(append(dst, ':'), l[4:8])
	dst = hex.AppendEncode(append(dst, ':'), l[8:])
	return append(dst, '"')
}
