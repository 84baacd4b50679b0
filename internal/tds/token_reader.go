package tds

import (
	"errors"
	"fmt"
	"io"
)

// Limits bounds what one item of a stream may hold in memory. Zero values stand for the defaults.
type Limits struct {
	Token int // bytes of a token other than a row; default 4 MiB
	Row   int // bytes of a row; default 256 MiB
}

// The default limits.
const (
	DefaultTokenLimit = 4 << 20
	DefaultRowLimit   = 256 << 20
)

func (l Limits) withDefaults() Limits {
	if l.Token <= 0 {
		l.Token = DefaultTokenLimit
	}
	if l.Row <= 0 {
		l.Row = DefaultRowLimit
	}
	return l
}

// ErrNoColumns reports a row before any COLMETADATA.
var ErrNoColumns = fmt.Errorf("row without columns: %w", ErrMalformed)

// TokenReader streams the tokens of one reply. Next gives the kind, and the field of that kind holds the token until
// the following call:
//
//	for {
//		t, err := tr.Next()
//		if err == io.EOF { … end of the reply … }
//		switch t {
//		case tds.TokenRow, tds.TokenNBCRow: … tr.Cells …
//		case tds.TokenDone: … tr.Done …
//		}
//	}
//
// Rows are not copied: Cells alias the buffer that the bytes were read into.
type TokenReader struct {
	Columns      *ColMetaData // of the current result set, new for each COLMETADATA
	Cells        [][]byte     // of the row; nil is NULL
	Done         Done
	Message      ServerMessage // TokenError, TokenInfo
	Env          EnvChange
	LoginAck     LoginAck
	Features     FeatureExtAck
	ReturnStatus ReturnStatus
	ReturnValue  ReturnValue
	Order        Order
	TabName      TabName
	ColInfo      ColInfos
	SSPI         SSPI
	SessionState SessionState
	FedAuthInfo  FedAuthInfo
	Offset       Offset

	// CEKTable is set if column encryption was negotiated: COLMETADATA then has a table of keys, which must be empty.
	CEKTable bool

	r      *Reader
	limits Limits
	rows   RowReader
}

// NewTokenReader reads the body of one message from src, normally a MessageReader.
func NewTokenReader(src io.Reader, limits Limits) *TokenReader {
	limits = limits.withDefaults()
	return &TokenReader{r: NewStreamReader(src, limits.Token), limits: limits}
}

// Reset makes it read another message, keeping its buffer.
func (t *TokenReader) Reset(src io.Reader) {
	t.r.Reset(src)
	t.Columns, t.Cells = nil, nil
}

// BytesRead counts the bytes of the message that were decoded.
func (t *TokenReader) BytesRead() int64 { return t.r.Offset() }

// Buffered counts the bytes of the message that were read from its source and not decoded.
func (t *TokenReader) Buffered() int { return t.r.Len() }

// Next reads one token. It returns io.EOF at the end of the message; after any other error the message cannot be read
// further.
func (t *TokenReader) Next() (Token, error) {
	r := t.r
	if !r.More() {
		if r.err == nil {
			return 0, io.EOF
		}
		return 0, fmt.Errorf("reading reply: %w", r.err)
	}
	kind := Token(r.Uint8())
	switch kind {
	case TokenRow, TokenNBCRow:
		if t.Columns == nil {
			r.fail(ErrNoColumns)
			break
		}
		r.limit = t.limits.Row
		if kind == TokenRow {
			t.Cells = t.rows.Row(r)
		} else {
			t.Cells = t.rows.NBCRow(r)
		}
		r.limit = t.limits.Token
	case TokenReturnValue:
		r.limit = t.limits.Row
		t.ReturnValue.Decode(r)
		r.limit = t.limits.Token
	default:
		t.decode(kind)
	}
	if r.err != nil {
		return kind, fmt.Errorf("reading %v: %w", kind, r.err)
	}
	return kind, nil
}

// decode reads a token other than a row.
func (t *TokenReader) decode(kind Token) {
	r := t.r
	switch kind {
	case TokenColMetaData:
		t.columns()
	case TokenDone, TokenDoneProc, TokenDoneInProc:
		t.Done.Token = kind
		t.Done.Decode(r)
	case TokenError, TokenInfo:
		t.Message.Info = kind == TokenInfo
		t.Message.Decode(r)
	case TokenEnvChange:
		t.Env.Decode(r)
	case TokenLoginAck:
		t.LoginAck.Decode(r)
	case TokenFeatureExtAck:
		t.Features.Decode(r)
	case TokenReturnStatus:
		t.ReturnStatus.Decode(r)
	case TokenOrder:
		t.Order.Decode(r)
	case TokenTabName:
		t.TabName.Decode(r)
	case TokenColInfo:
		t.ColInfo.Decode(r)
	case TokenSSPI:
		t.SSPI.Decode(r)
	case TokenSessionState:
		t.SessionState.Decode(r)
	case TokenFedAuthInfo:
		t.FedAuthInfo.Decode(r)
	case TokenOffset:
		t.Offset.Decode(r)
	case TokenAltMetaData, TokenAltRow:
		r.fail(errors.New("results of COMPUTE are not supported"))
	default:
		r.malformed("unknown token")
	}
}

// columns reads a COLMETADATA. The form without columns keeps those of the result set before.
func (t *TokenReader) columns() {
	m := new(ColMetaData)
	m.decode(t.r, false, t.CEKTable)
	if t.r.err != nil {
		return
	}
	if m.NoMetaData {
		if t.Columns == nil {
			t.r.fail(errors.New("columns were left out and none are known"))
		}
		return
	}
	t.Columns = m
	t.rows.SetColumns(m.Columns)
}
