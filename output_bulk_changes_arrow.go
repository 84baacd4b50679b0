package mssqlcdc

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/merge"
)

// arrowChangeColumns are the change columns of a record of mssql_cdc.
type arrowChangeColumns struct {
	operation *array.String // nil if the record has none
	unchanged *array.List   // nil if the record has none
	events    *array.String // nil if the record has none
	keys      *array.String // nil if the record has none
}

func arrowChangeColumnsOf(rec arrow.RecordBatch) (c arrowChangeColumns) {
	for n, f := range rec.Schema().Fields() {
		switch meta, _ := f.Metadata.GetValue(changeMeta); meta {
		case "operation":
			c.operation, _ = rec.Column(n).(*array.String)
		case "unchanged_columns":
			c.unchanged, _ = rec.Column(n).(*array.List)
		case "event_id":
			c.events, _ = rec.Column(n).(*array.String)
		case "key":
			c.keys, _ = rec.Column(n).(*array.String)
		}
	}
	return c
}

// arrow takes the rows of an Arrow message.
func (d *changeDecoder) arrow(i int, size int64) error {
	l, j := d.l, d.j
	records, err := l.arrowOf(i)
	if err != nil {
		return err
	}
	share := size / int64(max(len(records), 1))
	first, seqs, passed := len(j.parts), len(j.seqs), l.passedRows(i)
	from, to := l.window.from, l.window.to // counted from the record's first row
	if to == 0 {
		to = l.rowsOf(i)
	}
	for _, rec := range records {
		rows := int(rec.NumRows())
		lo, hi := max(from, 0), min(to, rows)
		skip := passed - lo
		from, to, passed = from-rows, to-rows, passed-rows
		if lo >= hi {
			continue
		}
		part, err := d.arrowWindow(i, rec, lo, hi, skip)
		if err != nil {
			for _, p := range j.parts[first:] {
				p.record.Release()
			}
			j.parts, j.seqs = j.parts[:first], j.seqs[:seqs]
			return err
		}
		part.bytes = share
		j.parts = append(j.parts, part)
	}
	return nil
}

// arrowWindow takes some rows of a record.
func (d *changeDecoder) arrowWindow(i int, rec arrow.RecordBatch, from, to, skip int) (bulkPart, error) {
	if from > 0 || to < int(rec.NumRows()) {
		rec = rec.NewSlice(int64(from), int64(to))
		defer rec.Release()
	}
	return d.arrowRecord(i, rec, skip)
}

// arrowRecord gives a record what a row of the stage has besides. The first rows are skipped.
func (d *changeDecoder) arrowRecord(i int, rec arrow.RecordBatch, skip int) (part bulkPart, err error) {
	l, j, t := d.l, d.j, d.j.table.target
	kept, err := writable(t, rec, l.out.cfg.decode.IgnoreUnknown)
	if err != nil {
		return part, err
	}
	defer kept.Release()
	var has body.Set // columns that the record has
	for _, f := range kept.Schema().Fields() {
		has.Add(t.Column(f.Name))
	}
	for _, c := range j.table.changes.stage.Key().Columns {
		if !has.Has(c) {
			return part, &body.CellError{Column: t.Columns[c].Name, Err: errors.New("the message has no such field, and it is a column of the key")}
		}
	}
	changes := arrowChangeColumnsOf(rec)
	all := d.complete(has)
	b := newStageColumns(j.table, int(kept.NumRows()), !all || changes.unchanged != nil && changes.unchanged.ListValues().Len() > 0)
	defer b.release()
	for r := range int(kept.NumRows()) {
		known := has
		if changes.unchanged != nil {
			known = withoutUnchanged(t, has, changes.unchanged, r)
		}
		op, err := d.arrowOperation(i, r, changes, d.complete(known))
		if err != nil {
			return part, fmt.Errorf("its row %d: %w", r+1, err)
		}
		if r < skip {
			op = merge.OpSkip
		}
		j.saw(op)
		if op != merge.OpDelete && op != merge.OpSkip {
			j.knows(known)
		}
		b.append(d.next(i), op, known)
		part.rows = append(part.rows, i)
	}
	part.whole, part.record = true, b.record(kept)
	return part, nil
}

// arrowOperation is the operation of a row of a record: that of the record's own column if it has one.
func (d *changeDecoder) arrowOperation(i, row int, c arrowChangeColumns, complete bool) (merge.Op, error) {
	mode := &d.l.out.cfg.mode
	if mode.apply && c.operation != nil {
		return mode.op(c.operation.Value(row), complete)
	}
	name, err := d.l.operationOf(i)
	if err != nil {
		return 0, err
	}
	return mode.op(name, complete)
}

// withoutUnchanged takes the columns that a row has not changed, and does not have, out of a set.
func withoutUnchanged(t interface{ Column(string) int }, has body.Set, unchanged *array.List, row int) body.Set {
	from, to := unchanged.ValueOffsets(row)
	if from == to {
		return has
	}
	known := append(body.Set{}, has...)
	names, ok := unchanged.ListValues().(*array.String)
	if !ok {
		return known
	}
	for n := from; n < to; n++ {
		if i := t.Column(names.Value(int(n))); i >= 0 {
			known.Remove(i)
		}
	}
	return known
}
