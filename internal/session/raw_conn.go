package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/internal/tds"
)

// maxTLSPacket is the largest packet that fits into one TLS record: a server
// closes a connection whose packet comes in two (2.2.3.1.3 Length).
const maxTLSPacket = 16383

// mostRow is the size of the largest row: a value has 2 GiB, and more than one of
// them has no place in a record batch. Memory is taken as the bytes arrive.
const mostRow = math.MaxInt32

// rawConn speaks TDS over the transport that the driver ended up with after the
// login. The driver keeps the connection; a raw request is made only while the
// driver is idle, and is read to its end before the driver is used again.
type rawConn struct {
	borrowed
	rd     *tds.MessageReader
	wr     *tds.MessageWriter
	tokens *tds.TokenReader
	body   []byte
	params []tds.RPCParam
}

// newRawConn takes the transport of a connection, of which socket is the one that
// was dialled. encrypted says that the connection string asks for TLS.
func newRawConn(conn *mssql.Conn, socket net.Conn, encrypted bool) (*rawConn, error) {
	b, err := borrow(conn)
	if err != nil {
		return nil, err
	}
	_, isTLS := b.transport.(*tls.Conn)
	if encrypted && !isTLS {
		return nil, fmt.Errorf("checking the connection: the transport is a %T, want TLS", b.transport)
	}
	if isTLS && b.packet > maxTLSPacket {
		return nil, fmt.Errorf("checking the connection: packets of %d bytes do not fit into TLS records", b.packet)
	}
	peer, ok := b.transport.(interface{ RemoteAddr() net.Addr })
	if !ok || socket == nil || peer.RemoteAddr().String() != socket.RemoteAddr().String() {
		return nil, errors.New("checking the connection: the transport is not the one that was dialled")
	}
	r := &rawConn{borrowed: b, rd: tds.NewMessageReader(b.transport, 0), wr: tds.NewMessageWriter(b.transport, b.packet)}
	r.wr.OnePacketPerWrite(isTLS)
	r.tokens = tds.NewTokenReader(r.rd, tds.Limits{Row: mostRow})
	return r, nil
}

// again checks that the driver still has the connection as it was taken.
func (r *rawConn) again(conn *mssql.Conn) error {
	b, err := borrow(conn)
	if err != nil {
		return err
	}
	if b != r.borrowed {
		return errors.New("checking the connection: the driver has changed its transport")
	}
	return nil
}

// sendBatch writes a batch of T-SQL (2.2.6.7 SQLBatch).
func (r *rawConn) sendBatch(text string) error {
	batch := tds.SQLBatch{Headers: tds.AllHeaders{Transaction: *r.tranid, Outstanding: 1}, Text: text}
	r.body = batch.Append(r.body[:0])
	return r.wr.WriteMessage(tds.PacketSQLBatch, 0, r.body)
}

// attention asks the server to give up the request whose message is complete
// (2.2.1.7 Attention).
func (r *rawConn) attention() error {
	h := tds.Header{Type: tds.PacketAttention, Status: tds.StatusEOM, Length: tds.HeaderSize, ID: 1}
	_, err := r.transport.Write(h.Append(nil))
	return err
}

// attendOn sends an attention when ctx ends. stop ends that and tells whether one
// was sent, which the server then confirms.
func (r *rawConn) attendOn(ctx context.Context) (stop func() bool) {
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		// If it cannot be sent, the confirmation does not come, and the bound of
		// the request closes the connection.
		_ = r.attention()
	})
	return func() bool {
		if cancel() {
			return false
		}
		<-done
		return true
	}
}

// reply is what a request came to.
type reply struct {
	count     int64 // rows of the last statement that counted
	total     int64 // of all of them
	counted   bool
	errs      []mssql.Error
	failed    bool // a DONE said so
	fatal     bool // the session is void
	confirmed bool // an attention was
}

// err is the server's error in the driver's form: the last one, with all of them in it.
func (p *reply) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	e := p.errs[len(p.errs)-1]
	e.All = p.errs
	return e
}

// mostErrors bounds the errors that are kept of one reply: a server can send any
// number.
const mostErrors = 100

// read reads one reply to its end. row, if not nil, is given the rows; its cells
// live until the next.
func (r *rawConn) read(row func(*tds.ColMetaData, [][]byte)) (*reply, error) {
	if err := r.begin(); err != nil {
		return nil, err
	}
	p := &reply{}
	for {
		token, err := r.tokens.Next()
		if err == io.EOF { //nolint:errorlint // the end of the message is io.EOF itself
			return p, r.nothingElse()
		}
		if err != nil {
			return nil, fmt.Errorf("reading a reply: %w", err)
		}
		if row != nil && (token == tds.TokenRow || token == tds.TokenNBCRow) {
			row(r.tokens.Columns, r.tokens.Cells)
		}
		r.note(token, p)
	}
}

// begin waits for a reply.
func (r *rawConn) begin() error {
	h, err := r.rd.Next()
	if err == io.EOF { //nolint:errorlint // the source's own end between two messages
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("reading a reply: %w", err)
	}
	if h.Type != tds.PacketReply {
		return fmt.Errorf("reading a reply: the server sent a %v message", h.Type)
	}
	r.tokens.Reset(r.rd)
	return nil
}

// nothingElse checks that a reply which is read was the last.
func (r *rawConn) nothingElse() error {
	if n := r.rd.Buffered(); n > 0 {
		return fmt.Errorf("reading a reply: %d bytes follow that nobody asked for", n)
	}
	return nil
}

// pending tells whether a part of the reply is here and was not looked at.
func (r *rawConn) pending() bool { return r.tokens.Buffered() > 0 || r.rd.Buffered() > 0 }

// note keeps what a token says of the request and of the session.
func (r *rawConn) note(token tds.Token, p *reply) {
	switch token {
	case tds.TokenError:
		p.add(r.tokens.Message)
	case tds.TokenEnvChange:
		r.follow(&r.tokens.Env)
	case tds.TokenDone, tds.TokenDoneProc, tds.TokenDoneInProc:
		p.done(token, &r.tokens.Done)
	}
}

func (p *reply) add(m tds.ServerMessage) {
	if len(p.errs) == mostErrors {
		p.errs = p.errs[:mostErrors-1]
	}
	p.errs = append(p.errs, mssql.Error{
		Number: m.Number, State: m.State, Class: m.Class, Message: m.Message,
		ServerName: m.Server, ProcName: m.Proc, LineNo: int32(m.Line),
	})
	p.fatal = p.fatal || m.Class >= 20
}

func (p *reply) done(token tds.Token, d *tds.Done) {
	if n, ok := d.Count(); ok {
		p.count, p.counted = int64(n), true
		p.total += int64(n)
	}
	// A statement whose error was caught says that it failed, and the request did not.
	p.failed = p.failed || token != tds.TokenDoneInProc && d.Failed()
	p.fatal = p.fatal || d.Status&tds.DoneSrvError != 0
	p.confirmed = p.confirmed || d.Status&tds.DoneAttn != 0
}

// follow keeps the transaction descriptor (2.2.7.9 ENVCHANGE).
func (r *rawConn) follow(e *tds.EnvChange) {
	switch e.Type {
	case tds.EnvBeginTran, tds.EnvEnlistDTC:
		*r.tranid = e.Transaction()
	case tds.EnvCommitTran, tds.EnvRollbackTran, tds.EnvTranEnded:
		*r.tranid = 0
	}
}
