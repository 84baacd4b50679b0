package mssqlcdc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/capture"
)

// extraMetadata are the keys that the field metadata may name.
var extraMetadata = []string{"database", "seqval", "command_id", "transaction_id", "source_ts_ms", "capture_instance", "changed_columns", "snapshot_id"}

// The forms of a body: field format.
const (
	formatJSON     = "json"
	formatArrow    = "arrow"
	formatDebezium = "debezium"
)

// messageWriter turns batches into messages. It is used by one goroutine.
type messageWriter struct {
	format     string
	before     string // none, metadata, message
	tombstones bool
	extra      map[string]bool
	database   string
	name       string // of the pipeline's positions: source.name of Debezium's envelope
	mem        memory.Allocator

	plans   map[*capture.Layout]*messagePlan
	bodies  []byte // of the batch that is written
	text    []byte // its keys and event ids
	rows    []written
	chosen  []int  // rows of the Arrow run that is written
	scratch []byte // of its texts
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

func newMessageWriter(format, before string, tombstones bool, extra []string) (*messageWriter, error) {
	w := &messageWriter{format: format, before: before, tombstones: tombstones, mem: memory.NewGoAllocator(), extra: map[string]bool{}, plans: map[*capture.Layout]*messagePlan{}}
	switch {
	case format == formatArrow && tombstones:
		return nil, errors.New("tombstones cannot go with format arrow, whose messages have many rows and no key")
	case format == formatArrow && before == "metadata":
		return nil, errors.New("before_image metadata cannot go with format arrow: use before_image message, which gives the old row a row of its own")
	case format == formatDebezium && before != "none":
		return nil, errors.New("before_image has no meaning with format debezium, whose envelope always has the old row")
	}
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
		if m.event.to > m.event.from { // the messages of Arrow have a column of them
			m.message.MetaSetMut("event_id", text[m.event.from:m.event.to])
		}
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
	if w.format == formatArrow {
		return w.arrowRun(r)
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
	envelope := newEnvelope(r, plan, rows)
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
		if plan.debezium == nil {
			w.bodies, err = rows.AppendRow(w.bodies, row, unchanged)
		} else {
			w.bodies, err = envelope.append(w.bodies, row, unchanged)
		}
		if err != nil {
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
