package body

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-faster/jx"
)

var (
	errInvalidUTF8   = errors.New("the message is not valid UTF-8")
	errLoneSurrogate = errors.New(`the message has a \u escape that is half of a surrogate pair`)
	errTrailing      = errors.New("the message goes on after its JSON object")
	errEmpty         = errors.New("the message has no body")
	errNoObject      = errors.New("the message is not a JSON object")
)

// AppendJSON appends a row from a JSON object. It refuses what JSON readers like to overlook: bytes that are not UTF-8, half
// surrogate pairs, a field that comes twice, and anything after the object. What it refuses leaves no trace.
func (d *Decoder) AppendJSON(body []byte) error {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return errEmpty
	}
	if !utf8.Valid(body) {
		return errInvalidUTF8
	}
	if bytes.IndexByte(body, '\\') >= 0 && !wholeSurrogates(body) {
		return errLoneSurrogate
	}
	d.begin()
	r := &d.json
	r.ResetBytes(body)
	if r.Next() != jx.Object {
		return errNoObject
	}
	d.fields, d.failed = 0, nil
	if d.onField == nil {
		d.onField = func(r *jx.Decoder, name []byte) error {
			d.failed = d.field(r, d.fields, name)
			d.fields++
			return d.failed
		}
	}
	err := r.ObjBytes(d.onField)
	cell := d.failed // as it is: jx has wrapped it
	var at *CellError
	switch {
	case errors.As(cell, &at):
		return cell
	case cell != nil:
		return fmt.Errorf("the message is not valid JSON: %w", cell)
	case err != nil:
		return fmt.Errorf("the message is not valid JSON: %w", err)
	}
	if r.Next() != jx.Invalid || !errors.Is(r.Skip(), io.EOF) {
		return errTrailing
	}
	return d.end()
}

// field decodes the n-th field of an object.
func (d *Decoder) field(r *jx.Decoder, n int, name []byte) error {
	i := d.find(n, name)
	if i < 0 {
		if !d.options.IgnoreUnknown {
			return unknown(string(name))
		}
		return r.Skip()
	}
	if err := d.take(i); err != nil {
		return err
	}
	if d.columns[i].Ignored {
		return r.Skip()
	}
	v := &d.row[i]
	*v = cellValue{}
	var err error
	switch r.Next() {
	case jx.Null:
		v.null = true
		return r.Null()
	case jx.Bool:
		var b bool
		if b, err = r.Bool(); err != nil {
			return err
		}
		err = d.fromBool(i, v, b)
	case jx.Number:
		var num jx.Num
		if num, err = r.Num(); err != nil {
			return err
		}
		err = d.fromNumber(i, v, num)
	case jx.String:
		from := len(d.arena)
		if d.arena, err = r.StrAppend(d.arena); err != nil {
			return err
		}
		err = d.fromText(i, v, from)
	case jx.Object, jx.Array:
		var raw jx.Raw
		if raw, err = r.Raw(); err != nil {
			return err
		}
		err = d.fromNested(i, v, raw)
	default:
		return r.Skip() // which says what is wrong
	}
	if err != nil {
		return d.cellError(i, err)
	}
	return nil
}

// wholeSurrogates reports whether each \u escape of a surrogate has its other half. Backslashes are in strings only.
func wholeSurrogates(s []byte) bool {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		i++
		if i >= len(s) || s[i] != 'u' {
			continue
		}
		u, ok := hex4(s[i+1:])
		if !ok {
			continue // the reader says what is wrong
		}
		i += 4
		switch {
		case u >= 0xDC00 && u <= 0xDFFF:
			return false
		case u >= 0xD800 && u <= 0xDBFF:
			if i+2 >= len(s) || s[i+1] != '\\' || s[i+2] != 'u' {
				return false
			}
			low, ok := hex4(s[i+3:])
			if !ok || low < 0xDC00 || low > 0xDFFF {
				return false
			}
			i += 6
		}
	}
	return true
}

func hex4(s []byte) (v uint32, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | uint32(c)
	}
	return v, true
}
