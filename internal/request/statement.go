package request

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
)

// Querier runs a statement through sp_executesql: the text, the declaration of its parameters, and their values in that order.
// session.Conn is one.
type Querier interface {
	Query(ctx context.Context, text, declaration string, args ...driver.Value) (driver.RowsNextResultSet, error)
}

// Statement is a text for sp_executesql with its parameters.
type Statement struct {
	Text, Decl string
	Args       []driver.Value
}

// Param adds a parameter.
func (s *Statement) Param(name, typ string, v driver.Value) {
	if s.Decl != "" {
		s.Decl += ", "
	}
	s.Decl += name + " " + typ
	s.Args = append(s.Args, v)
}

// Each runs a statement and gives every row to each, with the number of its result set and the names of the set's columns. It
// returns when the request is over. An error of each ends it.
func Each(ctx context.Context, q Querier, s Statement, each func(set int, names []string, row []driver.Value) error) error {
	_, err := walk(ctx, q, s, func(set int, names []string) (func([]driver.Value) error, error) {
		return func(row []driver.Value) error { return each(set, names, row) }, nil
	})
	return err
}

// Sets runs a statement and gives the rows of its n-th result set to the n-th function. It returns how many sets there were; more
// than there are functions are an error.
func Sets(ctx context.Context, q Querier, s Statement, sets ...func(row []driver.Value) error) (int, error) {
	return walk(ctx, q, s, func(set int, _ []string) (func([]driver.Value) error, error) {
		if set >= len(sets) {
			return nil, fmt.Errorf("the server sent more than %d result sets", len(sets))
		}
		return sets[set], nil
	})
}

// walk gives the rows of each result set to the function that choose names for it. A row is good until the next one is read.
func walk(ctx context.Context, q Querier, s Statement, choose func(set int, names []string) (func([]driver.Value) error, error)) (sets int, err error) {
	rows, err := q.Query(ctx, s.Text, s.Decl, s.Args...)
	if err != nil {
		return 0, err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	for {
		names := rows.Columns()
		take, err := choose(sets, names)
		if err != nil {
			return sets, err
		}
		sets++
		row := make([]driver.Value, len(names))
		for {
			more, err := Next(rows, row)
			if err != nil {
				return sets, err
			}
			if !more {
				break
			}
			if err := take(row); err != nil {
				return sets, err
			}
		}
		if !rows.HasNextResultSet() {
			return sets, nil
		}
		if err := rows.NextResultSet(); err != nil {
			return sets, err
		}
	}
}

// Next fills dest and tells whether there was a row.
func Next(rows driver.Rows, dest []driver.Value) (bool, error) {
	switch err := rows.Next(dest); {
	case err == nil:
		return true, nil
	case err == io.EOF: //nolint:errorlint // the end of the rows is io.EOF itself
		return false, nil
	default:
		return false, err
	}
}
