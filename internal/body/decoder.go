package body

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-faster/jx"

	"example.com/mssqlcdc/internal/sqltype"
)

// DecodeColumn is a column of a target table.
type DecodeColumn struct {
	Name string
	Type sqltype.Type
	// Optional tells that leaving the column out and giving it NULL are two things: it has a default, or the server numbers it.
	Optional bool
	// Ignored columns are the server's own (computed, rowversion, period columns): what a message says of them is not written.
	Ignored bool
	// Key columns must be in every message, and are never NULL.
	Key bool
}

// Lossy says which losses are accepted: false refuses the row.
type Lossy struct {
	Number bool // digits are rounded away
	Time   bool // fractions of a second, or times of a date, are rounded away
	NaN    bool // what is not finite becomes NULL
}

// DecodeOptions are the choices of a Decoder.
type DecodeOptions struct {
	Lossy         Lossy
	IgnoreUnknown bool             // fields without a column are left out; else they refuse the row
	Partial       bool             // a column that a message does not have is not known, and the row is taken without it
	Mem           memory.Allocator // nil = the Go heap
}

// Decoder turns messages into record batches of one target. It is used by one goroutine at a time.
type Decoder struct {
	columns []DecodeColumn
	kinds   []sqltype.Kind
	names   map[string]int // exact, and lower case where that is unambiguous
	options DecodeOptions

	row    []cellValue
	given  Set // columns that the row has
	except Set // columns that rows do not have, whatever they say: Unchanged
	arena  []byte
	order  []int // columns in the order of the fields of the last message
	key    []byte
	parts  []*part
	byKey  map[string]*part
	rows   int
	size   int64
	number []byte // scratch
	most   int    // rows of the largest part of the last Finish: the next ones have room for as many

	json    jx.Decoder
	onField func(*jx.Decoder, []byte) error
	fields  int   // of the object that were read
	failed  error // of the last one
}

// cellValue is a decoded value that is not in a record batch yet.
type cellValue struct {
	null     bool
	hi, lo   uint64
	from, to int // in the arena
}

// CellError is what is wrong with a value of a message.
type CellError struct {
	Column string
	Type   string
	Err    error
}

func (e *CellError) Error() string {
	if e.Type == "" {
		return fmt.Sprintf("column %s: %v", e.Column, e.Err)
	}
	return fmt.Sprintf("column %s (%s): %v", e.Column, e.Type, e.Err)
}

func (e *CellError) Unwrap() error { return e.Err }

// NewDecoder plans a target.
func NewDecoder(columns []DecodeColumn, o DecodeOptions) (*Decoder, error) {
	if o.Mem == nil {
		o.Mem = memory.NewGoAllocator()
	}
	d := &Decoder{columns: columns, options: o, kinds: make([]sqltype.Kind, len(columns)), row: make([]cellValue, len(columns)), names: make(map[string]int, 2*len(columns)), byKey: map[string]*part{}}
	for i, c := range columns {
		d.kinds[i] = c.Type.Kind()
		if _, twice := d.names[c.Name]; twice {
			return nil, fmt.Errorf("planning a target: two columns are named %s", c.Name)
		}
		d.names[c.Name] = i
	}
	folded := map[string]int{}
	for i, c := range columns {
		lower := strings.ToLower(c.Name)
		if _, taken := folded[lower]; taken {
			folded[lower] = -1
			continue
		}
		folded[lower] = i
	}
	for lower, i := range folded {
		if _, taken := d.names[lower]; !taken && i >= 0 {
			d.names[lower] = i
		}
	}
	return d, nil
}

// Len is the number of rows since the last Finish.
func (d *Decoder) Len() int { return d.rows }

// Bytes is about how many bytes their values take.
func (d *Decoder) Bytes() int64 { return d.size }

// begin forgets the row before.
func (d *Decoder) begin() {
	d.given.Reset()
	if cap(d.arena) > 1<<20 {
		d.arena = nil // one large value is not kept for ever
	}
	d.arena = d.arena[:0]
}

// find gives the column of a field, which comes n-th in its message; -1 if there is none.
func (d *Decoder) find(n int, name []byte) int {
	if n < len(d.order) && d.columns[d.order[n]].Name == string(name) {
		return d.order[n]
	}
	i, ok := d.names[string(name)]
	if !ok {
		if i, ok = d.names[strings.ToLower(string(name))]; !ok {
			return -1
		}
	}
	if n == len(d.order) && n < len(d.columns) {
		d.order = append(d.order, i)
	} else if n < len(d.order) {
		d.order[n] = i
	}
	return i
}

// take notes that the row has a column, once.
func (d *Decoder) take(i int) error {
	if d.given.Has(i) {
		return &CellError{Column: d.columns[i].Name, Err: errors.New("the message has it twice")}
	}
	d.given.Add(i)
	return nil
}

func (d *Decoder) cellError(i int, err error) error {
	return &CellError{Column: d.columns[i].Name, Type: d.columns[i].Type.String(), Err: err}
}

// ErrNoColumn is wrapped by the error of a field that no column has.
var ErrNoColumn = errors.New("the table has no such column; remove the field from the message, add the column, or set on_unknown_field to ignore or add_column")

// unknown refuses a field that no column has.
func unknown(name string) error { return &CellError{Column: shown(name), Err: ErrNoColumn} }

// end puts the row into the part of its columns, and tells that a needed value is missing.
func (d *Decoder) end() error {
	d.key = d.key[:0]
	if err := d.whole(); err != nil {
		return err
	}
	p := d.byKey[string(d.key)]
	if p == nil {
		p = d.newPart()
		d.byKey[string(d.key)] = p
		d.parts = append(d.parts, p)
	}
	d.size += p.append(d, d.rows)
	d.rows++
	return nil
}

// whole looks whether the row has what it needs, and notes in d.key the columns that it leaves to the server.
func (d *Decoder) whole() error {
	if d.options.Partial {
		return d.partial()
	}
	for i := range d.columns {
		c := &d.columns[i]
		if c.Ignored {
			continue
		}
		v := &d.row[i]
		if !loadable(d.kinds[i]) && c.Optional && d.given.Has(i) {
			return d.cellError(i, errNotLoadable)
		}
		if !d.given.Has(i) {
			if c.Optional {
				d.key = append(d.key, byte(i), byte(i>>8))
				continue
			}
			*v = cellValue{null: true}
			if !c.Type.Nullable {
				return d.cellError(i, errors.New("the message has no value for it, and the column is NOT NULL without a default"))
			}
		}
		if v.null && !c.Type.Nullable {
			return d.cellError(i, errNullValue)
		}
	}
	return nil
}

// loadable reports whether a bulk load has a form for a kind. For the others there is NULL only, by leaving the column out.
func loadable(k sqltype.Kind) bool { return k != sqltype.Unknown && k != sqltype.Variant }

// Part is the rows that have the same columns. Columns that no row has are not in it: the server gives them their default or NULL.
type Part struct {
	Record arrow.RecordBatch
	Rows   []int // what Append counted: the first row is 0
	// Known are the columns, by their number in the target, that each row has, with the option Partial: nil for a row that has
	// them all. What a row does not have is NULL in the record.
	Known []Set
	Bytes int64
}

// Finish gives what was appended, and begins anew. The records are the caller's to release.
func (d *Decoder) Finish() []Part {
	out := make([]Part, 0, len(d.parts))
	d.most = 0
	for _, p := range d.parts {
		d.most = max(d.most, len(p.rows))
		out = append(out, p.finish(d))
	}
	d.reset()
	return out
}

// Discard forgets what was appended.
func (d *Decoder) Discard() {
	for _, p := range d.parts {
		p.release()
	}
	d.reset()
}

func (d *Decoder) reset() {
	d.parts, d.rows, d.size = nil, 0, 0
	clear(d.byKey)
}
