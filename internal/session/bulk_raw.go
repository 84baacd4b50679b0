package session

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/mssqlcdc/internal/tds"
)

// rawBulk is a bulk load past the driver. While rows are sent, a goroutine waits
// for the reply: it is what notices a server that has had enough, or has gone.
type rawBulk struct {
	conn    *Conn
	raw     *rawConn
	ctx     context.Context // of the load
	release func()          // of the watch over ctx
	replies chan bulkReply
	ended   chan struct{} // closed when nothing is written any more
	gone    chan struct{} // closed by the goroutine
	whole   atomic.Bool   // the last packet is on its way
}

type bulkReply struct {
	reply *reply
	err   error
}

// rawBulk sends the statement and begins the message of the rows (2.2.6.1 Bulk
// Load BCP).
func (c *Conn) rawBulk(ctx context.Context, load *BulkLoad) (*rawBulk, error) {
	if _, err := c.rawRequest(ctx, c.raw, nil, func() error { return c.raw.sendBatch(load.Statement()) }); err != nil {
		return nil, fmt.Errorf("beginning a bulk load of %s: %w", load.Table, err)
	}
	b := &rawBulk{
		conn: c, raw: c.raw, ctx: ctx, release: c.watch(ctx),
		replies: make(chan bulkReply, 1), ended: make(chan struct{}), gone: make(chan struct{}),
	}
	go b.listen()
	err := b.raw.wr.Begin(tds.PacketBulkLoad, 0)
	if err == nil {
		_, err = b.raw.wr.Write(load.metadata())
	}
	if err != nil {
		return nil, b.lost(ctx, err)
	}
	return b, nil
}

// listen waits for the reply. One that comes before the last packet is an error;
// the server may not read on, so that a blocked Write has to be ended.
func (b *rawBulk) listen() {
	defer close(b.gone)
	p, err := b.raw.read(nil)
	early := !b.whole.Load()
	b.replies <- bulkReply{p, err}
	if err != nil {
		b.conn.dialer.closeAll()
		return
	}
	if !early {
		return
	}
	timer := time.NewTimer(drainBound)
	defer timer.Stop()
	select {
	case <-b.ended:
	case <-timer.C:
		b.conn.dialer.closeAll()
	}
}

func (b *rawBulk) write(rows []byte) error {
	if err := b.ctx.Err(); err != nil {
		return b.cancel(b.ctx)
	}
	select {
	case r := <-b.replies:
		return b.early(r)
	default:
	}
	if _, err := b.raw.wr.Write(rows); err != nil {
		return b.lost(b.ctx, err)
	}
	return nil
}

func (b *rawBulk) finish(ctx context.Context) (int64, error) {
	for _, c := range []context.Context{b.ctx, ctx} {
		if c.Err() != nil {
			return 0, b.cancel(c)
		}
	}
	select {
	case r := <-b.replies:
		return 0, b.early(r)
	default:
	}
	release := b.conn.watch(ctx)
	defer release()
	done := tds.Done{}
	_, err := b.raw.wr.Write(done.Append(nil))
	if err == nil {
		b.whole.Store(true)
		err = b.raw.wr.End()
	}
	if err != nil {
		return 0, b.lost(ctx, err)
	}
	var r bulkReply
	attended, ended := false, ctx
	select {
	case r = <-b.replies:
	case <-ctx.Done():
		attended = true
	case <-b.ctx.Done():
		attended, ended = true, b.ctx
	}
	if attended {
		_ = b.raw.attention() // as in attendOn
		r = <-b.replies
	}
	b.close()
	p := r.reply
	if r.err == nil && attended && !p.confirmed {
		_, r.err = b.raw.read(nil)
	}
	// A reply that counts the rows was faster than the attention: they are stored.
	if err := b.conn.outcome(ended, p, r.err, attended && (p == nil || !p.counted)); err != nil {
		return 0, err
	}
	return p.count, nil
}

func (b *rawBulk) abort(context.Context) error {
	err := b.withdraw()
	if err != nil {
		return b.conn.fail(context.Background(), fmt.Errorf("withdrawing a bulk load: %w", err))
	}
	return nil
}

// cancel withdraws the load because ctx has ended.
func (b *rawBulk) cancel(ctx context.Context) error {
	if err := b.withdraw(); err != nil {
		return b.conn.fail(ctx, err)
	}
	return ctx.Err()
}

// errEarly says that a reply came before the message was whole. Whether the
// server answers its end as well is not known, so the connection is given up.
var errEarly = errors.New("the server answered before all rows were sent")

// withdraw ends the message with the bit that makes the server forget it, and
// waits for the answer within the drain bound. After an error the connection is
// of no more use.
func (b *rawBulk) withdraw() error {
	defer b.close()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	release := b.conn.watch(over)
	defer release()
	select {
	case r := <-b.replies:
		if r.err != nil {
			return r.err
		}
		return errEarly
	default:
	}
	b.whole.Store(true)
	if err := b.raw.wr.Abort(); err != nil {
		b.conn.dialer.closeAll()
		return err
	}
	r := <-b.replies
	switch {
	case r.err != nil:
		return r.err
	case r.reply.fatal:
		return errors.New("the server has ended the session")
	case len(r.reply.errs) > 0: // of the rows, not of the withdrawal: it came early
		return errEarly
	}
	return nil
}

// early ends a load whose reply came before its last packet.
func (b *rawBulk) early(r bulkReply) error {
	b.conn.markBroken()
	b.conn.dialer.closeAll()
	b.close()
	err := r.err
	if err == nil {
		if err = r.reply.err(); err == nil {
			err = errEarly
		}
	}
	return b.conn.fail(b.ctx, err)
}

// lost ends a load whose connection cannot be written to. The reply that may have
// come before says more than the error of the write.
func (b *rawBulk) lost(ctx context.Context, err error) error {
	b.conn.markBroken()
	b.conn.dialer.closeAll()
	r := <-b.replies
	b.close()
	if r.err == nil && r.reply.err() != nil {
		err = r.reply.err()
	}
	return b.conn.fail(ctx, err)
}

// close waits for the goroutine.
func (b *rawBulk) close() {
	close(b.ended)
	<-b.gone
	b.release()
}
