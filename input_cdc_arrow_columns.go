package mssqlcdc

import (
	"encoding/hex"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/capture"
)

// changePrefix begins the names of the change columns of Arrow messages; what follows is the name of the metadata that they stand
// for. No captured column has such a name: change tables have columns of their own that begin so.
const changePrefix = "__$"

// changeMeta is the key of the field metadata that tells a change column from one of the table.
const changeMeta = "mssql.change"

// The change columns, by their place after the columns of the table. The last two are there when the field metadata names them.
const (
	changeOperation = iota
	changeLSN
	changeCommitTime
	changeEventID
	changeKey
	changeCommandID
	changeSeqVal
	changeChanged
	changeUnchanged
	changeFixed // how many are always there
)

// isChangeColumn tells a field that mssql_cdc has added to the columns of a table.
func isChangeColumn(f arrow.Field) bool { return f.Metadata.FindKey(changeMeta) >= 0 }

// changeFields are the fields of the change columns.
func (w *messageWriter) changeFields() []arrow.Field {
	text, ms := arrow.BinaryTypes.String, &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}
	fields := []arrow.Field{
		{Name: "operation", Type: text},
		{Name: "lsn", Type: text},
		{Name: "commit_ts_ms", Type: ms, Nullable: true},
		{Name: "event_id", Type: text},
		{Name: "key", Type: text, Nullable: true},
		{Name: "command_id", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "seqval", Type: text, Nullable: true},
		{Name: "changed_columns", Type: arrow.ListOf(text), Nullable: true},
		{Name: "unchanged_columns", Type: arrow.ListOf(text)},
	}
	if w.extra["source_ts_ms"] {
		fields = append(fields, arrow.Field{Name: "source_ts_ms", Type: ms, Nullable: true})
	}
	if w.extra["transaction_id"] {
		fields = append(fields, arrow.Field{Name: "transaction_id", Type: text, Nullable: true})
	}
	for i, f := range fields {
		fields[i].Name = changePrefix + f.Name
		fields[i].Metadata = arrow.NewMetadata([]string{changeMeta}, []string{f.Name})
	}
	return fields
}

// The lengths of an LSN and of a change's event id in text.
const (
	lsnText   = 22
	eventText = 52
)

// changeColumns makes the change columns of the writer's chosen rows.
type changeColumns struct {
	writer *messageWriter
	all    []array.Builder

	operation, lsn, event, key, seqval *array.StringBuilder
	committed                          *array.TimestampBuilder
	command                            *array.Int32Builder
	changed, unchanged                 *array.ListBuilder
	begun                              *array.TimestampBuilder // nil if not wanted
	transaction                        *array.StringBuilder    // nil if not wanted
}

func newChangeColumns(w *messageWriter) *changeColumns {
	c := &changeColumns{writer: w}
	for _, f := range w.changeFields() {
		b := array.NewBuilder(w.mem, f.Type)
		b.Reserve(len(w.chosen))
		c.all = append(c.all, b)
	}
	c.operation, c.lsn = c.all[changeOperation].(*array.StringBuilder), c.all[changeLSN].(*array.StringBuilder)
	c.event, c.key = c.all[changeEventID].(*array.StringBuilder), c.all[changeKey].(*array.StringBuilder)
	c.committed, c.command = c.all[changeCommitTime].(*array.TimestampBuilder), c.all[changeCommandID].(*array.Int32Builder)
	c.seqval = c.all[changeSeqVal].(*array.StringBuilder)
	c.changed, c.unchanged = c.all[changeChanged].(*array.ListBuilder), c.all[changeUnchanged].(*array.ListBuilder)
	c.lsn.ReserveData(lsnText * len(w.chosen))
	c.seqval.ReserveData(lsnText * len(w.chosen))
	c.event.ReserveData(eventText * len(w.chosen))
	rest := c.all[changeFixed:]
	if w.extra["source_ts_ms"] {
		c.begun, rest = rest[0].(*array.TimestampBuilder), rest[1:]
	}
	if w.extra["transaction_id"] {
		c.transaction = rest[0].(*array.StringBuilder)
	}
	return c
}

// finish gives the columns, which are the caller's to release.
func (c *changeColumns) finish() []arrow.Array {
	out := make([]arrow.Array, len(c.all))
	for i, b := range c.all {
		out[i] = b.NewArray()
	}
	return out
}

func (c *changeColumns) release() {
	for _, b := range c.all {
		b.Release()
	}
}

// changes fills the columns from a run of changes.
func (c *changeColumns) changes(r capture.Run, plan *messagePlan, keys *body.Rows) error {
	w, p := c.writer, r.Page
	lobs := p.HasLOB()
	var commit changetable.Commit
	var lsn, seq []byte
	for _, row := range w.chosen {
		if l := p.LSN(row); l != commit.LSN || lsn == nil {
			commit, lsn = p.Commit(row), l.Append(lsn[:0])
		}
		op := p.Operation(row)
		c.operation.Append(w.operation(op))
		c.lsn.BinaryBuilder.Append(lsn)
		appendTime(c.committed, commit.End)
		if err := c.identity(keys, row, func(dst []byte) []byte { return appendEventID(dst, p, row) }); err != nil {
			return err
		}
		c.command.Append(p.CommandID(row))
		seq = p.SeqVal(row).Append(seq[:0])
		c.seqval.BinaryBuilder.Append(seq)
		if update := op == changetable.Before || op == changetable.After; update {
			appendNames(c.changed, plan.names, func(i int) bool { return p.Changed(row, i) })
		} else {
			c.changed.AppendNull()
		}
		if lobs {
			appendNames(c.unchanged, plan.names, func(i int) bool { return p.NotLogged(row, i) })
		} else {
			c.unchanged.Append(true)
		}
		if c.begun != nil {
			appendTime(c.begun, commit.Begin)
		}
		if c.transaction != nil {
			c.transaction.Append("0x" + hex.EncodeToString(commit.TranID))
		}
	}
	return nil
}

// snapshot fills the columns from rows of a snapshot, which belong to no transaction.
func (c *changeColumns) snapshot(r capture.Run, keys *body.Rows) error {
	w, s := c.writer, r.Snapshot
	lsn := s.Handover.LSN.String()
	for _, row := range w.chosen {
		c.operation.Append("read")
		c.lsn.Append(lsn)
		appendTime(c.committed, s.Page.ReadAt)
		key, err := keys.AppendKey(nil, row)
		if err != nil {
			return err
		}
		if err := c.identity(keys, row, func(dst []byte) []byte { return appendReadID(dst, r, row, key) }); err != nil {
			return err
		}
		c.command.AppendNull()
		c.seqval.AppendNull()
		c.changed.AppendNull()
		c.unchanged.Append(true)
		if c.begun != nil {
			appendTime(c.begun, s.Page.ReadAt)
		}
		if c.transaction != nil {
			c.transaction.AppendNull()
		}
	}
	return nil
}

// identity fills the event id and the key of a row.
func (c *changeColumns) identity(keys *body.Rows, row int, event func([]byte) []byte) (err error) {
	w := c.writer
	w.scratch = event(w.scratch[:0])
	c.event.BinaryBuilder.Append(w.scratch)
	if w.scratch, err = keys.AppendKey(w.scratch[:0], row); err != nil {
		return err
	}
	if len(w.scratch) > 0 {
		c.key.BinaryBuilder.Append(w.scratch)
	} else {
		c.key.AppendNull()
	}
	return nil
}

// appendTime appends a time, and null for one that is not known.
func appendTime(b *array.TimestampBuilder, at time.Time) {
	if at.IsZero() {
		b.AppendNull()
		return
	}
	b.Append(arrow.Timestamp(at.UnixMilli()))
}

// appendNames appends a list of the names that has chooses.
func appendNames(b *array.ListBuilder, names []string, has func(int) bool) {
	b.Append(true)
	values := b.ValueBuilder().(*array.StringBuilder)
	for i, name := range names {
		if has(i) {
			values.Append(name)
		}
	}
}
