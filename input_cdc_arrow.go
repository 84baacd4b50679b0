package mssqlcdc

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/capture"
)

// arrowBytes is the most that an Arrow message has in its body, because it becomes one record of a broker. A row that is larger
// alone goes out alone.
const arrowBytes = naturalBytes

// arrowPlan is what the Arrow messages of one layout have in common.
type arrowPlan struct {
	export *body.Export
	schema *arrow.Schema // the table's columns, then the change columns
}

func (w *messageWriter) planArrow(p *messagePlan, r capture.Run, columns []int) error {
	export, err := body.NewExport(r.Table.Name.String(), r.Layout.Schema, columns)
	if err != nil {
		return err
	}
	fields := append([]arrow.Field(nil), export.Fields()...)
	p.arrow = &arrowPlan{export: export, schema: arrow.NewSchema(append(fields, w.changeFields()...), nil)}
	return nil
}

// arrowRun writes the changes of a run as one message, or several if it would be too large.
func (w *messageWriter) arrowRun(r capture.Run) error {
	plan, err := w.plan(r)
	if err != nil {
		return err
	}
	keys, err := plan.json.Bind(r.Page.Record)
	if err != nil {
		return err
	}
	w.chosen = w.chosen[:0]
	for row := r.From; row < r.To; row++ {
		if w.before == "message" || r.Page.Operation(row) != changetable.Before {
			w.chosen = append(w.chosen, row)
		}
	}
	c := newChangeColumns(w)
	defer c.release()
	if err := c.changes(r, plan, keys); err != nil {
		return err
	}
	return w.arrow(r, plan, r.Page.Record, c, func(row int) string { return r.Page.LSN(row).String() })
}

// arrowSnapshot writes rows of a snapshot in the same shape.
func (w *messageWriter) arrowSnapshot(r capture.Run) error {
	plan, err := w.plan(r)
	if err != nil {
		return err
	}
	keys, err := plan.json.Bind(r.Snapshot.Page.Record)
	if err != nil {
		return err
	}
	w.chosen = w.chosen[:0]
	for row := r.From; row < r.To; row++ {
		w.chosen = append(w.chosen, row)
	}
	c := newChangeColumns(w)
	defer c.release()
	if err := c.snapshot(r, keys); err != nil {
		return err
	}
	lsn := r.Snapshot.Handover.LSN.String()
	return w.arrow(r, plan, r.Snapshot.Page.Record, c, func(int) string { return lsn })
}

// arrow puts the chosen rows and their change columns together, and cuts them into messages.
func (w *messageWriter) arrow(r capture.Run, plan *messagePlan, rec arrow.RecordBatch, c *changeColumns, lsn func(row int) string) error {
	if len(w.chosen) == 0 {
		return nil
	}
	columns, err := plan.arrow.export.Columns(rec, w.chosen, w.mem)
	if err != nil {
		return err
	}
	columns = append(columns, c.finish()...)
	whole := array.NewRecordBatch(plan.arrow.schema, columns, int64(len(w.chosen)))
	defer whole.Release()
	for _, column := range columns {
		column.Release()
	}
	most := len(w.chosen) // rows of a message
	for from := 0; from < len(w.chosen); {
		to := min(from+most, len(w.chosen))
		if to-from > 1 && to < len(w.chosen) && r.Page != nil && r.Page.Operation(w.chosen[to-1]) == changetable.Before {
			to-- // the two rows of an update stay together where they can
		}
		m := written{}
		m.body.from = len(w.bodies)
		if err := w.appendArrow(whole, from, to); err != nil {
			return fmt.Errorf("writing rows of %s: %w", r.Table.Name, err)
		}
		m.body.to = len(w.bodies)
		if size := m.body.to - m.body.from; size > arrowBytes && to-from > 1 {
			w.bodies = w.bodies[:m.body.from]
			most = max(1, min(to-from-1, (to-from)*arrowBytes/size*19/20))
			continue
		}
		m.message = w.arrowMessage(r, plan, to-from, lsn(w.chosen[from]), lsn(w.chosen[to-1]))
		w.rows = append(w.rows, m)
		from = to
	}
	return nil
}

func (w *messageWriter) appendArrow(whole arrow.RecordBatch, from, to int) (err error) {
	part := whole.NewSlice(int64(from), int64(to))
	defer part.Release()
	w.bodies, err = body.AppendArrow(w.bodies, part, w.mem)
	return err
}

// arrowMessage makes the message of some rows. What differs from row to row is in the change columns.
func (w *messageWriter) arrowMessage(r capture.Run, plan *messagePlan, rows int, first, last string) *service.Message {
	m := service.NewMessage(nil)
	m.MetaSetMut("database_schema", r.Table.Name.Schema)
	m.MetaSetMut("table", r.Table.Name.Object)
	m.MetaSetMut("first_lsn", first)
	m.MetaSetMut("last_lsn", last)
	m.MetaSetMut("rows", int64(rows))
	m.MetaSetImmut("schema", plan.schema)
	if w.extra["database"] {
		m.MetaSetMut("database", w.database)
	}
	if w.extra["capture_instance"] {
		m.MetaSetMut("capture_instance", r.Layout.Capture)
	}
	if w.extra["snapshot_id"] && r.Snapshot != nil {
		m.MetaSetMut("snapshot_id", r.Snapshot.ID)
	}
	return m
}
