package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/body"
)

// hash is of a row, or of its key. None of a row is zero: zero stands for no row.
type hash [16]byte

// digest is a count of rows and the sum of their hashes, the same in any order.
type digest struct {
	Count  int64
	Lo, Hi uint64
}

func (d *digest) add(h hash) {
	var carry uint64
	d.Lo, carry = bits.Add64(d.Lo, binary.LittleEndian.Uint64(h[:8]), 0)
	d.Hi, _ = bits.Add64(d.Hi, binary.LittleEndian.Uint64(h[8:]), carry)
	d.Count++
}

// rows are the rows of a page of one side.
type rows struct {
	n      int
	cells  []cell
	arrays []arrow.Array
	keys   []int // places in cells of the key's columns
	json   *body.Rows
	buf    []byte
}

// encoder makes rows of the pages of one side.
type encoder struct {
	pairing *pairing
	target  bool
	json    *body.JSON
}

func newEncoder(table string, p *pairing, schema *arrow.Schema, target bool) (*encoder, error) {
	var all, key []int
	for i, c := range p.columns {
		all = append(all, i)
		if c.key {
			key = append(key, i)
		}
	}
	j, err := body.NewJSON(table, schema, all, key)
	return &encoder{pairing: p, target: target, json: j}, err
}

// bind ties the encoder to a page, whose columns are those of the pairing.
func (e *encoder) bind(rec arrow.RecordBatch) (*rows, error) {
	r := &rows{n: int(rec.NumRows())}
	for i, c := range e.pairing.columns {
		t := c.srcType
		if e.target {
			t = c.dstType
		}
		cell, err := c.rule.bind(t, rec.Column(i))
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
		r.cells, r.arrays = append(r.cells, cell), append(r.arrays, rec.Column(i))
		if c.key {
			r.keys = append(r.keys, i)
		}
	}
	var err error
	r.json, err = e.json.Bind(rec)
	return r, err
}

func (r *rows) appendCell(dst []byte, column, row int) []byte {
	if r.arrays[column].IsNull(row) {
		return append(dst, 0)
	}
	at := len(dst)
	dst = append(dst, 1, 0, 0, 0, 0)
	dst = r.cells[column](dst, row)
	binary.LittleEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-5))
	return dst
}

// hash gives the hashes of a row and of its key, which without a key is that of the row.
func (r *rows) hash(row int) (key, all hash) {
	r.buf = r.buf[:0]
	for c := range r.cells {
		r.buf = r.appendCell(r.buf, c, row)
	}
	all = sum(r.buf)
	if len(r.keys) == 0 {
		return all, all
	}
	r.buf = r.buf[:0]
	for _, c := range r.keys {
		r.buf = r.appendCell(r.buf, c, row)
	}
	return sum(r.buf), all
}

func sum(b []byte) (h hash) {
	s := sha256.Sum256(b)
	copy(h[:], s[:])
	if h == (hash{}) {
		h[0] = 1
	}
	return h
}

// known is a row that is kept to be shown.
type known struct {
	cells [][]byte // hashes of the cells
	json  []byte
	key   string
}

func (r *rows) keep(row int) (*known, error) {
	k := &known{}
	for c := range r.cells {
		r.buf = r.appendCell(r.buf[:0], c, row)
		h := sum(r.buf)
		k.cells = append(k.cells, h[:])
	}
	var err error
	if k.json, err = r.json.AppendRow(nil, row, nil); err != nil {
		return nil, err
	}
	key, err := r.json.AppendKey(nil, row)
	k.key = string(key)
	return k, err
}

// differing lists the columns in which two rows differ.
func differing(a, b *known) (out []int) {
	for i := range a.cells {
		if !bytes.Equal(a.cells[i], b.cells[i]) {
			out = append(out, i)
		}
	}
	return out
}
