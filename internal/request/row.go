package request

import (
	"context"
	"database/sql/driver"
	"io"

	"example.com/mssqlcdc/internal/session"
)

// Row is a row as it came: cells of the wire where the session speaks TDS itself, else values of the driver. It is good until the
// next one is read.
type Row struct {
	Values []driver.Value
	Cells  [][]byte
	Source session.Cells // of Cells
	First  bool          // of its result set
}

// Len is the number of columns.
func (r *Row) Len() int { return max(len(r.Values), len(r.Cells)) }

// EachRow runs a statement, gives the rows of its first result set to first, and those of the others to each as they came. It
// returns when the request is over. An error of a function ends it.
func EachRow(ctx context.Context, q Querier, s Statement, first func(row []driver.Value) error, each func(row *Row) error) (err error) {
	rows, err := q.Query(ctx, s.Text, s.Decl, s.Args...)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	head := make([]driver.Value, len(rows.Columns()))
	for {
		more, err := Next(rows, head)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := first(head); err != nil {
			return err
		}
	}
	var row Row
	row.Source, _ = rows.(session.Cells)
	for rows.HasNextResultSet() {
		if err := rows.NextResultSet(); err != nil {
			return err
		}
		row.First = true
		if row.Source == nil {
			row.Values = make([]driver.Value, len(rows.Columns()))
		}
		for {
			more, err := row.next(rows)
			if err != nil {
				return err
			}
			if !more {
				break
			}
			if err := each(&row); err != nil {
				return err
			}
			row.First = false
		}
	}
	return nil
}

func (r *Row) next(rows driver.Rows) (more bool, err error) {
	if r.Source == nil {
		return Next(rows, r.Values)
	}
	r.Cells, err = r.Source.NextCells()
	if err == io.EOF { //nolint:errorlint // the end of the rows is io.EOF itself
		return false, nil
	}
	return err == nil, err
}
