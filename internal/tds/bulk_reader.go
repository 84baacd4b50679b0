package tds

import (
	"fmt"
	"io"
)

// BulkReader streams the body of a bulk load (2.2.6.1 Bulk Load BCP): COLMETADATA, rows, and a DONE that clients send
// with 12, 8 or no bytes, or not at all.
type BulkReader struct {
	r       *Reader
	rows    RowReader
	columns ColMetaData
	begun   bool
	ended   bool
	limits  Limits
}

// NewBulkReader reads the body of one message from src, normally a MessageReader.
func NewBulkReader(src io.Reader, limits Limits) *BulkReader {
	limits = limits.withDefaults()
	return &BulkReader{r: NewStreamReader(src, limits.Token), limits: limits}
}

// Columns reads the columns; later calls give them again. An empty message is io.EOF.
func (b *BulkReader) Columns() (*ColMetaData, error) {
	if b.begun {
		return &b.columns, nil
	}
	if !b.r.More() {
		if b.r.err == nil {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("reading bulk load: %w", b.r.err)
	}
	if t := Token(b.r.Uint8()); t != TokenColMetaData {
		b.r.malformed("%v instead of COLMETADATA", t)
	}
	b.columns.DecodeBulk(b.r)
	if b.r.err == nil && b.columns.NoMetaData {
		b.r.malformed("columns left out")
	}
	if b.r.err != nil {
		return nil, fmt.Errorf("reading columns of bulk load: %w", b.r.err)
	}
	b.begun = true
	b.rows.SetColumns(b.columns.Columns)
	b.r.limit = b.limits.Row
	return &b.columns, nil
}

// Next reads one row and returns io.EOF after the last. The cells, nil for NULL, live until the next call. A cell of an
// illegal length is a *CellError; it and ErrIgnored end the load.
func (b *BulkReader) Next() ([][]byte, error) {
	if b.ended {
		return nil, io.EOF
	}
	if !b.begun {
		if _, err := b.Columns(); err != nil {
			return nil, err
		}
	}
	r := b.r
	if !r.More() {
		return nil, b.end()
	}
	switch t := Token(r.Uint8()); t {
	case TokenRow:
		if cells := b.rows.Row(r); r.err == nil {
			return cells, nil
		}
	case TokenDone:
		n := 0
		for n <= 12 && r.More() {
			r.Uint8()
			n++
		}
		if r.err == nil && n != 12 && n != 8 && n != 0 {
			r.malformed("DONE of %d bytes", n)
		}
	default: // NBCROW, too, is not allowed here
		r.malformed("%v in a bulk load", t)
	}
	return nil, b.end()
}

// end closes the load, with the Reader's error or io.EOF.
func (b *BulkReader) end() error {
	b.ended = true
	if b.r.err != nil {
		return fmt.Errorf("reading bulk load: %w", b.r.err)
	}
	return io.EOF
}
