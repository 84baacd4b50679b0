package tds

import (
	"encoding/binary"
	"fmt"
)

// TransMgrType says what a transaction manager request asks for (2.2.6.9 Transaction Manager Request).
type TransMgrType uint16

// The request types.
const (
	TMGetDTCAddress TransMgrType = 0
	TMPropagate     TransMgrType = 1
	TMBegin         TransMgrType = 5
	TMPromote       TransMgrType = 6
	TMCommit        TransMgrType = 7
	TMRollback      TransMgrType = 8
	TMSave          TransMgrType = 9
)

// Isolation is an isolation level in a transaction manager request; 0 keeps the session's.
type Isolation uint8

// The isolation levels.
const (
	IsolationCurrent         Isolation = 0
	IsolationReadUncommitted Isolation = 1
	IsolationReadCommitted   Isolation = 2
	IsolationRepeatableRead  Isolation = 3
	IsolationSerializable    Isolation = 4
	IsolationSnapshot        Isolation = 5
)

// tmBeginNext is the fBeginXact flag of commits and rollbacks.
const tmBeginNext = 0x01

// TransMgrRequest begins or ends a transaction.
type TransMgrRequest struct {
	Headers   AllHeaders
	Type      TransMgrType
	Isolation Isolation // of TMBegin
	Name      string
	// BeginNext asks a commit or rollback to begin another transaction at once.
	BeginNext     bool
	NextIsolation Isolation
	NextName      string
	Payload       []byte // of TMGetDTCAddress, TMPropagate
}

// Append writes the message body.
func (q *TransMgrRequest) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(q.Headers.Append(dst), uint16(q.Type))
	switch q.Type {
	case TMBegin:
		return appendBText(append(dst, byte(q.Isolation)), q.Name)
	case TMCommit, TMRollback:
		dst = appendBText(dst, q.Name)
		if !q.BeginNext {
			return append(dst, 0)
		}
		return appendBText(append(dst, tmBeginNext, byte(q.NextIsolation)), q.NextName)
	case TMSave:
		return appendBText(dst, q.Name)
	case TMGetDTCAddress, TMPropagate:
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(q.Payload)))
		return append(dst, q.Payload...)
	}
	return dst
}

// ParseTransMgr reads a message body. Clients disagree whether the length of a name counts bytes or code units; the
// reading that uses the message up is the right one.
func ParseTransMgr(body []byte) (TransMgrRequest, error) {
	var q TransMgrRequest
	r := NewReader(body)
	q.Headers.Decode(r)
	q.Type = TransMgrType(r.Uint16())
	if r.err != nil {
		return TransMgrRequest{}, fmt.Errorf("decoding TransMgrReq: %w", r.err)
	}
	inUnits, inBytes := *r, *r
	asUnits, asBytes := q, q
	asUnits.decode(&inUnits, 2)
	if inUnits.err == nil && inUnits.Len() == 0 {
		return asUnits, nil
	}
	asBytes.decode(&inBytes, 1)
	if inBytes.err == nil && inBytes.Len() == 0 {
		return asBytes, nil
	}
	err := inUnits.err
	if err == nil {
		err = fmt.Errorf("%w: %d bytes after the end", ErrMalformed, inUnits.Len())
	}
	return TransMgrRequest{}, fmt.Errorf("decoding TransMgrReq: type %d: %w", q.Type, err)
}

func (q *TransMgrRequest) decode(r *Reader, unit int) {
	name := func() string {
		n := unit * int(r.Uint8())
		if n%2 != 0 {
			r.malformed("name of %d bytes", n)
		}
		return DecodeUTF16(r.Bytes(n))
	}
	switch q.Type {
	case TMBegin:
		q.Isolation, q.Name = Isolation(r.Uint8()), name()
	case TMCommit, TMRollback:
		q.Name = name()
		if q.BeginNext = r.Uint8()&tmBeginNext != 0; q.BeginNext {
			q.NextIsolation, q.NextName = Isolation(r.Uint8()), name()
		} else if b := r.buf[r.pos:r.end]; len(b) == 2 && b[0] == 0 && b[1] == 0 {
			r.Rest() // some clients send the isolation level and the name all the same
		}
	case TMSave:
		q.Name = name()
	case TMGetDTCAddress, TMPropagate:
		q.Payload = r.clone(int(r.Uint16()))
	case TMPromote:
	default:
		r.malformed("unknown type")
	}
}
