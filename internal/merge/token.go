package merge

import (
	"errors"
	"strings"
)

// Token is a place in the order of a lane: the offset of a message, or the event id of a change.
type Token struct {
	text     string
	number   bool
	snapshot bool // of rows that were there first, which all have the same place
}

// longestToken is how many characters a fence keeps.
const longestToken = 400

var errTokenKind = errors.New("its offset_token is of another kind than the ones before it in this lane; give the new kind a channel of its own")

// lsnText is the length of an LSN in an event id.
const lsnText = 20

// ParseToken reads a token. Digits are compared as numbers, everything else as text. The event ids that mssql_cdc gives to the rows
// of a snapshot become one token, beyond the changes up to the snapshot and below those after it: such rows have no order among
// themselves.
func ParseToken(text string) (Token, error) {
	if text == "" || text == "null" {
		return Token{}, errors.New("it has no offset_token, which exactly_once needs: by default the metadata event_id of mssql_cdc, or kafka_offset")
	}
	// The first ids had 0x before the LSN, and may still wait in a broker.
	if lsn := strings.TrimPrefix(text, "0x"); len(lsn) > lsnText && isHex(lsn[:lsnText]) && strings.HasPrefix(lsn[lsnText:], "-read-") {
		return Token{text: lsn[:lsnText] + "~", snapshot: true}, nil
	}
	if strings.Trim(text, "0123456789") == "" {
		number := strings.TrimLeft(text, "0")
		if number == "" {
			number = "0"
		}
		return Token{text: number, number: true}, nil
	}
	if len(text) > longestToken {
		return Token{}, errors.New("its offset_token is longer than 400 characters")
	}
	return Token{text: text, snapshot: len(text) == lsnText+1 && strings.HasSuffix(text, "~") && isHex(text[:lsnText])}, nil
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// String is the token as a fence keeps it. ParseToken reads it back.
func (t Token) String() string { return t.text }

// IsZero tells that there is no token: the mark of a lane that nothing has passed.
func (t Token) IsZero() bool { return t.text == "" }

// Snapshot tells that the token is that of rows of a snapshot.
func (t Token) Snapshot() bool { return t.snapshot }

// Compare orders two tokens; the zero token is below all.
func (t Token) Compare(u Token) (int, error) {
	switch {
	case t.IsZero() || u.IsZero():
		return strings.Compare(t.text, u.text), nil
	case t.number != u.number:
		return 0, errTokenKind
	case t.number && len(t.text) != len(u.text):
		return len(t.text) - len(u.text), nil
	}
	return strings.Compare(t.text, u.text), nil
}

// Passed tells whether what has this token has been applied when the mark of its lane is m. Rows of a snapshot have passed when
// a change after it has.
func (t Token) Passed(m Token) (bool, error) {
	c, err := t.Compare(m)
	return c < 0 || c == 0 && !t.snapshot && !t.IsZero(), err
}
