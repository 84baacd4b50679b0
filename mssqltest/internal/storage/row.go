package storage

import (
	"encoding/binary"
	"sync/atomic"

	"example.com/mssqlcdc/mssqltest/internal/value"
	"github.com/tidwall/btree"
)

// Row is one version of a row: Vals in the order of TableDef.Columns. It is immutable and may be kept; the pointer is
// the version's identity.
type Row struct {
	Vals  []value.Value
	key   string // in the clustered index or heap; names the row in the lock manager
	ghost bool   // stands for a row that an open transaction has deleted or moved

	sent atomic.Pointer[Sent]
}

// Sent is a row as it went over the wire in a result set of one shape. It lives as long as the row, so that a table which is read
// again and again, as a change table is, is not encoded again and again.
type Sent struct {
	Shape string // of the result set: what decides the bytes
	Bytes []byte
	next  *Sent
}

// mostShapes bounds what is kept of one row.
const mostShapes = 3

// Sent finds the row in a shape. seen tells whether it was asked for before, in any shape: rows that are read once are not kept.
func (r *Row) Sent(shape string) (bytes []byte, seen bool) {
	first := r.sent.Load()
	for s := first; s != nil; s = s.next {
		if s.Shape == shape {
			return s.Bytes, true
		}
	}
	if first == nil {
		r.sent.CompareAndSwap(nil, &once)
	}
	return nil, first != nil
}

// once marks a row that was asked for.
var once Sent

// Keep keeps the row in a shape, unless it is kept in enough of them.
func (r *Row) Keep(shape string, bytes []byte) {
	first := r.sent.Load()
	n := 0
	for s := first; s != nil && s != &once; s = s.next {
		n++
	}
	if n < mostShapes {
		r.sent.CompareAndSwap(first, &Sent{Shape: shape, Bytes: bytes, next: first})
	}
}

// item is an entry of a tree. In the first tree of a store key is row.key.
type item struct {
	key string
	row *Row
}

type tree = btree.BTreeG[item]

func newTree() *tree {
	return btree.NewBTreeGOptions(func(a, b item) bool { return a.key < b.key }, btree.Options{NoLocks: true})
}

// rowIDLen is the length of the row id: the whole key in a heap, the uniquifier at the end of a key that is not unique.
const rowIDLen = 8

func appendRowID(dst []byte, id uint64) []byte { return binary.BigEndian.AppendUint64(dst, id) }
