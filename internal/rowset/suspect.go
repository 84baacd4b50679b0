package rowset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"example.com/mssqlcdc/internal/sqltype"
)

// Cell is the place of a value in the rows of a Builder, both numbers from 0.
type Cell struct{ Row, Column int }

// InvalidTextError says that the server's text cannot be written as UTF-8.
type InvalidTextError struct {
	Unit     uint16 // the lone surrogate
	Position int    // in code units from 0
}

func (e *InvalidTextError) Error() string {
	return fmt.Sprintf("code unit %d is the lone surrogate U+%04X; set on_invalid_text to replace to read it as U+FFFD", e.Position, e.Unit)
}

// Suspects lists the cells whose text contains U+FFFD, which the driver also puts in place of what it cannot decode. Each has to be
// read again as sqltype.ExactText and given to Settle before Finish. It is empty with ReplaceInvalidText.
func (b *Builder) Suspects() []Cell { return slices.Clone(b.suspects) }

// Settle puts the exact text of a suspect, UTF-16 code units in little-endian order. A lone surrogate is an InvalidTextError with
// table, column and row; the cell stays a suspect then.
func (b *Builder) Settle(c Cell, units []byte) error {
	at := slices.Index(b.suspects, c)
	if at < 0 {
		return fmt.Errorf("settling text of %s: row %d, column %d is not a suspect", b.table, c.Row+1, c.Column+1)
	}
	if units == nil || len(units)%2 != 0 {
		return b.cellError(c, errors.New("the text read again is not UTF-16; has the row changed?"))
	}
	text, err := decodeUTF16(units)
	if err != nil {
		return b.cellError(c, err)
	}
	v := b.cols[c.Column]
	if v.kind == sqltype.Variant {
		from, to := v.span(c.Row)
		head := v.data[from:to]
		i := bytes.Index(head, []byte(`,"value":`))
		quoted, _ := sqltype.AppendString(append([]byte(nil), head[:i+len(`,"value":`)]...), string(text))
		text = append(quoted, '}')
	}
	if err := v.splice(c.Row, text); err != nil {
		return b.cellError(c, err)
	}
	b.suspects = slices.Delete(b.suspects, at, at+1)
	return nil
}

func decodeUTF16(units []byte) ([]byte, error) {
	text := make([]byte, 0, len(units))
	for i := 0; i < len(units); i += 2 {
		u := binary.LittleEndian.Uint16(units[i:])
		r := rune(u)
		if utf16.IsSurrogate(r) {
			next := rune(0)
			if i+3 < len(units) {
				next = rune(binary.LittleEndian.Uint16(units[i+2:]))
			}
			pair := utf16.DecodeRune(r, next)
			if pair == utf8.RuneError {
				return nil, &InvalidTextError{Unit: u, Position: i / 2}
			}
			r, i = pair, i+2
		}
		text = utf8.AppendRune(text, r)
	}
	return text, nil
}

// splice puts other bytes in place of a variable-width value.
func (v *vector) splice(row int, text []byte) error {
	from, to := v.span(row)
	if bytes.Equal(v.data[from:to], text) {
		return nil
	}
	delta := len(text) - (to - from)
	if delta > 0 {
		if err := v.room(delta); err != nil {
			return err
		}
	}
	copy(v.data[to+delta:], v.data[to:v.used])
	copy(v.data[from:], text)
	v.used += delta
	for r := row + 1; r <= v.rows; r++ {
		at := v.offsets[4*r:]
		binary.NativeEndian.PutUint32(at, uint32(int(binary.NativeEndian.Uint32(at))+delta))
	}
	return nil
}
