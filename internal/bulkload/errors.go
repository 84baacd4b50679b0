package bulkload

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Error names the row, the column and what is wrong with the value.
func (e *RowError) Error() string {
	return fmt.Sprintf("row %d: column %s: %v", e.Row, e.Column, e.Err)
}

// Unwrap gives what is wrong with the value.
func (e *RowError) Unwrap() error { return e.Err }

var (
	errNull     = errors.New("NULL, and the column is NOT NULL")
	errNaN      = errors.New("NaN and the infinities are not numbers that the server has")
	errNegative = errors.New("a time of day before midnight or after its end")
)

// errNotUTF8 names the first byte that is not UTF-8.
func errNotUTF8(s []byte, at int) error {
	return fmt.Errorf("the text is not valid UTF-8 at byte %d (0x%02X)", at, s[at])
}

// clip shows the beginning of a text in an error.
func clip(s []byte) string {
	const most = 40
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%q…", s[:n])
}
