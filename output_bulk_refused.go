package mssqlcdc

import (
	"context"
	"slices"

	"example.com/mssqlcdc/internal/merge"
)

// strict tells that a refused row holds its batch back: with exactly_once nothing may land ahead of it, and there is no table to put
// it into.
func (l *bulkLanding) strict() bool { return l.out.fence != nil && l.out.rejects == nil }

// open are the rows that are still to be loaded, and those that are refused and wait to be stored as such.
func (l *bulkLanding) open(rows []int) (open, bad []int) {
	for _, i := range rows {
		switch {
		case l.landed[i] || l.held[i] != nil:
		case l.failed[i] == nil:
			open = append(open, i)
		case l.out.rejects != nil || l.lost[i] == nil:
			bad = append(bad, i)
		}
	}
	return open, bad
}

// standStill waits with refused rows until they may land.
func (l *bulkLanding) standStill(ctx context.Context, bad []int) error {
	first := slices.Min(bad)
	l.out.log.Errorf("%v; its lane stands still until that is mended, because exactly_once keeps the order and there is no reject_table", l.failed[first])
	l.told = true
	if err := l.wait(ctx, l.failed[first], false); err != nil {
		return err
	}
	l.reopen(bad)
	l.forgetAll()
	l.shaped, l.retries = false, l.out.cfg.maxRetries
	return nil
}

func (l *bulkLanding) anyFailed(rows []int) bool {
	return slices.ContainsFunc(rows, func(i int) bool { return l.failed[i] != nil })
}

func (l *bulkLanding) anyRejects(rows []int) bool { return l.out.rejects != nil && l.anyFailed(rows) }

// reject stores those of the rows that are refused, in the transaction.
func (l *bulkLanding) reject(ctx context.Context, w *bulkWorker, rows []int) error {
	if l.out.rejects == nil {
		return nil
	}
	for _, i := range rows {
		if l.failed[i] == nil {
			continue
		}
		if err := l.out.rejects.Add(ctx, w.conn, l.rejectOf(i)); err != nil {
			return &bulkError{rows: rows, err: err}
		}
	}
	return nil
}

// rejectOf is a refused message as it is stored.
func (l *bulkLanding) rejectOf(i int) *merge.Reject {
	m := l.batch[i]
	x := &merge.Reject{Error: l.failed[i].Error(), Key: metaText(m, "key"), EventID: metaText(m, "event_id"), Operation: metaText(m, "operation")}
	if name, err := l.name(i); err == nil {
		x.Target = name.String()
	}
	if l.places != nil {
		x.Channel, x.Token = l.places[i].lane.Channel, l.places[i].first.String()
	}
	x.Body, _ = m.AsBytes() // what has no bytes is stored without
	return x
}

// rejected notes that a refused row is stored as such.
func (l *bulkLanding) rejected(i int) {
	l.out.log.Warnf("%v; it is in %s", l.failed[i], l.out.cfg.rejects)
	l.out.observer.rejected.Incr(1, l.out.cfg.rejects)
	delete(l.failed, i)
}
