package server

import (
	"bufio"
	"context"
	"io"
	"sync"

	"example.com/mssqlcdc/internal/tds"
)

// request is one message of the client, given to the worker as soon as its first packet is there: a bulk load is as
// long as it likes.
type request struct {
	typ    tds.PacketType
	status tds.Status // of the first packet: the reset bits
	body   *body
	ctx    context.Context
}

// chunk is the body of one packet.
type chunk struct {
	data []byte
	err  error // io.EOF on the last one, tds.ErrIgnored
}

// body is a message's bytes. The reader goroutine fills it, the worker reads it.
type body struct {
	ctx    context.Context
	chunks chan chunk
	free   chan []byte
	cur    []byte
	whole  []byte // the buffer that cur is the rest of
	err    error
}

// bodyDepth is how many packets of a message may wait for the worker; beyond it the client is made to wait.
const bodyDepth = 16

func (b *body) Read(p []byte) (int, error) {
	for len(b.cur) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if b.whole != nil {
			select {
			case b.free <- b.whole:
			default:
			}
			b.whole = nil
		}
		select {
		case c := <-b.chunks:
			b.cur, b.whole, b.err = c.data, c.data, c.err
		case <-b.ctx.Done():
			b.err = b.ctx.Err()
		}
	}
	n := copy(p, b.cur)
	b.cur = b.cur[n:]
	return n, nil
}

// discard reads the message to its end.
func (b *body) discard() error {
	_, err := io.Copy(io.Discard, b)
	return err
}

// requests is where the two goroutines of a connection meet.
//
// The reader takes the idle token, so that at most one request is with the worker; what comes in meanwhile can only be
// the rest of that message, or an attention, or a client that does not wait for its answer and is made to.
type requests struct {
	queue chan *request
	idle  chan struct{}
	free  chan []byte

	mu     sync.Mutex
	cancel context.CancelFunc // of the request that the worker has, nil between requests
	attn   bool               // that request got an attention
}

func newRequests() *requests {
	r := &requests{queue: make(chan *request, 1), idle: make(chan struct{}, 1), free: make(chan []byte, bodyDepth+2)}
	r.idle <- struct{}{}
	return r
}

// read is the reader goroutine: it ends with the connection or ctx, and closes the queue then.
func (q *requests) read(ctx context.Context, rd *bufio.Reader) {
	defer close(q.queue)
	var cur *body
	for {
		hdr, data, err := q.packet(rd)
		if err != nil {
			return
		}
		if hdr.Type == tds.PacketAttention {
			if cur != nil { // the message will not go on
				q.put(cur, chunk{err: tds.ErrIgnored})
				cur = nil
			}
			if !q.interrupt() && !q.give(ctx, hdr, nil) {
				return
			}
			continue
		}
		if cur == nil {
			cur = &body{chunks: make(chan chunk, bodyDepth), free: q.free}
			if !q.give(ctx, hdr, cur) {
				return
			}
		}
		c := chunk{data: data}
		if hdr.Status&tds.StatusEOM != 0 {
			c.err = io.EOF
			if hdr.Status&tds.StatusIgnore != 0 {
				c.err = tds.ErrIgnored
			}
		}
		q.put(cur, c)
		if c.err != nil {
			cur = nil
		}
	}
}

// put hands a packet to the worker; a request that has ended reads no more.
func (q *requests) put(b *body, c chunk) {
	select {
	case b.chunks <- c:
	case <-b.ctx.Done():
	}
}

// give hands a new request to the worker once that is idle.
func (q *requests) give(ctx context.Context, hdr tds.Header, b *body) bool {
	select {
	case <-q.idle:
	case <-ctx.Done():
		return false
	}
	rctx, cancel := context.WithCancel(ctx)
	if b != nil {
		b.ctx = rctx
	}
	q.mu.Lock()
	q.cancel, q.attn = cancel, false
	q.mu.Unlock()
	q.queue <- &request{typ: hdr.Type, status: hdr.Status, body: b, ctx: rctx}
	return true
}

// interrupt cancels the request that is being worked on, if there is one.
func (q *requests) interrupt() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cancel == nil {
		return false
	}
	q.attn = true
	q.cancel()
	return true
}

// running reports whether a request is being worked on.
func (q *requests) running() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cancel != nil
}

// end closes the request at hand for attentions and reports whether one hit it; what comes later is a request of its own.
func (q *requests) end() (attn bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	attn = q.attn
	if q.cancel != nil {
		q.cancel()
	}
	q.cancel, q.attn = nil, false
	return attn
}

// next makes room for the next request.
func (q *requests) next() { q.idle <- struct{}{} }

// packet reads one packet into a recycled buffer.
func (q *requests) packet(rd io.Reader) (tds.Header, []byte, error) {
	var raw [tds.HeaderSize]byte
	if _, err := io.ReadFull(rd, raw[:]); err != nil {
		return tds.Header{}, nil, err
	}
	hdr, err := tds.ParseHeader(raw[:])
	if err != nil {
		return tds.Header{}, nil, err
	}
	n := int(hdr.Length) - tds.HeaderSize
	var buf []byte
	select {
	case buf = <-q.free:
	default:
	}
	if cap(buf) < n {
		buf = make([]byte, n, max(n, 4096))
	}
	buf = buf[:n]
	if _, err := io.ReadFull(rd, buf); err != nil {
		return tds.Header{}, nil, err
	}
	return hdr, buf, nil
}
