package mssqlcdc

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/merge"
)

// mostChanges is how many rows a transaction of upsert and apply has at most: at 5,000 locks of a statement the server would lock
// the table.
const mostChanges = 4000

// landAll brings the messages of a batch into their tables, in as many transactions as they need.
func (l *bulkLanding) landAll(ctx context.Context, all []int) error {
	if !l.out.cfg.mode.keyed {
		return l.land(ctx, all)
	}
	for len(all) > 0 {
		if operation, id := l.markOf(all[0]); operation != "" {
			if err := l.taint(ctx); err != nil {
				return err
			}
			if err := l.landMark(ctx, all[0], operation, id); err != nil {
				return err
			}
			all = all[1:]
			continue
		}
		n, rows := 0, 0
		for n < len(all) {
			if operation, _ := l.markOf(all[n]); operation != "" {
				break
			}
			rows += l.rowsOf(all[n])
			if n > 0 && rows > mostChanges {
				break
			}
			n++
		}
		n = l.together(ctx, all[:n])
		l.backwards = false
		var err error
		if rows = l.rowsOf(all[0]); n == 1 && rows > mostChanges && l.mayCut(all[0]) {
			err = l.landWindows(ctx, all[0], rows)
		} else {
			err = l.land(ctx, all[:n])
		}
		if err != nil {
			return err
		}
		all = all[n:]
	}
	return l.taint(ctx)
}

// rowWindow is the rows of a message that a transaction has; the zero window is all of them.
type rowWindow struct{ from, to int }

// mayCut tells whether the rows of a message may land in several transactions: not where the whole message may have to go into the
// table of refused rows, nor where one mark stands for all of them.
func (l *bulkLanding) mayCut(i int) bool {
	return l.out.rejects == nil && (l.out.fence == nil || l.places[i].rows != nil)
}

// landWindows brings the rows of a large message into their table.
func (l *bulkLanding) landWindows(ctx context.Context, i, rows int) error {
	defer func() { l.window = rowWindow{} }()
	for from := 0; from < rows; from += mostChanges {
		l.window = rowWindow{from, min(from+mostChanges, rows)}
		l.landed[i] = false
		if err := l.land(ctx, []int{i}); err != nil || !l.landed[i] {
			return err
		}
	}
	return nil
}

// lastOf is the place of the last row of a message that the transaction has.
func (l *bulkLanding) lastOf(i int) merge.Token {
	if p := l.places[i]; l.window.to == 0 || p.rows == nil {
		return p.last
	}
	return l.places[i].rows[l.window.to-1]
}

// rowsOf is how many rows a message has.
func (l *bulkLanding) rowsOf(i int) int {
	records, err := l.arrowOf(i)
	if err != nil || records == nil {
		return 1 // decoding says what is wrong
	}
	rows := 0
	for _, rec := range records {
		rows += int(rec.NumRows())
	}
	return rows
}

// arrowOf reads a message in Arrow's format, once. It is nil for other messages.
func (l *bulkLanding) arrowOf(i int) ([]arrow.RecordBatch, error) {
	if records, ok := l.records[i]; ok {
		return records, nil
	}
	m := l.batch[i]
	if m.HasStructured() && !m.HasBytes() {
		return nil, nil
	}
	bytes, err := m.AsBytes()
	if err != nil || !body.IsArrow(bytes) {
		return nil, err
	}
	records, err := body.ReadArrow(bytes, l.out.cfg.decode.Mem)
	if err != nil {
		return nil, err
	}
	l.records[i] = records
	return records, nil
}

func (l *bulkLanding) releaseRecords() {
	for _, records := range l.records {
		for _, rec := range records {
			rec.Release()
		}
	}
	clear(l.records)
}

// isMark tells a message that says where a snapshot begins or ends, and has no row.
func (l *bulkLanding) isMark(i int) bool {
	m := l.batch[i]
	if op := metaText(m, "operation"); op != "snapshot_begin" && op != "snapshot_end" || m.HasStructured() {
		return false
	}
	bytes, err := m.AsBytes()
	return err == nil && len(bytes) == 0
}
