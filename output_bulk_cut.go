package mssqlcdc

import (
	"context"

	"example.com/mssqlcdc/internal/body"
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
		n, rows := 0, 0
		for n < len(all) {
			rows += l.rowsOf(all[n])
			if n > 0 && rows > mostChanges {
				break
			}
			n++
		}
		if err := l.land(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// rowsOf is how many rows a message has.
func (l *bulkLanding) rowsOf(i int) int {
	m := l.batch[i]
	if !m.HasBytes() {
		return 1
	}
	bytes, err := m.AsBytes()
	if err != nil || !body.IsArrow(bytes) {
		return 1
	}
	records, err := body.ReadArrow(bytes, l.out.cfg.decode.Mem)
	if err != nil {
		return 1 // decoding says what is wrong
	}
	rows := 0
	for _, rec := range records {
		rows += int(rec.NumRows())
		rec.Release()
	}
	return rows
}
