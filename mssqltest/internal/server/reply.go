package server

import "example.com/mssqlcdc/internal/tds"

// replyBuffer is how many bytes of tokens are gathered before they go to the packet writer. It and the writer's buffer
// bound what a slow client makes the server hold: beyond them the statement that produces rows waits in Write, holding no
// mutex of the stand-in (its row locks are another matter, as on a real server).
const replyBuffer = 8 << 10

// reply is the answer to one message: tokens appended to body.
//
// The last DONE is held back until it is known whether more follows, since only then its MORE bit is known.
type reply struct {
	w    *tds.MessageWriter
	body []byte
	held tds.Done
	hold bool
	err  error
}

// begin starts the answer.
func (r *reply) begin() {
	r.body, r.hold = r.body[:0], false
	r.err = r.w.Begin(tds.PacketReply, 0)
}

// token makes room for another token: what was held back now has a successor.
func (r *reply) token() {
	if r.hold {
		r.hold = false
		r.held.Status |= tds.DoneMore
		r.body = r.held.Append(r.body)
	}
}

// done ends a statement, a procedure, or the batch.
func (r *reply) done(d tds.Done) {
	r.token()
	r.held, r.hold = d, true
}

// spill hands on what has been gathered once it is enough.
func (r *reply) spill() error {
	if len(r.body) < replyBuffer || r.err != nil {
		return r.err
	}
	return r.write()
}

func (r *reply) write() error {
	if r.err == nil {
		_, r.err = r.w.Write(r.body)
	}
	r.body = r.body[:0]
	return r.err
}

// finish sends the rest; the message ends with what was held back.
func (r *reply) finish() error {
	if r.hold {
		r.hold = false
		r.body = r.held.Append(r.body)
	}
	if r.write() == nil {
		r.err = r.w.End()
	}
	return r.err
}
