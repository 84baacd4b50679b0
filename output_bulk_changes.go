package mssqlcdc

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/crashpoint"
	"example.com/mssqlcdc/internal/merge"
	"example.com/mssqlcdc/internal/sqltype"
)

// bulkChanges is what a worker knows of a table that rows are brought into by key.
type bulkChanges struct {
	stage *merge.Stage
	keys  *body.Decoder // of the key columns alone, for deletions
	made  bool          // the temporary table is there
	plans []*bulkPlan
}

// key is what rows are brought into the table by, none where they are only inserted.
func (t *bulkTable) key() (k merge.Key) {
	if t.changes != nil {
		k = t.changes.stage.Key()
	}
	return k
}

// changes plans a table that has a key. It is nil for a table without one, in mode apply.
func (w *bulkWorker) changes(ctx context.Context, target *bulkload.Target) (*bulkChanges, error) {
	key, err := merge.LoadKey(ctx, w.conn, target, w.cfg.mode.keyColumns)
	if err != nil {
		return nil, err
	}
	if len(key.Columns) == 0 && w.cfg.mode.apply {
		return nil, nil
	}
	w.stages++
	c := &bulkChanges{}
	if c.stage, err = merge.NewStage(target, key, w.stages); err != nil {
		return nil, err
	}
	options := w.cfg.decode
	options.Partial, options.IgnoreUnknown = true, true
	var columns []body.DecodeColumn
	for _, i := range key.Columns {
		columns = append(columns, body.DecodeColumn{Name: target.Columns[i].Name, Type: target.Columns[i].Type, Key: true})
	}
	c.keys, err = body.NewDecoder(columns, options)
	return c, err
}

// decodeColumns are the columns of a target as messages give them. key columns must be there.
func decodeColumns(target *bulkload.Target, key []int) []body.DecodeColumn {
	columns := make([]body.DecodeColumn, len(target.Columns))
	for i := range target.Columns {
		c := &target.Columns[i]
		columns[i] = body.DecodeColumn{Name: c.Name, Type: c.Type, Optional: c.HasDefault || c.Identity, Ignored: !c.Writable()}
	}
	for _, i := range key {
		columns[i].Key = true
	}
	return columns
}

// change is a decoded message that waits for its record.
type change struct {
	message, seq int
	name         string // of the operation
}

// changeDecoder turns the messages of a job into rows of its stage.
type changeDecoder struct {
	l       *bulkLanding
	j       *bulkJob
	rows    []change // in the table's decoder
	deletes []change // in the decoder of keys
}

// decodeChanges turns the messages of a job into parts for its stage. Messages that have no form are refused.
func (l *bulkLanding) decodeChanges(j *bulkJob) error {
	d := &changeDecoder{l: l, j: j}
	defer j.table.decoder.Discard()
	defer j.table.changes.keys.Discard()
	j.have, j.lack = map[int]bool{}, map[int]bool{}
	for _, i := range j.rows {
		if err := d.message(i); err != nil {
			l.refuseOrWiden(i, j.name, err)
		}
	}
	for _, p := range j.table.decoder.Finish() {
		if err := d.part(p, d.rows); err != nil {
			return err
		}
	}
	for _, p := range j.table.changes.keys.Finish() {
		if err := d.part(p, d.deletes); err != nil {
			return err
		}
	}
	return nil
}

// next is the sequence number of a row of a message.
func (d *changeDecoder) next(message int) int {
	d.j.seqs = append(d.j.seqs, message)
	return len(d.j.seqs) - 1
}

func (d *changeDecoder) message(i int) error {
	m := d.l.batch[i]
	structured := m.HasStructured() && !m.HasBytes()
	var bytes []byte
	if !structured {
		var err error
		if bytes, err = m.AsBytes(); err != nil {
			return err
		}
		if body.IsArrow(bytes) {
			return d.arrow(i, int64(len(bytes)))
		}
	}
	name, err := d.l.operationOf(i)
	if err != nil {
		return err
	}
	empty := !structured && len(bytes) == 0 && d.l.out.cfg.mode.apply
	op, err := d.l.out.cfg.mode.op(name, false)
	if op == merge.OpSkip && err == nil {
		return nil
	}
	if err != nil && !empty {
		return err
	}
	into, list := d.j.table.decoder, &d.rows
	if empty { // whatever the operation: brokers may have left it behind
		key, ok := m.MetaGet("key")
		if !ok || key == "" {
			return errors.New("it has no body, which means a deletion, and no metadata key that says of which row")
		}
		bytes, op = []byte(key), merge.OpDelete
	}
	if op == merge.OpDelete {
		name, into, list = "delete", d.j.table.changes.keys, &d.deletes
	} else {
		unchanged, err := unchangedOf(m)
		if err != nil {
			return err
		}
		into.Unchanged(unchanged)
	}
	if structured {
		err = appendStructured(into, m)
	} else {
		err = into.AppendJSON(bytes)
	}
	if err == nil {
		*list = append(*list, change{message: i, seq: d.next(i), name: name})
	}
	return err
}

// part gives a record of decoded messages what a row of the stage has besides.
func (d *changeDecoder) part(p body.Part, from []change) error {
	b := newStageColumns(d.j.table, len(p.Rows), hasUnknown(p.Known))
	defer b.release()
	part := bulkPart{bytes: p.Bytes}
	for n, r := range p.Rows {
		c := from[r]
		var known body.Set
		if p.Known != nil {
			known = p.Known[n]
		}
		op, err := d.l.out.cfg.mode.op(c.name, d.complete(known))
		if err != nil {
			p.Record.Release()
			return err
		}
		d.j.saw(op)
		if op != merge.OpDelete {
			d.j.knows(known)
		}
		b.append(c.seq, op, known)
		part.rows = append(part.rows, c.message)
	}
	part.record = b.record(p.Record)
	p.Record.Release()
	d.j.parts = append(d.j.parts, part)
	return nil
}

func hasUnknown(known []body.Set) bool {
	for _, k := range known {
		if k != nil {
			return true
		}
	}
	return false
}

// complete tells whether a row that knows these columns can be inserted without another's help.
func (d *changeDecoder) complete(known body.Set) bool {
	if known == nil {
		return true
	}
	for i := range d.j.table.target.Columns {
		c := &d.j.table.target.Columns[i]
		if merge.Stageable(c) && !c.Identity && !known.Has(i) {
			return false
		}
	}
	return true
}

// saw notes an operation of the job.
func (j *bulkJob) saw(op merge.Op) {
	switch op {
	case merge.OpSkip:
		j.content.Skips = true
	case merge.OpUpdate:
		j.content.Updates = true
	case merge.OpDelete:
		j.content.Deletes = true
	}
}

// knows notes what a row that is not deleted knows.
func (j *bulkJob) knows(known body.Set) {
	for i := range j.table.target.Columns {
		if known == nil || known.Has(i) {
			j.have[i] = true
		} else {
			j.lack[i] = true
		}
	}
}

// stageColumns makes the columns of a stage that are not of the target.
type stageColumns struct {
	stage *merge.Stage
	seq   *array.Int32Builder
	op    *array.Uint8Builder
	words []*array.Int32Builder // nil if every row knows everything
	row   []int32
	table *bulkTable
}

func newStageColumns(t *bulkTable, rows int, unknown bool) *stageColumns {
	mem := memory.NewGoAllocator()
	b := &stageColumns{stage: t.changes.stage, seq: array.NewInt32Builder(mem), op: array.NewUint8Builder(mem), table: t}
	b.seq.Reserve(rows)
	b.op.Reserve(rows)
	if unknown {
		for range b.stage.Words() {
			w := array.NewInt32Builder(mem)
			w.Reserve(rows)
			b.words = append(b.words, w)
		}
		b.row = make([]int32, len(b.words))
	}
	return b
}

func (b *stageColumns) append(seq int, op merge.Op, known body.Set) {
	b.seq.Append(int32(seq))
	b.op.Append(uint8(op))
	if b.words == nil {
		return
	}
	clear(b.row)
	for i := range b.table.target.Columns {
		if word, bit, ok := b.stage.Known(i); ok && (known == nil || known.Has(i)) {
			b.row[word] |= bit
		}
	}
	for n, w := range b.words {
		w.Append(b.row[n])
	}
}

// record joins the columns to those of a record.
func (b *stageColumns) record(rec arrow.RecordBatch) arrow.RecordBatch {
	fields := append([]arrow.Field{}, rec.Schema().Fields()...)
	columns := append([]arrow.Array{}, rec.Columns()...)
	var made []arrow.Array
	add := func(name, typ string, builder array.Builder) {
		a := builder.NewArray()
		made = append(made, a)
		fields, columns = append(fields, sqltype.Type{Name: typ}.Field(name)), append(columns, a)
	}
	add(merge.ColumnSeq, "int", b.seq)
	add(merge.ColumnOp, "tinyint", b.op)
	for n, w := range b.words {
		add(b.stage.KnownColumn(n), "int", w)
	}
	out := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rec.NumRows())
	for _, a := range made {
		a.Release()
	}
	return out
}

func (b *stageColumns) release() {
	b.seq.Release()
	b.op.Release()
	for _, w := range b.words {
		w.Release()
	}
}

// fillStage loads the parts of a job into its temporary table and folds them, before there is a transaction.
func (l *bulkLanding) fillStage(ctx context.Context, w *bulkWorker, j *bulkJob) error {
	fail := func(err error) error { return &bulkError{table: j.name, rows: j.rows, err: err} }
	c := j.table.changes
	if !c.made {
		if err := c.stage.Create(ctx, w.conn); err != nil {
			return fail(err)
		}
		c.made = true
	}
	if err := c.stage.Clear(ctx, w.conn); err != nil {
		return fail(err)
	}
	kept := j.parts[:0]
	for n, p := range j.parts {
		plan, err := w.stagePlan(c, p.record.Schema())
		if err != nil {
			for _, i := range p.rows {
				l.refuse(i, j.name, err)
			}
			p.record.Release()
			continue
		}
		kept = append(kept, p)
		kept[len(kept)-1].plan = plan
		if err := l.send(ctx, w, j, &kept[len(kept)-1]); err != nil {
			j.parts = append(kept, j.parts[n+1:]...)
			return err
		}
	}
	j.parts = kept
	if len(kept) == 0 {
		return nil
	}
	absent := map[int]bool{}
	for i := range j.lack {
		absent[i] = !j.have[i]
	}
	j.content.Unknown, j.content.Absent, j.content.Whole = j.lack, absent, l.whole[j.name]
	j.content.Distinct = j.distinct()
	if err := c.stage.Fold(ctx, w.conn, &j.content); err != nil {
		return fail(err)
	}
	crashpoint.Hit(crashpoint.BulkStaged)
	return nil
}

// stagePlan gives the way into a stage for records of a schema.
func (w *bulkWorker) stagePlan(c *bulkChanges, schema *arrow.Schema) (*bulkPlan, error) {
	for _, p := range c.plans {
		if p.schema.Equal(schema) {
			return p, nil
		}
	}
	plan, err := bulkload.NewPlan(c.stage.Table(), schema, bulkload.Options{Lossy: w.cfg.load.Lossy})
	if err != nil {
		return nil, err
	}
	if len(c.plans) >= mostBulkPlans {
		c.plans = c.plans[:0]
	}
	c.plans = append(c.plans, &bulkPlan{schema: schema, plan: plan})
	return c.plans[len(c.plans)-1], nil
}

// applyStage changes the table, in the transaction. Updates whose row is not there are refused, and the batch comes again without
// them.
func (l *bulkLanding) applyStage(ctx context.Context, w *bulkWorker, j *bulkJob) error {
	if len(j.parts) == 0 {
		return nil
	}
	_, missing, err := j.table.changes.stage.Apply(ctx, w.conn, &j.content, w.cfg.mode.missing())
	if err != nil {
		return &bulkError{table: j.name, rows: j.rows, changes: true, err: err}
	}
	for _, seq := range missing {
		l.refuse(j.seqs[seq], j.name, errMissingRow)
	}
	if len(missing) > 0 {
		return errBulkAgain
	}
	if seen := j.table.seen; seen != nil && seen.ID != "" {
		if err := seen.See(ctx, w.conn); err != nil {
			return &bulkError{table: j.name, rows: j.rows, err: err}
		}
	}
	crashpoint.Hit(crashpoint.BulkMoved)
	return nil
}

var errMissingRow = errors.New("it updates a row that is not there, and does not have every column of it; load the rows first, or set on_missing_row to ignore")

// exchange notes that rows of a table may exchange unique values, after the error of a unique index, and tells whether that is new:
// then the same rows are tried again with one update for all.
func (l *bulkLanding) exchange(at *bulkError) bool {
	if !at.changes || l.whole[at.table] || !isDuplicate(at.err) {
		return false
	}
	if l.whole == nil {
		l.whole = map[catalog.Name]bool{}
	}
	l.whole[at.table] = true
	return true
}
