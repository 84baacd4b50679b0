package tds

import (
	"encoding/binary"
	"fmt"
)

// The numbered procedures (2.2.6.6 RPC Request, ProcID).
const (
	ProcCursor          = 1
	ProcCursorOpen      = 2
	ProcCursorPrepare   = 3
	ProcCursorExecute   = 4
	ProcCursorPrepExec  = 5
	ProcCursorUnprepare = 6
	ProcCursorFetch     = 7
	ProcCursorOption    = 8
	ProcCursorClose     = 9
	ProcExecuteSQL      = 10
	ProcPrepare         = 11
	ProcExecute         = 12
	ProcPrepExec        = 13
	ProcPrepExecRPC     = 14
	ProcUnprepare       = 15
)

var procNames = [...]string{
	ProcCursor: "sp_cursor", ProcCursorOpen: "sp_cursoropen", ProcCursorPrepare: "sp_cursorprepare",
	ProcCursorExecute: "sp_cursorexecute", ProcCursorPrepExec: "sp_cursorprepexec",
	ProcCursorUnprepare: "sp_cursorunprepare", ProcCursorFetch: "sp_cursorfetch", ProcCursorOption: "sp_cursoroption",
	ProcCursorClose: "sp_cursorclose", ProcExecuteSQL: "sp_executesql", ProcPrepare: "sp_prepare",
	ProcExecute: "sp_execute", ProcPrepExec: "sp_prepexec", ProcPrepExecRPC: "sp_prepexecrpc",
	ProcUnprepare: "sp_unprepare",
}

// ProcName is the name of a numbered procedure, "" for an unknown number.
func ProcName(id uint16) string {
	if int(id) < len(procNames) {
		return procNames[id]
	}
	return ""
}

// The RPC option flags.
const (
	RPCWithRecompile = 0x01
	RPCNoMetaData    = 0x02
	RPCReuseMetaData = 0x04
)

// The RPC parameter flags.
const (
	ParamByRef     = 0x01 // an OUTPUT parameter
	ParamDefault   = 0x02 // use the procedure's default; the value is NULL
	ParamEncrypted = 0x08 // refused
)

// What separates the calls of one message.
const (
	rpcSeparator       = 0xFF
	rpcSeparatorLegacy = 0x80 // before TDS 7.2
	rpcNoExec          = 0xFE
	rpcByID            = 0xFFFF // instead of the length of a name
)

// RPCParam is one parameter.
type RPCParam struct {
	Name   string // with its @, or "" for a positional one
	Status uint8
	Info   TypeInfo
	Value  []byte // nil is NULL
}

// RPCCall is one call.
type RPCCall struct {
	Name    string // "" if ProcID is set
	ProcID  uint16
	Options uint16
	Params  []RPCParam
	NoExec  bool // what follows this call is not to be executed
}

// RPCRequest is a remote procedure call, or several in one message (2.2.6.6 RPC Request).
type RPCRequest struct {
	Headers AllHeaders
	Calls   []RPCCall
}

// Append writes the message body.
func (q *RPCRequest) Append(dst []byte) []byte {
	dst = q.Headers.Append(dst)
	for i := range q.Calls {
		if i > 0 {
			if q.Calls[i-1].NoExec {
				dst = append(dst, rpcNoExec)
			} else {
				dst = append(dst, rpcSeparator)
			}
		}
		dst = q.Calls[i].append(dst)
	}
	return dst
}

func (c *RPCCall) append(dst []byte) []byte {
	if c.Name == "" {
		dst = binary.LittleEndian.AppendUint16(dst, rpcByID)
		dst = binary.LittleEndian.AppendUint16(dst, c.ProcID)
	} else {
		dst = appendUSText(dst, cutUTF16(c.Name, rpcByID-1))
	}
	dst = binary.LittleEndian.AppendUint16(dst, c.Options)
	for i := range c.Params {
		p := &c.Params[i]
		dst = append(appendBText(dst, p.Name), p.Status)
		dst = p.Info.AppendParam(dst)
		dst = p.Info.AppendParamCell(dst, p.Value)
	}
	return dst
}

// ParseRPC reads a message body. Values alias it, and it is changed where values came in chunks.
func ParseRPC(body []byte) (RPCRequest, error) {
	var q RPCRequest
	r := NewReader(body)
	q.Headers.Decode(r)
	for r.err == nil {
		var c RPCCall
		more := c.decode(r)
		if r.err != nil {
			break
		}
		q.Calls = append(q.Calls, c)
		if !more {
			return q, nil
		}
	}
	return RPCRequest{}, fmt.Errorf("decoding RPC: call %d: %w", len(q.Calls)+1, r.err)
}

// decode reads a call and the separator after it; it tells whether another call follows.
func (c *RPCCall) decode(r *Reader) bool {
	if n := r.Uint16(); n == rpcByID {
		c.ProcID = r.Uint16()
	} else {
		c.Name = r.Text(int(n))
		if r.err == nil && n == 0 {
			r.malformed("no procedure name")
		}
	}
	c.Options = r.Uint16()
	for r.err == nil && r.Len() > 0 {
		switch next := r.buf[r.pos]; {
		case next == rpcSeparator, next == rpcNoExec, next == rpcSeparatorLegacy && !longName(r):
			c.NoExec = next == rpcNoExec
			r.pos++
			return r.Len() > 0 // some clients end the message with a separator
		}
		var p RPCParam
		p.decode(r)
		if r.err != nil {
			r.err = fmt.Errorf("parameter %d: %w", len(c.Params)+1, r.err)
			return false
		}
		c.Params = append(c.Params, p)
	}
	return false
}

// longName tells a parameter name of 128 code units, which begins with @, from the legacy separator.
func longName(r *Reader) bool {
	b := r.buf[r.pos:r.end]
	return len(b) > 3 && b[1] == '@' && b[2] == 0
}

func (p *RPCParam) decode(r *Reader) {
	p.Name, p.Status = r.BText(), r.Uint8()
	if r.err == nil && p.Status&ParamEncrypted != 0 {
		r.malformed("encrypted parameters are not supported")
	}
	p.Info.DecodeParam(r)
	if r.err != nil {
		return
	}
	if v := p.Info.DecodeParamCell(r); r.err == nil {
		p.Value = v
	}
}
