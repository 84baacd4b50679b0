package mssqlcdc

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/merge"
)

// bulkJob is the rows of one table, as record batches of one set of columns each.
type bulkJob struct {
	name  catalog.Name
	table *bulkTable
	rows  []int // of the batch
	parts []bulkPart

	// Of a table that rows are brought into by key:
	content    merge.Content
	seqs       []int        // the message of each row, by its sequence number
	have, lack map[int]bool // columns that some row knows, and that some row does not know
}

// bulkPart is a record batch on its way.
type bulkPart struct {
	record arrow.RecordBatch
	rows   []int // the message of each row
	whole  bool  // the rows are those of one message, which is refused as a whole
	bytes  int64
	plan   *bulkPlan
	bad    int64 // rows that were left out
}

func releaseJobs(jobs []*bulkJob) {
	for _, j := range jobs {
		for _, p := range j.parts {
			p.record.Release()
		}
	}
}

// name is the table of a message.
func (l *bulkLanding) name(i int) (catalog.Name, error) {
	cfg := &l.out.cfg
	switch {
	case cfg.static != nil:
		return *cfg.static, nil
	case cfg.table != nil:
		text, err := l.batch.TryInterpolatedString(i, cfg.table)
		if err != nil {
			return catalog.Name{}, fmt.Errorf("table: %w", err)
		}
		return catalog.ParseName(text)
	}
	schema, ok := l.batch[i].MetaGet("database_schema")
	table, ok2 := l.batch[i].MetaGet("table")
	if !ok || !ok2 || schema == "" || table == "" {
		return catalog.Name{}, errNoTable
	}
	return catalog.Name{Schema: schema, Object: table}, nil
}

// decode turns messages into jobs, one for each table, in the order of their first messages. A message that has no form as a row
// is refused.
func (l *bulkLanding) decode(ctx context.Context, w *bulkWorker, rows []int) (jobs []*bulkJob, err error) {
	byName := map[catalog.Name]*bulkJob{}
	for _, i := range rows {
		if l.isMark(i) {
			continue
		}
		name, err := l.name(i)
		if err != nil {
			l.refuse(i, catalog.Name{}, err)
			continue
		}
		j := byName[name]
		if j == nil {
			j = &bulkJob{name: name}
			byName[name] = j
			jobs = append(jobs, j)
		}
		j.rows = append(j.rows, i)
	}
	kept := jobs[:0]
	for _, j := range jobs {
		ok, err := l.describe(ctx, w, j)
		if err == nil && ok {
			kept = append(kept, j)
			err = l.decodeJob(j)
		}
		if err != nil {
			releaseJobs(kept)
			return nil, err
		}
	}
	return kept, nil
}

// describe finds the table of a job, or makes it if that is allowed. It is false when the rows are refused.
func (l *bulkLanding) describe(ctx context.Context, w *bulkWorker, j *bulkJob) (ok bool, err error) {
	j.table, err = w.table(ctx, j.name)
	if l.out.cfg.create && isMissing(err) {
		err = l.create(ctx, w, j)
		if isMissing(err) { // there is nothing to make it from
			for _, i := range j.rows {
				l.refuse(i, j.name, err)
			}
			return false, nil
		}
		if err == nil {
			j.table, err = w.table(ctx, j.name)
		}
	}
	if err != nil {
		return false, &bulkError{table: j.name, rows: j.rows, missing: true, err: err}
	}
	if j.table.relations != nil {
		l.out.warn(j.name, j.table.relations)
	}
	return true, nil
}

func (l *bulkLanding) decodeJob(j *bulkJob) error {
	if j.table.changes != nil {
		return l.decodeChanges(j)
	}
	d := j.table.decoder
	defer d.Discard()
	from := make([]int, 0, len(j.rows)) // the message of each decoded row
	for _, i := range j.rows {
		skip, err := l.checkOperation(i)
		if skip {
			continue
		}
		if err == nil {
			var arrow bool
			if arrow, err = l.decodeRow(j, i); arrow && err == nil {
				continue
			}
		}
		if err != nil {
			l.refuseOrWiden(i, j.name, err)
			continue
		}
		from = append(from, i)
	}
	for _, p := range d.Finish() {
		part := bulkPart{record: p.Record, bytes: p.Bytes, rows: p.Rows}
		for n, r := range p.Rows {
			part.rows[n] = from[r]
		}
		j.parts = append(j.parts, part)
	}
	l.oneIdentity(j)
	return nil
}

// decodeRow decodes a message, and tells whether it was one of Arrow, whose rows are parts of their own.
func (l *bulkLanding) decodeRow(j *bulkJob, i int) (arrow bool, err error) {
	m := l.batch[i]
	if m.HasStructured() && !m.HasBytes() {
		return false, appendStructured(j.table.decoder, m)
	}
	bytes, err := m.AsBytes()
	if err != nil {
		return false, err
	}
	if body.IsArrow(bytes) {
		return true, l.decodeArrow(j, i, int64(len(bytes)))
	}
	return false, j.table.decoder.AppendJSON(bytes)
}

func appendStructured(d *body.Decoder, m *service.Message) error {
	v, err := m.AsStructured()
	if err != nil {
		return err
	}
	row, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("the message is not an object but %T", v)
	}
	return d.AppendMap(row)
}

// decodeArrow takes the record batches of a message as they are, without the columns that are not written, and without the rows
// that the mark of their lane has passed.
func (l *bulkLanding) decodeArrow(j *bulkJob, i int, size int64) error {
	records, err := l.arrowOf(i)
	if err != nil {
		return err
	}
	share := size / int64(max(len(records), 1))
	first, passed := len(j.parts), int64(l.passedRows(i))
	for _, rec := range records {
		skip := min(passed, rec.NumRows())
		passed -= skip
		part := bulkPart{whole: true, bytes: share}
		err := l.checkArrow(i, rec)
		if err == nil {
			part.record, err = writable(j.table.target, rec, l.out.cfg.decode.IgnoreUnknown)
		}
		if err != nil {
			for _, p := range j.parts[first:] {
				p.record.Release()
			}
			j.parts = j.parts[:first]
			return err
		}
		if skip > 0 {
			rest := part.record.NewSlice(skip, rec.NumRows())
			part.record.Release()
			part.record = rest
		}
		part.rows = make([]int, part.record.NumRows())
		for r := range part.rows {
			part.rows[r] = i
		}
		j.parts = append(j.parts, part)
	}
	return nil
}

// writable leaves out the columns that the server fills itself, and those that the table does not have if they may be.
func writable(t *bulkload.Target, rec arrow.RecordBatch, ignoreUnknown bool) (arrow.RecordBatch, error) {
	var fields []arrow.Field
	var columns []arrow.Array
	for n, f := range rec.Schema().Fields() {
		i := t.Column(f.Name)
		switch {
		case i < 0 && isChangeColumn(f):
			continue
		case i < 0 && !ignoreUnknown:
			return nil, &body.CellError{Column: f.Name, Err: body.ErrNoColumn}
		case i < 0 || !t.Columns[i].Writable():
			continue
		}
		fields, columns = append(fields, f), append(columns, rec.Column(n))
	}
	if len(fields) == 0 {
		return nil, errors.New("no field of the message is a column of the table")
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rec.NumRows()), nil
}

// oneIdentity refuses rows that have a value for the identity column where the first has none, or the other way round: the
// server would number some rows past the values of the others.
func (l *bulkLanding) oneIdentity(j *bulkJob) {
	identity := ""
	for _, c := range j.table.target.Columns {
		if c.Identity {
			identity = c.Name
		}
	}
	if identity == "" {
		return
	}
	has := func(p bulkPart) bool {
		for _, f := range p.record.Schema().Fields() {
			if i := j.table.target.Column(f.Name); i >= 0 && j.table.target.Columns[i].Identity {
				return true
			}
		}
		return false
	}
	kept := j.parts[:0]
	for _, p := range j.parts {
		if len(kept) == 0 || has(p) == has(kept[0]) {
			kept = append(kept, p)
			continue
		}
		for _, i := range p.rows {
			l.refuse(i, j.name, &body.CellError{Column: identity, Err: errors.New("some rows of the batch have a value for this identity column and others have not; load them by two outputs, or remove the field with a mapping")})
		}
		p.record.Release()
	}
	j.parts = kept
}
