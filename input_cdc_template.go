package mssqlcdc

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/capture"
)

// template makes messages with the metadata that the changes of one transaction and operation share.
type template struct {
	writer  *messageWriter
	run     capture.Run
	plan    *messagePlan
	first   int // row that the commit was looked up for
	ops     [changetable.After + 1]*service.Message
	started bool
}

func (t *template) message(row int, op int32) *service.Message {
	page := t.run.Page
	if !t.started || page.LSN(row) != page.LSN(t.first) {
		t.first, t.started = row, true
		clear(t.ops[:])
	}
	if t.ops[op] == nil {
		t.ops[op] = t.make(op)
	}
	return t.ops[op].Copy()
}

func (t *template) make(op int32) *service.Message {
	w, commit := t.writer, t.run.Page.Commit(t.first)
	m := service.NewMessage(nil)
	m.MetaSetMut("operation", w.operation(op))
	m.MetaSetMut("database_schema", t.run.Table.Name.Schema)
	m.MetaSetMut("table", t.run.Table.Name.Object)
	m.MetaSetMut("lsn", commit.LSN.String())
	if !commit.End.IsZero() { // cleanup may have taken the transaction out of cdc.lsn_time_mapping
		m.MetaSetMut("commit_ts_ms", commit.End.UnixMilli())
	}
	m.MetaSetImmut("schema", t.plan.schema)
	if w.extra["database"] {
		m.MetaSetMut("database", w.database)
	}
	if w.extra["transaction_id"] {
		m.MetaSetMut("transaction_id", "0x"+hex.EncodeToString(commit.TranID))
	}
	if w.extra["source_ts_ms"] && !commit.Begin.IsZero() {
		m.MetaSetMut("source_ts_ms", commit.Begin.UnixMilli())
	}
	if w.extra["capture_instance"] {
		m.MetaSetMut("capture_instance", t.run.Layout.Capture)
	}
	return m
}

func (w *messageWriter) operation(op int32) string {
	switch op {
	case changetable.Delete:
		return "delete"
	case changetable.Insert:
		return "insert"
	case changetable.Before:
		return "update_before"
	}
	if w.before == "message" {
		return "update_after"
	}
	return "update"
}

// appendEventID appends what identifies a change: commit LSN, command, sequence and operation. It sorts as the changes do.
func appendEventID(dst []byte, p *changetable.Page, row int) []byte {
	lsn, seq := p.LSN(row), p.SeqVal(row)
	dst = hex.AppendEncode(dst, lsn[:])
	var command [4]byte
	binary.BigEndian.PutUint32(command[:], uint32(p.CommandID(row)))
	dst = hex.AppendEncode(append(dst, '-'), command[:])
	dst = hex.AppendEncode(append(dst, '-'), seq[:])
	return strconv.AppendInt(append(dst, '-'), int64(p.Operation(row)), 10)
}
