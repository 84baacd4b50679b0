package storage

import (
	"encoding/binary"

	"example.com/mssqlcdc/mssqltest/internal/value"
	"github.com/tidwall/btree"
)

// Row is one version of a row: Vals in the order of TableDef.Columns. It is immutable and may be kept; the pointer is
// the version's identity.
type Row struct {
	Vals  []value.Value
	key   string // in the clustered index or heap; names the row in the lock manager
	ghost bool   // stands for a row that an open transaction has deleted or moved
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
