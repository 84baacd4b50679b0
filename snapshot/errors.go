package snapshot

import (
	"errors"
	"fmt"
	"strings"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/session"
)

// ErrNotStarted is returned while the capture job has not handled the capture
// instance yet: there is no position that a stream could go on from. It passes by
// itself when the job runs.
var ErrNotStarted = errors.New("the capture job has not handled the capture instance yet")

// BehindError says that the server of this connection has not reached the
// handover: a replica that lags. It says nothing about rows; the read has to be
// made again.
type BehindError struct {
	Table  string
	Want   checkpoint.LSN
	Server checkpoint.LSN // zero if cdc.lsn_time_mapping is empty
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("reading a snapshot of %s: the server has reached LSN %s, not yet the handover at %s; it is a replica that lags, or the database was restored to an earlier state", e.Table, e.Server, e.Want)
}

// GoneError says that the table or its capture instance does not exist any more,
// or is not what it was.
type GoneError struct {
	Table    string
	Instance string
	Err      error // the server's error, if it gave one
}

func (e *GoneError) Error() string {
	if e.Instance == "" {
		text := fmt.Sprintf("reading %s: the table or its key's index is gone", e.Table)
		if e.Err != nil {
			text += ": " + e.Err.Error()
		}
		return text
	}
	text := fmt.Sprintf("reading a snapshot of %s: the table, its key's index or its capture instance %s is gone; start the snapshot anew, or exclude the table", e.Table, e.Instance)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the server's error.
func (e *GoneError) Unwrap() error { return e.Err }

// PermissionError says that the login may not read the table or what describes
// it.
type PermissionError struct {
	Table  string
	Object string // what may not be read, quoted for T-SQL
	Err    error  // the server's error, if it gave one
}

func (e *PermissionError) Error() string {
	text := fmt.Sprintf("reading a snapshot of %s: the login may not read %s; GRANT SELECT ON %s to it", e.Table, e.Object, e.Object)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the server's error.
func (e *PermissionError) Unwrap() error { return e.Err }

// RestrictedError says that the server would give this login other values or
// fewer rows than the table has.
type RestrictedError struct {
	Table string
	// Masked are the captured columns that are masked for the login, Policies the
	// security policies that filter the table's rows, quoted for T-SQL.
	Masked   []string
	Policies []string
}

func (e *RestrictedError) Error() string {
	var what []string
	if len(e.Masked) > 0 {
		what = append(what, fmt.Sprintf("the columns %s are masked and the login would read the mask; GRANT UNMASK to it, or allow masked values", strings.Join(e.Masked, ", ")))
	}
	if len(e.Policies) > 0 {
		what = append(what, fmt.Sprintf("the security policies %s filter its rows, while changes are captured of all of them; let their predicates pass the login, or allow filtered rows", strings.Join(e.Policies, ", ")))
	}
	return fmt.Sprintf("reading a snapshot of %s: %s", e.Table, strings.Join(what, "; "))
}

// FilterError says that the condition of Options.Filter is refused.
type FilterError struct {
	Table  string
	Filter string
	Err    error
}

func (e *FilterError) Error() string {
	return fmt.Sprintf("reading a snapshot of %s: the filter %q is not a condition on its columns: %v", e.Table, e.Filter, e.Err)
}

// Unwrap gives the server's error.
func (e *FilterError) Unwrap() error { return e.Err }

// KeyError says that a key does not fit the table: it is of another table, or the
// table's key was changed since.
type KeyError struct {
	Table string
	Key   Key
	Want  []string // the columns that chunks go by now, with their types
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("reading a snapshot of %s: the key (%s) is not of the table's key (%s), which was changed since; start the snapshot of the table anew",
		e.Table, strings.Join(e.Key.columnTexts(), ", "), strings.Join(e.Want, ", "))
}

// KeylessError says that a table without a usable key cannot be read, because its
// one pass needs SNAPSHOT isolation.
type KeylessError struct {
	Table string
	Err   error // the server's error, if it gave one
}

func (e *KeylessError) Error() string {
	return fmt.Sprintf("reading a snapshot of %s: the table has neither a primary key nor a unique index over columns that cannot be NULL, so it is read in one pass, "+
		"which without SNAPSHOT isolation would lock it from beginning to end; ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON, or give the table a key, or exclude it", e.Table)
}

// Unwrap gives the server's error.
func (e *KeylessError) Unwrap() error { return e.Err }

// ValueError says that a row has a value that cannot be represented.
type ValueError struct {
	Table string
	Err   error // names the column
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("reading a snapshot of %s: %v", e.Table, e.Err)
}

// Unwrap gives the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// filterNumbers are errors that a condition raises while it is evaluated:
// conversions, overflow, division by zero.
var filterNumbers = []int32{220, 241, 242, 245, 8114, 8115, 8134}

// explain turns the server's answer to a read into what it means for the table.
func (r *Reader) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case session.HasNumber(err, 208, 307, 308, 207, 22920) && r.opts.Filter == "",
		session.HasNumber(err, 208, 307, 308, 22920):
		return &GoneError{Table: r.plan.table, Instance: r.inst.Capture, Err: err}
	case session.IsDenied(err):
		return &PermissionError{Table: r.plan.table, Object: r.plan.object, Err: err}
	case r.opts.Filter != "" && session.HasNumber(err, filterNumbers...):
		return &FilterError{Table: r.plan.table, Filter: r.opts.Filter, Err: err}
	}
	return r.wrap(err)
}

func (r *Reader) wrap(err error) error {
	return fmt.Errorf("reading a snapshot of %s: %w", r.plan.table, err)
}
