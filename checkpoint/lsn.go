package checkpoint

import (
	"bytes"
	"encoding/hex"
	"fmt"
)

// LSN is a log sequence number: 10 bytes, unsigned, compared from the left. It never fits an integer.
type LSN [10]byte

// MaxLSN is above every LSN of a server.
var MaxLSN = LSN{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// ParseLSN reads the text form, 0x and 20 hexadecimal digits in either case.
func ParseLSN(s string) (LSN, error) {
	var l LSN
	if len(s) != 2+2*len(l) || s[0] != '0' || s[1] != 'x' && s[1] != 'X' {
		return LSN{}, fmt.Errorf("parsing LSN %q: it is not 0x and 20 hexadecimal digits", s)
	}
	if _, err := hex.Decode(l[:], []byte(s[2:])); err != nil {
		return LSN{}, fmt.Errorf("parsing LSN %q: it is not 0x and 20 hexadecimal digits", s)
	}
	return l, nil
}

// LSNFromBytes takes the binary(10) of a query.
func LSNFromBytes(b []byte) (LSN, error) {
	var l LSN
	if len(b) != len(l) {
		return LSN{}, fmt.Errorf("reading an LSN: %d bytes, not %d", len(b), len(l))
	}
	copy(l[:], b)
	return l, nil
}

// String is the text form: 0x and 20 lower-case hexadecimal digits, plain ASCII in every collation.
func (l LSN) String() string { return string(l.Append(make([]byte, 0, 22))) }

// Append appends the text form.
func (l LSN) Append(dst []byte) []byte { return hex.AppendEncode(append(dst, '0', 'x'), l[:]) }

// Compare gives -1, 0 or 1, as the server orders binary(10).
func (l LSN) Compare(m LSN) int { return bytes.Compare(l[:], m[:]) }

// IsZero reports whether l is all zero bytes, which the server uses for "unknown".
func (l LSN) IsZero() bool { return l == LSN{} }

// Next is the smallest LSN above l; MaxLSN has none above it and stays.
func (l LSN) Next() LSN {
	if l == MaxLSN {
		return l
	}
	for i := len(l) - 1; i >= 0; i-- {
		l[i]++
		if l[i] != 0 {
			break
		}
	}
	return l
}

// MarshalText gives the text form, so that JSON has LSNs as strings.
func (l LSN) MarshalText() ([]byte, error) { return l.Append(nil), nil }

// UnmarshalText reads the text form.
func (l *LSN) UnmarshalText(b []byte) error {
	v, err := ParseLSN(string(b))
	if err != nil {
		return err
	}
	*l = v
	return nil
}
