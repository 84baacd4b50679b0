package mssqlcdc

import (
	"errors"
	"fmt"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// bulkError is why a load failed: at a table, or for the whole transaction.
type bulkError struct {
	table      catalog.Name
	rows       []int // of the batch, that were on their way to the table
	committing bool  // the connection was lost while the commit was under way
	missing    bool  // the table could not be described
	changes    bool  // the rows were brought into the table by key
	err        error
}

func (e *bulkError) Error() string {
	if e.table == (catalog.Name{}) {
		return "loading: " + e.err.Error()
	}
	return fmt.Sprintf("loading into %s: %v", e.table, e.err)
}

func (e *bulkError) Unwrap() error { return e.err }

// bulkCause is whom an error can be blamed on.
type bulkCause int

const (
	causePasses bulkCause = iota // nobody: it passes
	causeShape                   // the table is not what it was when it was described
	causeTable                   // the table or the rights on it
	causeRow                     // a row
	causeForm                    // rows of this form: the connection has none for them
)

var (
	// Invalid column; number of columns; "schema change of the target table"; columns of the bulk load.
	shapeNumbers = []int32{207, 213, 4891, 4816, 4819, 4814}
	// No such object; no right; no such schema; not found or no right; no right to bulk load.
	tableNumbers = []int32{208, 229, 230, 262, 2760, 1088, 4902, 4834, 15151, 15247}
)

func causeOf(err error) bulkCause {
	var at *bulkError
	var server mssql.Error
	switch {
	// 3906: the database is read-only, as the former primary is after a failover.
	case session.IsTransient(err) || session.IsNetwork(err) || session.HasNumber(err, 3906):
		return causePasses
	case session.HasNumber(err, shapeNumbers...):
		return causeShape
	case session.HasNumber(err, tableNumbers...):
		return causeTable
	case errors.As(err, &server):
		if server.Class >= 17 { // resources and the server itself
			return causePasses
		}
		return causeRow
	case errors.As(err, &at) && at.missing:
		return causeTable
	case errors.Is(err, bulkload.ErrCount):
		return causeRow
	}
	return causeForm
}

// isDuplicate tells whether a unique index has refused a row.
func isDuplicate(err error) bool { return session.HasNumber(err, 2601, 2627) }

// explainRow says what an error of a row means, where the server's text does not.
func explainRow(err error, keyed bool) error {
	if keyed && isDuplicate(err) {
		return fmt.Errorf("%w (another row has its value of a unique index already)", err)
	}
	for _, e := range []struct {
		numbers []int32
		text    string
	}{
		{[]int32{2627, 2601}, "a row with this key is there already, and mode insert only adds rows"},
		{[]int32{547}, "a foreign key or CHECK constraint refuses it"},
		{[]int32{515}, "the column is NOT NULL and has no value"},
		{[]int32{errBulkCount}, "a trigger, a view or IGNORE_DUP_KEY of an index has left it out"},
		{[]int32{3609}, "a trigger of the table has rolled it back"},
	} {
		if session.HasNumber(err, e.numbers...) {
			return fmt.Errorf("%w (%s)", err, e.text)
		}
	}
	return err
}
