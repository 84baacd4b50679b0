package snapshot

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/session"
)

// tableLock is a shared lock on a table: while it is held, nobody has changed the
// table without having committed, and nobody changes it.
type tableLock struct {
	conn   Conn
	table  string
	object string

	held  bool
	mark  Mark
	place place
}

// place is what sqlPlace selects.
type place struct{ server, database, updateability string }

func placeOf(row []driver.Value) place {
	return place{fmt.Sprint(row[0]), fmt.Sprint(row[1]), fmt.Sprint(row[2])}
}

// take waits for the lock. The mark is taken while it is held.
func (l *tableLock) take(ctx context.Context) error {
	var tranCount driver.Value
	l.held = true // whatever happens, there may be a transaction to end
	err := request.Each(ctx, l.conn, request.Statement{Text: sqlLock(l.object)}, func(set int, _ []string, row []driver.Value) (err error) {
		if set == 0 {
			l.mark.After, err = request.LSN(row[0])
			return err
		}
		if err := width(row, 6); err != nil {
			return err
		}
		at, atOK := row[0].(time.Time)
		offset, offsetOK := row[1].(int64)
		if !atOK || !offsetOK {
			return fmt.Errorf("reading the server's time: the driver gave a %T and a %T", row[0], row[1])
		}
		l.mark.Time = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
		l.mark.OffsetMinutes = int(offset)
		l.place, tranCount = placeOf(row[2:5]), row[5]
		return nil
	})
	if tranCount == int64(1) && session.HasNumber(err, numberMismatch) {
		err = nil
	}
	switch {
	case err != nil:
		err = fmt.Errorf("locking the table for the moment in which its snapshot begins: %w", err)
	case l.place.updateability != "READ_WRITE":
		err = errReplica
	case tranCount != int64(1):
		err = fmt.Errorf("locking the table: the server says that %v transactions are open, not one", tranCount)
	}
	if err != nil {
		_ = l.release(ctx) // the first error counts; a broken session has no lock any more
	}
	return err
}

// release ends the transaction that holds the lock. It is an error if the lock
// was lost before.
func (l *tableLock) release(ctx context.Context) error {
	if !l.held {
		return nil
	}
	l.held = false
	// A cancelled read must not leave the lock behind.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	var tranCount driver.Value
	err := request.Each(ctx, l.conn, request.Statement{Text: sqlEndTransaction}, func(_ int, _ []string, row []driver.Value) error {
		tranCount = row[0]
		return nil
	})
	if err != nil && !session.HasNumber(err, numberMismatch) {
		return fmt.Errorf("reading a snapshot of %s: releasing the lock: %w", l.table, err)
	}
	if tranCount != int64(1) {
		return fmt.Errorf("reading a snapshot of %s: the lock was lost before the snapshot had begun", l.table)
	}
	return nil
}

// numberMismatch is the error by which a server may remark that a batch leaves
// another number of transactions open than it found. That is meant here, and the
// number is asked for.
const numberMismatch = 266

var errReplica = errors.New("the connection is to a read-only replica, where writers cannot be kept out; a table without a key is read from the primary alone: take ApplicationIntent=ReadOnly out of the connection string")

// releaseBound is how long the release of the lock may take.
const releaseBound = 5 * time.Second
