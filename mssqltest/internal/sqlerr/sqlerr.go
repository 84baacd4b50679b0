// Package sqlerr is the error type of the stand-in: SQL Server's error numbers with their severities and texts.
//
// Every layer of the stand-in returns *Error for what a real server would report, so that the number that a client
// sees is decided where the fault is found.
package sqlerr

import (
	"errors"
	"fmt"
)

// Error is one message of sys.messages as a server sends it in an ERROR token (MS-TDS 2.2.7.10 ERROR).
type Error struct {
	Number  int32
	State   uint8
	Class   uint8 // severity; 20 and above end the connection
	Message string
	Proc    string // stored procedure or function, "" in a batch
	Line    int32
	// EndsBatch says that the error ends its batch even without XACT_ABORT (names that do not resolve, syntax errors, 1205 …).
	EndsBatch bool
	// DoomsTran says that the transaction is rolled back (1205) or cannot be committed.
	DoomsTran bool
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("mssqltest: Msg %d, Level %d, State %d: %s", e.Number, e.Class, e.State, e.Message)
}

// New makes error number n; args fill the text of the table in messages.go in order. An unknown number is a fault of
// the stand-in and becomes 50000 with a text that says so.
func New(n int32, args ...any) *Error {
	m, ok := messages[n]
	if !ok {
		return &Error{Number: 50000, State: 1, Class: 16, Message: fmt.Sprintf("mssqltest has no text for error %d (%v)", n, args)}
	}
	e := &Error{Number: n, State: m.stateOrOne(), Class: m.class, Message: m.text, EndsBatch: m.endsBatch, DoomsTran: m.doomsTran}
	if len(args) > 0 {
		e.Message = fmt.Sprintf(m.text, args...)
	}
	return e
}

// Newf makes an error with a text of its own, for messages whose wording nobody reads.
func Newf(n int32, class uint8, format string, args ...any) *Error {
	return &Error{Number: n, State: 1, Class: class, Message: fmt.Sprintf(format, args...)}
}

type message struct {
	class     uint8
	state     uint8 // 0 stands for 1
	text      string
	endsBatch bool
	doomsTran bool
}

func (m message) stateOrOne() uint8 { return max(m.state, 1) }

// As returns err's *Error, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Is says whether err is error number n.
func Is(err error, n int32) bool {
	e := As(err)
	return e != nil && e.Number == n
}
