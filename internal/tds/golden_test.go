package tds

import (
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
)

// unhex reads bytes written as hex with blanks.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatalf("hex %q: %v", s, err)
	}
	return b
}

// checkHex compares bytes with their hex form.
func checkHex(t *testing.T, what string, got []byte, want string) {
	t.Helper()
	if w := unhex(t, want); string(w) != string(got) {
		t.Errorf("%s\n got %x\nwant %x", what, got, w)
	}
}

// everyPrefix checks that every part of b that is too short gives an error, and never another outcome.
func everyPrefix(t *testing.T, b []byte, decode func([]byte) error) {
	t.Helper()
	for n := range b {
		if err := decode(append([]byte(nil), b[:n]...)); err == nil {
			t.Errorf("the first %d of %d bytes are accepted: %x", n, len(b), b[:n])
		}
	}
	if err := decode(append([]byte(nil), b...)); err != nil {
		t.Errorf("all %d bytes are refused: %v", len(b), err)
	}
}

// readToken reads one token of b and insists that it is all.
func readToken(b []byte) (*TokenReader, error) {
	tr := NewTokenReader(bytesReader(b), Limits{})
	if _, err := tr.Next(); err != nil {
		return tr, err
	}
	if _, err := tr.Next(); err != io.EOF {
		return tr, errors.New("bytes after the token")
	}
	return tr, nil
}

// bytesReader gives b in pieces of growing odd sizes, so that tokens cross the borders of reads.
func bytesReader(b []byte) io.Reader { return &choppy{b: b, n: 1} }

type choppy struct {
	b []byte
	n int
}

func (c *choppy) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(c.n, len(c.b))])
	c.b = c.b[n:]
	c.n = c.n%7 + 1
	return n, nil
}
