package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/catalog"
)

// markOf tells whether a message is a mark of a snapshot whose end removes rows, and which.
func (l *bulkLanding) markOf(i int) (operation, id string) {
	if !l.out.cfg.mode.deleteMissing {
		return "", ""
	}
	if id = metaText(l.batch[i], "snapshot_id"); id == "" {
		return "", ""
	}
	if operation, err := l.operationOf(i); err == nil && (operation == "snapshot_begin" || operation == "snapshot_end") {
		return operation, id
	}
	return "", ""
}

// landMark does what a mark says, after everything before it has landed. Its error is the end of ctx or wraps service.ErrNotConnected.
func (l *bulkLanding) landMark(ctx context.Context, i int, operation, id string) error {
	name, err := l.name(i)
	if err != nil {
		l.refuse(i, catalog.Name{}, err)
		return nil
	}
	if l.marksWait(name) {
		l.held[i] = errLaneWaits
		return nil
	}
	err = l.persist(ctx, func() error { return l.tryMark(ctx, name, operation, id) })
	switch {
	case err == nil:
		l.recovered()
		l.landed[i] = true
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, service.ErrNotConnected):
		return err
	}
	l.refuse(i, name, fmt.Errorf("%w; on_snapshot_end: delete_missing keeps the keys of a snapshot in tables beside this one, which needs CREATE TABLE in the database and ALTER on the schema", err))
	return nil
}

func (l *bulkLanding) tryMark(ctx context.Context, name catalog.Name, operation, id string) error {
	w, err := l.connect(ctx)
	if err != nil {
		return err
	}
	w.forget(name) // another writer may have begun it
	t, err := w.table(ctx, name)
	switch {
	case err != nil && l.out.cfg.create && isMissing(err):
		return nil // it is made by the first row, and has nothing to remove
	case err != nil:
		return err
	case t.seen == nil:
		l.out.log.Warnf("table %s has no key, so nothing is removed from it at the end of its snapshot", name)
		return nil
	case operation == "snapshot_begin":
		return t.seen.Begin(ctx, w.conn, id)
	case t.seen.ID != id:
		l.out.log.Debugf("the snapshot %s of %s has ended already, or did not begin here: nothing is removed", id, name)
		return nil
	}
	incomplete := t.seen.Incomplete
	n, err := t.seen.End(ctx, w.conn)
	w.forget(name)
	switch {
	case err != nil:
		return err
	case incomplete:
		l.out.log.Errorf("rows of the snapshot %s of %s were refused, so it is not known what the source has: no row is removed; mend the rows and take another snapshot", id, name)
	default:
		l.out.log.Infof("the snapshot of %s is complete: %d rows that it did not have were removed", name, n)
	}
	return nil
}

// taint notes for tables with a snapshot under way that rows of theirs were refused.
func (l *bulkLanding) taint(ctx context.Context) error {
	if !l.out.cfg.mode.deleteMissing || len(l.failed)+len(l.astray) == 0 {
		return nil
	}
	names := map[catalog.Name]bool{}
	for _, i := range slices.AppendSeq(slices.Clone(l.astray), maps.Keys(l.failed)) {
		if name, err := l.name(i); err == nil {
			names[name] = true
		}
	}
	for name := range names {
		err := l.persist(ctx, func() error { return l.taintTable(ctx, name) })
		switch {
		case err == nil:
		case ctx.Err() != nil || errors.Is(err, service.ErrNotConnected):
			return err
		default:
			return fmt.Errorf("%w: %w", service.ErrNotConnected, err)
		}
	}
	return nil
}

func (l *bulkLanding) taintTable(ctx context.Context, name catalog.Name) error {
	w, err := l.connect(ctx)
	if err != nil {
		return err
	}
	t, err := w.table(ctx, name)
	if err != nil && isMissing(err) {
		return nil
	}
	if err != nil || t.seen == nil || t.seen.ID == "" || t.seen.Incomplete {
		return err
	}
	return t.seen.Taint(ctx, w.conn)
}
