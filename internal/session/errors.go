package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"regexp"
	"strconv"
	"syscall"

	mssql "github.com/microsoft/go-mssqldb"
)

// ErrClosed is returned by a connection that was closed or has broken.
var ErrClosed = errors.New("connection is closed")

// transient are the server's errors that another attempt may not meet: deadlock
// and lock timeout, reads that lost their page, snapshot conflicts, lack of
// memory or log, a database that is moving, and Azure's throttling.
var transient = map[int32]bool{
	1205: true, 1222: true, 601: true,
	3960: true, 3961: true, 3947: true, 1219: true,
	1204: true, 701: true, 8645: true, 9002: true,
	976: true, 983: true,
	40197: true, 40501: true, 40613: true, 49918: true, 49919: true, 49920: true,
	10928: true, 10929: true, 10053: true, 10054: true, 233: true, 64: true,
}

// wrapping are errors of the CDC procedures whose text names another error.
var wrapping = map[int32]bool{22837: true, 22833: true, 22933: true}

var innerNumber = regexp.MustCompile(`\b(?:error|Error)\s+(\d{2,6})\b|\b(\d{3,6}):`)

// IsTransient tells whether the same request may succeed if it is made again,
// on a new connection if this one has broken.
func IsTransient(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var se mssql.Error
	if errors.As(err, &se) {
		if transientNumber(se) {
			return true
		}
		for _, e := range se.All {
			if transientNumber(e) {
				return true
			}
		}
		return se.Class >= 20
	}
	return IsNetwork(err)
}

func transientNumber(e mssql.Error) bool {
	if transient[e.Number] {
		return true
	}
	if !wrapping[e.Number] {
		return false
	}
	for _, m := range innerNumber.FindAllStringSubmatch(e.Message, -1) {
		n, err := strconv.ParseInt(m[1]+m[2], 10, 32)
		if err == nil && transient[int32(n)] {
			return true
		}
	}
	return false
}

// IsNetwork tells whether an error is of the connection and not of the server.
func IsNetwork(err error) bool {
	var (
		ne net.Error
		st mssql.StreamError
		sv mssql.ServerError
	)
	return errors.Is(err, ErrClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &ne) || errors.As(err, &st) || errors.As(err, &sv)
}

// IsFatal tells whether an error will come again however often the request is
// made: the server has answered, and the answer is not one that passes.
func IsFatal(err error) bool {
	if err == nil || IsTransient(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	_, ok := Number(err)
	return ok
}

// Number is the server's error number, if err is one of the server's.
func Number(err error) (int32, bool) {
	var se mssql.Error
	if !errors.As(err, &se) {
		return 0, false
	}
	return se.Number, true
}

// HasNumber tells whether the server gave one of these error numbers, also
// before the last of its messages.
func HasNumber(err error, numbers ...int32) bool {
	var se mssql.Error
	if !errors.As(err, &se) {
		return false
	}
	for _, n := range numbers {
		if se.Number == n {
			return true
		}
		for _, e := range se.All {
			if e.Number == n {
				return true
			}
		}
	}
	return false
}

// IsDenied tells whether the server has refused a read for lack of a right.
func IsDenied(err error) bool { return HasNumber(err, 229, 230, 262, 297, 22904) }

// reusable tells whether a connection can go on after an error: the server has
// reported it in a complete reply, and it is not of a class that ends sessions.
func reusable(err error) bool {
	var sv mssql.ServerError
	if errors.As(err, &sv) {
		return false
	}
	var se mssql.Error
	return errors.As(err, &se) && se.Class < 20
}
