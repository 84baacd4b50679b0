package merge

import (
	"context"
	"database/sql/driver"
	"io"

	"example.com/mssqlcdc/internal/session"
)

// results runs text and reads all its result sets to their end. To stop before it would cancel the request, which may roll the
// transaction back.
func results(ctx context.Context, conn *session.Conn, text, declaration string, args ...driver.Value) (sets [][][]driver.Value, err error) {
	rows, err := conn.Query(ctx, text, declaration, args...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	for {
		var set [][]driver.Value
		for {
			row := make([]driver.Value, len(rows.Columns()))
			if err = rows.Next(row); err != nil {
				break
			}
			set = append(set, row)
		}
		if err != io.EOF { //nolint:errorlint // the end of the rows is io.EOF itself
			return nil, err
		}
		sets = append(sets, set)
		if !rows.HasNextResultSet() {
			return sets, nil
		}
		if err = rows.NextResultSet(); err == io.EOF { //nolint:errorlint // as above
			return sets, nil
		} else if err != nil {
			return nil, err
		}
	}
}
