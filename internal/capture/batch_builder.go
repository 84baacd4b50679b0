package capture

import (
	"context"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
)

// batchBuilder cuts a merged sequence of changes into batches of whole transactions. A transaction that is larger than a
// batch is cut, but never between the two rows of an update.
type batchBuilder struct {
	merge *merge
	runs  []Run
	rows  int
	bytes int64

	lsn     checkpoint.LSN // of the last change
	op      int32
	tranRun int // the transaction of the last change begins in runs[tranRun] …
	tranRow int // … after that many rows of the batch
	tranAt  int64
}

// add takes the change that a cursor stands on.
func (b *batchBuilder) add(ctx context.Context, c *cursor) error {
	lsn := c.page.LSN(c.row)
	if lsn != b.lsn {
		if b.full() {
			if err := b.flush(ctx); err != nil {
				return err
			}
		}
		b.lsn, b.tranRun, b.tranRow, b.tranAt = lsn, len(b.runs), b.rows, b.bytes
	} else if b.full() && b.op != changetable.Before {
		if err := b.cut(ctx); err != nil {
			return err
		}
	}
	b.op = c.page.Operation(c.row)
	b.rows++
	b.bytes += int64(c.page.Bytes / c.page.Rows)
	if n := len(b.runs); n > b.tranRun && b.runs[n-1].Page == c.page && b.runs[n-1].To == c.row {
		b.runs[n-1].To++
		return nil
	}
	c.page.Retain()
	b.runs = append(b.runs, Run{Table: c.worker.table, Layout: c.layout, Page: c.page, From: c.row, To: c.row + 1})
	return nil
}

func (b *batchBuilder) full() bool {
	cfg := &b.merge.flow.cfg
	return b.rows >= cfg.MaxRows || b.bytes >= int64(cfg.MaxBytes)
}

// cut gives out what is before the transaction that does not fit any more, or a part of that transaction if it fills the
// batch alone.
func (b *batchBuilder) cut(ctx context.Context) error {
	if b.tranRow == 0 {
		return b.flush(ctx)
	}
	rest := append([]Run(nil), b.runs[b.tranRun:]...)
	rows, bytes := b.rows-b.tranRow, b.bytes-b.tranAt
	b.runs, b.rows, b.bytes = b.runs[:b.tranRun:b.tranRun], b.tranRow, b.tranAt
	err := b.flush(ctx)
	b.runs, b.rows, b.bytes = rest, rows, bytes
	b.tranRun, b.tranRow, b.tranAt = 0, 0, 0
	return err
}

// flush gives out what has gathered.
func (b *batchBuilder) flush(ctx context.Context) error {
	if b.rows == 0 {
		return nil
	}
	f := b.merge.flow
	batch := &Batch{Runs: b.runs, Rows: b.rows, bytes: b.bytes, positions: map[string]checkpoint.Position{}}
	for _, r := range b.runs {
		batch.positions[r.Table.key()] = r.Page.Position(r.To - 1)
	}
	b.runs, b.rows, b.bytes = nil, 0, 0
	b.tranRun, b.tranRow, b.tranAt = 0, 0, 0
	if err := f.budget.acquire(ctx, batch.Rows, batch.bytes); err != nil {
		batch.release()
		return err
	}
	f.enqueue(b.merge.lane, batch)
	return nil
}

// discard gives back what was not given out.
func (b *batchBuilder) discard() {
	for _, r := range b.runs {
		r.Page.Release()
	}
	b.runs = nil
}
