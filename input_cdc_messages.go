package mssqlcdc

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/schema"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/capture"
	"example.com/mssqlcdc/internal/sqltype"
)

// extraMetadata are the keys that the field metadata may name.
var extraMetadata = []string{"database", "seqval", "command_id", "transaction_id", "source_ts_ms", "capture_instance", "changed_columns", "snapshot_id"}

// messageWriter turns batches into messages. It is used by one goroutine.
type messageWriter struct {
	before     string // none, metadata, message
	tombstones bool
	extra      map[string]bool
	database   string

	plans  map[*capture.Layout]*messagePlan
	bodies []byte // of the batch that is written
	text   []byte // its keys and event ids
	rows   []written
}

// maxPlans bounds the plans that are kept; a table makes a new one when its capture instance changes.
const maxPlans = 4096

// messagePlan is what the messages of one layout have in common.
type messagePlan struct {
	json   *body.JSON
	schema service.ImmutableAny
	names  []string // of the captured columns
}

// written is one message before its bytes have their place: spans of the writer's buffers.
type written struct {
	message   *service.Message
	body, key span
	event     span
	tombstone bool
	hasKey    bool
}

type span struct{ from, to int }

func newMessageWriter(before string, tombstones bool, extra []string) (*messageWriter, error) {
	w := &messageWriter{before: before, tombstones: tombstones, extra: map[string]bool{}, plans: map[*capture.Layout]*messagePlan{}}
	for _, name := range extra {
		if !slices.Contains(extraMetadata, name) {
			return nil, fmt.Errorf("metadata: %q is not a key of mssql_cdc; it has %s", name, strings.Join(extraMetadata, ", "))
		}
		w.extra[name] = true
	}
	return w, nil
}

// write makes the messages of a batch. Bodies and texts are written to buffers and copied once, to exact slices that the
// messages share; those are never used again.
func (w *messageWriter) write(b *capture.Batch) (service.MessageBatch, error) {
	w.bodies, w.text, w.rows = w.bodies[:0], w.text[:0], w.rows[:0]
	for _, r := range b.Runs {
		if err := w.run(r); err != nil {
			return nil, err
		}
	}
	shared := bytes.Clone(w.bodies)
	text := string(w.text)
	out := make(service.MessageBatch, len(w.rows))
	for i := range w.rows {
		m := &w.rows[i]
		if !m.tombstone {
			m.message.SetBytes(shared[m.body.from:m.body.to:m.body.to])
		}
		m.message.MetaSetMut("event_id", text[m.event.from:m.event.to])
		if m.hasKey {
			m.message.MetaSetMut("key", text[m.key.from:m.key.to])
		}
		out[i], m.message = m.message, nil
	}
	return out, nil
}

// run writes the messages of one run.
func (w *messageWriter) run(r capture.Run) error {
	if r.Snapshot != nil {
		return w.snapshot(r)
	}
	plan, err := w.plan(r)
	if err != nil {
		return err
	}
	rows, err := plan.json.Bind(r.Page.Record)
	if err != nil {
		return err
	}
	t := template{writer: w, run: r, plan: plan}
	lobs := r.Page.HasLOB()
	var unchanged body.Set
	for row := r.From; row < r.To; row++ {
		op := r.Page.Operation(row)
		if op == changetable.Before && w.before != "message" {
			continue // with "metadata" it goes with the row that follows
		}
		unchanged.Reset()
		if lobs {
			unchanged = notLogged(r, row, unchanged)
		}
		m := written{message: t.message(row, op)}
		m.body.from = len(w.bodies)
		if w.bodies, err = rows.AppendRow(w.bodies, row, unchanged); err != nil {
			return err
		}
		m.body.to = len(w.bodies)
		if m.hasKey = plan.json.HasKey(); m.hasKey {
			m.key.from = len(w.text)
			if w.text, err = rows.AppendKey(w.text, row); err != nil {
				return err
			}
			m.key.to = len(w.text)
		}
		m.event.from = len(w.text)
		w.text = appendEventID(w.text, r.Page, row)
		m.event.to = len(w.text)
		if !unchanged.Empty() {
			m.message.MetaSetMut("unchanged_columns", plan.list(unchanged.Has))
		}
		if w.before == "metadata" && op == changetable.After && row > 0 && r.Page.Operation(row-1) == changetable.Before {
			if err := w.setBefore(m.message, rows, r, row-1); err != nil {
				return err
			}
		}
		if w.extra["changed_columns"] && (op == changetable.Before || op == changetable.After) {
			m.message.MetaSetMut("changed_columns", plan.list(func(i int) bool { return r.Page.Changed(row, i) }))
		}
		w.perRow(m.message, r, row)
		w.rows = append(w.rows, m)
		if w.tombstones && op == changetable.Delete && m.hasKey {
			w.rows = append(w.rows, written{message: t.message(row, op), key: m.key, event: m.event, tombstone: true, hasKey: true})
		}
	}
	return nil
}

// notLogged collects the captured columns that the server did not log in a row.
func notLogged(r capture.Run, row int, set body.Set) body.Set {
	for i := range r.Layout.Captured {
		if r.Page.NotLogged(row, i) {
			set.Add(i)
		}
	}
	return set
}

// perRow sets the extra metadata that differs from row to row.
func (w *messageWriter) perRow(m *service.Message, r capture.Run, row int) {
	if w.extra["seqval"] {
		m.MetaSetMut("seqval", r.Page.SeqVal(row).String())
	}
	if w.extra["command_id"] {
		m.MetaSetMut("command_id", int64(r.Page.CommandID(row)))
	}
}

// setBefore sets the old row of an update as structured metadata.
func (w *messageWriter) setBefore(m *service.Message, rows *body.Rows, r capture.Run, row int) error {
	old, err := rows.AppendRow(nil, row, notLogged(r, row, nil))
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(old))
	d.UseNumber() // a bigint does not fit a float
	var v any
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("writing the metadata before of %s: %w", r.Table.Name, err)
	}
	m.MetaSetMut("before", v)
	return nil
}

// list gives the names of the captured columns that has chooses.
func (p *messagePlan) list(has func(int) bool) []any {
	out := []any{}
	for i, name := range p.names {
		if has(i) {
			out = append(out, name)
		}
	}
	return out
}

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
	dst = fmt.Appendf(dst, "-%08x-", uint32(p.CommandID(row)))
	dst = hex.AppendEncode(dst, seq[:])
	return strconv.AppendInt(append(dst, '-'), int64(p.Operation(row)), 10)
}

// plan finds or makes the plan of a layout.
func (w *messageWriter) plan(r capture.Run) (*messagePlan, error) {
	if p := w.plans[r.Layout]; p != nil {
		return p, nil
	}
	columns := make([]int, r.Layout.Captured)
	p := &messagePlan{}
	root := schema.Common{Name: r.Table.Name.Object, Type: schema.Object}
	for i := range columns {
		columns[i] = i
		f := r.Layout.Schema.Field(i)
		t, err := sqltype.FromField(f)
		if err != nil {
			return nil, err
		}
		p.names = append(p.names, f.Name)
		root.Children = append(root.Children, commonSchema(f.Name, t.Common()))
	}
	if err := root.Validate(); err != nil {
		return nil, fmt.Errorf("describing the columns of %s: %w", r.Table.Name, err)
	}
	p.schema = service.ImmutableAny{V: root.ToAny()}
	var err error
	if p.json, err = body.NewJSON(r.Table.Name.String(), r.Layout.Schema, columns, r.Layout.Key); err != nil {
		return nil, err
	}
	if len(w.plans) >= maxPlans {
		clear(w.plans)
	}
	w.plans[r.Layout] = p
	return p, nil
}

// commonTypes maps the type table's names to Benthos'.
var commonTypes = map[sqltype.CommonType]schema.CommonType{
	sqltype.CommonBoolean: schema.Boolean, sqltype.CommonInt32: schema.Int32, sqltype.CommonInt64: schema.Int64,
	sqltype.CommonFloat32: schema.Float32, sqltype.CommonFloat64: schema.Float64, sqltype.CommonString: schema.String,
	sqltype.CommonByteArray: schema.ByteArray, sqltype.CommonAny: schema.Any, sqltype.CommonDecimal: schema.Decimal,
	sqltype.CommonDate: schema.Date, sqltype.CommonTimeOfDay: schema.TimeOfDay, sqltype.CommonTimestamp: schema.Timestamp,
	sqltype.CommonUUID: schema.UUID,
}

var commonUnits = map[sqltype.Unit]schema.TimeUnit{
	sqltype.Seconds: schema.TimeUnitSeconds, sqltype.Millis: schema.TimeUnitMillis, sqltype.Micros: schema.TimeUnitMicros,
	sqltype.Nanos: schema.TimeUnitNanos,
}

// commonSchema describes a column. A captured column can be null whatever the table says: the server clears some of them.
func commonSchema(name string, c sqltype.Common) schema.Common {
	out := schema.Common{Name: name, Type: commonTypes[c.Type], Optional: true}
	switch c.Type {
	case sqltype.CommonDecimal:
		out.Logical = &schema.LogicalParams{Decimal: &schema.DecimalParams{Precision: int32(c.Precision), Scale: int32(c.Scale)}}
	case sqltype.CommonTimestamp:
		out.Logical = &schema.LogicalParams{Timestamp: &schema.TimestampParams{Unit: commonUnits[c.Unit], AdjustToUTC: c.UTC}}
	case sqltype.CommonTimeOfDay:
		out.Logical = &schema.LogicalParams{TimeOfDay: &schema.TimeOfDayParams{Unit: commonUnits[c.Unit]}}
	}
	return out
}
