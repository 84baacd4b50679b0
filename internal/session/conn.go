package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

// drainBound is how long a cancelled request may take to be confirmed before
// its connection is closed.
const drainBound = 2 * time.Second

// ErrNoRows is returned by QueryRow when the query gave no row.
var ErrNoRows = errors.New("query returned no row")

// Conn is one connection. It is used by one goroutine at a time; only Close may
// be called beside it.
type Conn struct {
	driver  *mssql.Conn
	dialer  *watchedDialer
	secrets []string

	server    string
	rawMode   RawMode
	encrypted bool // the connection string asks for TLS
	raw       *rawConn
	rawErr    error // why raw is nil, once that was tried
	taken     func(error)

	mu     sync.Mutex
	broken bool
	closed bool
}

// Query runs text through sp_executesql. declaration is its second argument
// ("@from binary(10), @n int") and args are the values in that order; both may
// be empty. The rows must be closed, or read to their end, before the next
// request. When ctx ends, the request is cancelled at the server and its reply
// is drained; if that takes longer than two seconds the connection is closed.
//
// On a connection that was taken the rows are [Cells].
func (c *Conn) Query(ctx context.Context, text, declaration string, args ...driver.Value) (driver.RowsNextResultSet, error) {
	named, err := arguments(text, declaration, args)
	if err != nil {
		return nil, err
	}
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	direct, err := c.direct(ctx)
	if err != nil {
		return nil, err
	}
	if !direct {
		return c.driverQuery(ctx, named)
	}
	rows, err := c.rawQuery(ctx, named)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// QueryRow runs a query and returns its first row, or ErrNoRows.
func (c *Conn) QueryRow(ctx context.Context, text, declaration string, args ...driver.Value) ([]driver.Value, error) {
	rows, err := c.Query(ctx, text, declaration, args...)
	if err != nil {
		return nil, err
	}
	return firstRow(rows)
}

// firstRow reads the first row and ends the request.
func firstRow(rows driver.Rows) (row []driver.Value, err error) {
	defer func() {
		if closeErr := rows.Close(); err == nil && closeErr != nil {
			row, err = nil, closeErr
		}
	}()
	row = make([]driver.Value, len(rows.Columns()))
	switch err := rows.Next(row); {
	case err == io.EOF: //nolint:errorlint // the end of the rows is io.EOF itself
		return nil, ErrNoRows
	case err != nil:
		return nil, err
	}
	return row, nil
}

// Exec runs text and returns the number of rows that it affected.
func (c *Conn) Exec(ctx context.Context, text, declaration string, args ...driver.Value) (int64, error) {
	named, err := arguments(text, declaration, args)
	if err != nil {
		return 0, err
	}
	if err := c.usable(ctx); err != nil {
		return 0, err
	}
	direct, err := c.direct(ctx)
	if err != nil {
		return 0, err
	}
	if !direct {
		return c.driverExec(ctx, named)
	}
	p, err := c.rawRequest(ctx, c.raw, nil, func() error { return c.raw.sendCall(named) })
	if err != nil {
		return 0, err
	}
	return p.total, nil
}

// Broken tells whether the connection cannot be used any more.
func (c *Conn) Broken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken || c.closed
}

// Close ends the connection. It may be called more than once, and while a
// request is running, which then fails.
func (c *Conn) Close() error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		return nil
	}
	// The sockets are closed under the driver: its own Close would write a TLS
	// alert to a peer that may not be reading.
	c.dialer.closeAll()
	return nil
}

// watch closes the socket when ctx has ended and the driver has not come back
// within the drain bound. The driver itself sends the attention.
func (c *Conn) watch(ctx context.Context) (release func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(drainBound)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			c.markBroken()
			c.dialer.closeAll()
		}
	})
	return sync.OnceFunc(func() {
		stop()
		close(done)
	})
}

func (c *Conn) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.Broken() || !c.driver.IsValid() {
		return ErrClosed
	}
	return nil
}

func (c *Conn) markBroken() {
	c.mu.Lock()
	c.broken = true
	c.mu.Unlock()
}

// fail records what an error means for the connection and cleans its text. A
// cancelled request is reported as such, however it ended. An io.EOF of the
// network never leaves as io.EOF: that means the end of the rows.
func (c *Conn) fail(ctx context.Context, err error) error {
	ctxErr := ctx.Err()
	confirmed := ctxErr != nil && errors.Is(err, ctxErr)
	if !confirmed && !reusable(err) || !c.driver.IsValid() {
		c.markBroken()
		c.dialer.closeAll()
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %s", io.ErrUnexpectedEOF, err.Error())
	}
	if ctxErr != nil && !confirmed {
		err = fmt.Errorf("%w (%w)", ctxErr, err)
	}
	return show(err, c.secrets)
}
