package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// widening is a message with a field that its table has no column for.
type widening struct {
	message int
	table   catalog.Name
	err     error
}

// refuseOrWiden refuses a message, unless its table can be given the column that it lacks.
func (l *bulkLanding) refuseOrWiden(i int, table catalog.Name, err error) {
	if !l.out.cfg.addColumns || !errors.Is(err, body.ErrNoColumn) {
		l.refuse(i, table, err)
		return
	}
	if l.widened[i] {
		l.refuse(i, table, fmt.Errorf("%w (add_column takes the types of columns from the metadata schema, which mssql_cdc sets, or from a body in Arrow's format; neither speaks of this one)", err))
		return
	}
	l.wider = append(l.wider, widening{i, table, err})
}

// widen adds the columns that messages speak of to their tables. No transaction is open: the statement waits for all that others
// do with the table, and what it has done stays when the rows do not land. Its error makes the rows be decoded anew.
func (l *bulkLanding) widen(ctx context.Context, w *bulkWorker) error {
	waiting := l.wider
	l.wider = nil
	if l.widened == nil {
		l.widened = map[int]bool{}
	}
	for _, m := range waiting {
		err := l.widenFor(ctx, w, m)
		switch {
		case err == nil:
			l.widened[m.message] = true
		case causeOf(err) == causeTable:
			l.refuse(m.message, m.table, fmt.Errorf("%w; on_unknown_field: add_column could not add it: GRANT ALTER ON %s TO the login, or add the column yourself: %w", m.err, m.table.Quoted(), err))
		default:
			return &bulkError{table: m.table, rows: []int{m.message}, err: err}
		}
	}
	return errBulkAgain
}

func (l *bulkLanding) widenFor(ctx context.Context, w *bulkWorker, m widening) error {
	columns, err := l.columnsOf(m.message)
	if err != nil {
		return nil // the second time the message is refused, with the reason
	}
	for range widenTries {
		w.forget(m.table)
		t, err := w.table(ctx, m.table)
		if err != nil {
			return err
		}
		var list, names []string
		for _, c := range columns {
			if t.target.Column(c[0]) < 0 {
				list, names = append(list, catalog.Quote(c[0])+" "+c[1]+" NULL"), append(names, c[0])
			}
		}
		if len(list) == 0 {
			return nil // another writer has added it since the table was described
		}
		err = w.conn.Batch(ctx, fmt.Sprintf(sqlBulkAdd, m.table.Quoted(), strings.Join(list, ", ")))
		w.forget(m.table)
		if err == nil {
			l.out.log.Infof("table %s had no column for fields of its messages and was given %s", m.table, strings.Join(names, ", "))
			return nil
		}
		if !session.HasNumber(err, errBulkColumnExists) { // another writer has been faster
			return fmt.Errorf("adding columns to %s: %w", m.table, err)
		}
	}
	return nil
}

// widenTries is how often another writer may be faster.
const widenTries = 5
