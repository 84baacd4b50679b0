package changetable

import (
	"errors"
	"fmt"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/session"
)

// ErrNotStarted is returned for an instance that the capture job has not handled
// yet: there is no LSN to start from. It passes by itself when the job runs.
var ErrNotStarted = errors.New("the capture job has not handled the capture instance yet")

// BehindError says that the server of this connection has not reached the LSN
// that was asked for: a replica that lags, or a database restored to an earlier
// state. It says nothing about rows; the read has to be made again.
type BehindError struct {
	Table  string
	Want   checkpoint.LSN
	Server checkpoint.LSN // zero if cdc.lsn_time_mapping is empty
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("reading changes of %s: the server has reached LSN %s, not yet %s; it is a replica that lags, or the database was restored to an earlier state", e.Table, e.Server, e.Want)
}

// GapError says that changes after a position were removed by cleanup before
// they were read.
type GapError struct {
	Table    string
	Instance string
	Position checkpoint.LSN
	Start    checkpoint.LSN // what is retained begins here
}

func (e *GapError) Error() string {
	return fmt.Sprintf("reading changes of %s: the position is at LSN %s, but capture instance %s retains changes from LSN %s on only, so changes in between are lost; "+
		"to read the table anew, set on_retention_gap to snapshot, or remove its position and stream its snapshot; to go on from what is retained, remove its position alone; and raise the retention with sys.sp_cdc_change_job",
		e.Table, e.Position, e.Instance, e.Start)
}

// ForkError says that the transaction which a position rests on is not in the
// server's history: the database was restored, or a failover lost data.
type ForkError struct {
	Table    string
	Position checkpoint.LSN
	Proof    checkpoint.Proof
	// Found is what the server has at the proof's LSN; zero if nothing.
	Found checkpoint.Proof
}

func (e *ForkError) Error() string {
	found := "has no transaction there"
	if !e.Found.IsZero() {
		found = fmt.Sprintf("has transaction 0x%x of %s there", e.Found.TranID, e.Found.EndTime.Format("2006-01-02 15:04:05.000"))
	}
	return fmt.Sprintf("reading changes of %s: the history of the database has forked: the position at LSN %s rests on transaction 0x%x at LSN %s, committed %s by the server's clock, but the server %s; "+
		"the database was restored or failed over with data loss: remove the table's position and read it again from a snapshot",
		e.Table, e.Position, e.Proof.TranID, e.Proof.StartLSN, e.Proof.EndTime.Format("2006-01-02 15:04:05.000"), found)
}

// InstanceGoneError says that the capture instance or its change table does not
// exist any more.
type InstanceGoneError struct {
	Table    string
	Instance string
	Err      error // the server's error, if it gave one
}

func (e *InstanceGoneError) Error() string {
	text := fmt.Sprintf("reading changes of %s: capture instance %s is gone; enable it again with sys.sp_cdc_enable_table, or exclude the table", e.Table, e.Instance)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the server's error.
func (e *InstanceGoneError) Unwrap() error { return e.Err }

// PermissionError says that the login may not read a change table or metadata.
type PermissionError struct {
	Table  string
	Object string // what may not be read, quoted for T-SQL
	Err    error
}

func (e *PermissionError) Error() string {
	return fmt.Sprintf("reading changes of %s: the login may not read %s; GRANT SELECT ON SCHEMA::[cdc] to it (membership in the gating role of the instance is not enough): %v", e.Table, e.Object, e.Err)
}

// Unwrap gives the server's error.
func (e *PermissionError) Unwrap() error { return e.Err }

// ValueError says that a change has a value that cannot be represented.
type ValueError struct {
	Table    string
	Position checkpoint.Position // of the change
	Err      error               // names the column
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("reading changes of %s: the change at LSN %s, seqval %s, operation %d: %v", e.Table, e.Position.LSN, e.Position.SeqVal, e.Position.Operation, e.Err)
}

// Unwrap gives the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// explain turns the server's answer to a read into what it means for the table.
func explain(err error, table, capture, object string) error {
	switch {
	case err == nil:
		return nil
	case session.HasNumber(err, 208, 22920):
		return &InstanceGoneError{Table: table, Instance: capture, Err: err}
	case session.IsDenied(err):
		return &PermissionError{Table: table, Object: object, Err: err}
	}
	return fmt.Errorf("reading changes of %s: %w", table, err)
}
