package session

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"example.com/mssqlcdc/internal/tds"
)

// ErrRawOff is the reason of a connection whose configuration wants no raw requests.
var ErrRawOff = errors.New("raw_tds is off")

var errProbe = errors.New("probing the connection: the server's raw answer is not what the driver reads")

// distrusted are the servers whose raw answers were not what the driver reads, by
// name, with the reason. Their connections are not taken any more.
var distrusted sync.Map

// direct tells whether requests go past the driver. It is an error where they have
// to and cannot, and where the attempt has cost the connection.
func (c *Conn) direct(ctx context.Context) (bool, error) {
	err := c.take(ctx)
	switch {
	case err == nil:
		return true, nil
	case c.rawMode == RawRequire || ctx.Err() != nil || c.Broken():
		return false, err
	}
	return false, nil
}

// Raw tells whether requests of this connection speak TDS themselves, and if not,
// why. It may make two small requests, once per connection.
func (c *Conn) Raw(ctx context.Context) (bool, error) {
	err := c.take(ctx)
	return err == nil, err
}

// take takes the transport if that was not done yet. Its answer is kept, except
// that of a ctx that ended.
func (c *Conn) take(ctx context.Context) error {
	if c.raw != nil || c.rawErr != nil {
		return c.rawErr
	}
	raw, err := c.tryToTake(ctx)
	if err != nil && ctx.Err() != nil {
		return err
	}
	c.raw, c.rawErr = raw, err
	if c.taken != nil {
		c.taken(show(err, c.secrets))
	}
	return err
}

func (c *Conn) tryToTake(ctx context.Context) (*rawConn, error) {
	if c.rawMode == RawOff {
		return nil, ErrRawOff
	}
	if why, ok := distrusted.Load(c.server); ok {
		err, _ := why.(error)
		return nil, err
	}
	raw, err := newRawConn(c.driver, c.dialer.last(), c.encrypted)
	if err == nil {
		err = c.probe(ctx, raw)
	}
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// probe asks the server the same through the driver and past it.
func (c *Conn) probe(ctx context.Context, raw *rawConn) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	var row []driver.Value
	named, err := arguments(sqlSPID, "", nil)
	if err == nil {
		var rows driver.Rows
		if rows, err = c.driverQuery(ctx, named); err == nil {
			row, err = firstRow(rows)
		}
	}
	if err != nil {
		return fmt.Errorf("probing the connection through the driver: %w", err)
	}
	// From here on the driver may keep its goroutine for a moment.
	if err := raw.again(c.driver); err != nil {
		return err
	}
	var got [][]byte
	rows := 0
	_, err = c.rawRequest(ctx, raw, func(_ *tds.ColMetaData, cells [][]byte) {
		rows++
		got = got[:0]
		for _, cell := range cells {
			got = append(got, bytes.Clone(cell))
		}
	}, func() error { return raw.sendBatch(sqlProbe) })
	if err != nil {
		return fmt.Errorf("probing the connection: %w", err)
	}
	if rows != 1 || !probeAnswer(got, row[0]) {
		c.markBroken()
		c.dialer.closeAll()
		distrusted.Store(c.server, errProbe)
		return errProbe
	}
	return nil
}

// probeAnswer compares the answer to sqlProbe with what it has to be.
func probeAnswer(cells [][]byte, spid driver.Value) bool {
	if len(cells) != 5 {
		return false
	}
	id, ok := tds.Int64(cells[0])
	seven, okSeven := tds.Int64(cells[3])
	want, err := strconv.ParseInt(fmt.Sprint(spid), 10, 64)
	return ok && err == nil && id == want && bytes.Equal(cells[1], []byte{1, 2}) &&
		tds.DecodeUTF16(cells[2]) == "é" && okSeven && seven == 7 && cells[4] == nil
}

// rawRequest sends a request past the driver and reads its reply; row is given the
// rows. When ctx ends, the server is asked to give up, and its confirmation is
// awaited for the drain bound.
func (c *Conn) rawRequest(ctx context.Context, raw *rawConn, row func(*tds.ColMetaData, [][]byte), send func() error) (*reply, error) {
	release := c.watch(ctx)
	defer release()
	if err := send(); err != nil {
		return nil, c.fail(ctx, err)
	}
	stop := raw.attendOn(ctx)
	p, err := raw.read(row)
	attended := stop()
	if err == nil && attended && !p.confirmed {
		_, err = raw.read(nil)
	}
	return p, c.outcome(ctx, p, err, attended)
}

// outcome turns a reply into an error and records what it means for the
// connection. cancelled says that the server has given the request up.
func (c *Conn) outcome(ctx context.Context, p *reply, err error, cancelled bool) error {
	switch {
	case err != nil:
		return c.fail(ctx, err)
	case p.fatal:
		err := p.err()
		if err == nil {
			err = errors.New("the server has ended the session")
		}
		c.markBroken()
		c.dialer.closeAll()
		return show(err, c.secrets)
	case cancelled:
		return ctx.Err()
	case len(p.errs) > 0:
		return show(p.err(), c.secrets)
	case p.failed:
		return errors.New("the server did not complete the request and gave no reason")
	}
	return nil
}
