package storage

import (
	"slices"
	"sync/atomic"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// TableDef is the definition of a table. It is immutable once it belongs to a table: ALTER makes a copy (Clone) and
// gives that to AlterTable.
type TableDef struct {
	ObjectHeader
	Columns      []*Column
	Indexes      []*IndexDef // the clustered index first, if there is one
	Checks       []*Check
	ForeignKeys  []*ForeignKey
	TrackedByCDC bool
	// Temporal is sys.tables.temporal_type: 0 ordinary, 1 history table, 2 system-versioned.
	Temporal int
	// NoEscalation is LOCK_ESCALATION = DISABLE.
	NoEscalation bool
	// TextInRow and other properties that only the catalog views show.
	Extra map[string]string
}

// Clone returns a copy of d whose slices can be changed without changing d; columns and indexes themselves are shared.
func (d *TableDef) Clone() *TableDef {
	c := *d
	c.Columns = slices.Clone(d.Columns)
	c.Indexes = slices.Clone(d.Indexes)
	c.Checks = slices.Clone(d.Checks)
	c.ForeignKeys = slices.Clone(d.ForeignKeys)
	return &c
}

// normalize fills in ids that are zero and puts the clustered index first.
func (d *TableDef) normalize() {
	slices.SortStableFunc(d.Indexes, func(a, b *IndexDef) int {
		if a.Clustered == b.Clustered {
			return 0
		}
		if a.Clustered {
			return -1
		}
		return 1
	})
	for _, x := range d.Indexes {
		if x.ID == 0 {
			x.ID = d.nextIndexID(x.Clustered)
		}
	}
	for _, k := range d.Checks {
		if k.Loaded == nil {
			k.Loaded = new(atomic.Bool)
		}
	}
	for _, k := range d.ForeignKeys {
		if k.Loaded == nil {
			k.Loaded = new(atomic.Bool)
		}
	}
	last := 0
	for _, c := range d.Columns {
		last = max(last, c.ID)
	}
	for _, c := range d.Columns {
		if c.ID == 0 {
			last++
			c.ID = last
		}
	}
}

// Clustered returns the clustered index, nil for a heap.
func (d *TableDef) Clustered() *IndexDef {
	if len(d.Indexes) > 0 && d.Indexes[0].Clustered {
		return d.Indexes[0]
	}
	return nil
}

// PrimaryKey returns the index of the primary key, nil without one.
func (d *TableDef) PrimaryKey() *IndexDef {
	for _, x := range d.Indexes {
		if x.PrimaryKey {
			return x
		}
	}
	return nil
}

// IdentityColumn returns the ordinal of the identity column, -1 without one.
func (d *TableDef) IdentityColumn() int {
	return slices.IndexFunc(d.Columns, func(c *Column) bool { return c.Identity != nil })
}

// Column is a column of a table.
type Column struct {
	ID              int // sys.columns.column_id; grows, never reused
	Name            string
	Type            value.Type
	Nullable        bool
	Identity        *Identity
	Default         *Default
	Computed        *Computed
	RowGUID         bool
	Sparse          bool
	Hidden          bool
	GeneratedAlways int    // sys.columns.generated_always_type
	Masked          string // masking function, "" without one
}

// Identity is an IDENTITY property; the counter is the table's (Table.NextIdentity).
type Identity struct {
	Seed, Increment   int64
	NotForReplication bool
}

// Default is a DEFAULT constraint; Expr is the executor's parsed form.
type Default struct {
	ID         int32
	Name, Text string
	Expr       any
}

// Computed makes a computed column.
type Computed struct {
	Text      string
	Persisted bool
	Expr      any
}

// Check is a CHECK constraint, checked by the executor.
type Check struct {
	ID                  int32
	Name, Text          string
	Expr                any
	Disabled, Untrusted bool
	// Loaded is set when a bulk load has brought rows that were not checked. It is apart from the definition because a load
	// holds no lock that would let it change that.
	Loaded *atomic.Bool
}

// NotTrusted is sys.check_constraints.is_not_trusted.
func (k *Check) NotTrusted() bool { return k.Untrusted || k.Loaded != nil && k.Loaded.Load() }

// ForeignKey is a FOREIGN KEY constraint, checked by the executor.
type ForeignKey struct {
	ID                  int32
	Name                string
	Columns             []int // ordinals in Columns
	RefTable            int32 // object_id
	RefColumns          []int // ordinals in the referenced table
	OnDelete, OnUpdate  string
	Disabled, Untrusted bool
	Loaded              *atomic.Bool // as Check.Loaded
}

// NotTrusted is sys.foreign_keys.is_not_trusted.
func (k *ForeignKey) NotTrusted() bool { return k.Untrusted || k.Loaded != nil && k.Loaded.Load() }

// Distrust marks the constraints that a load without CHECK_CONSTRAINTS has passed over.
func (d *TableDef) Distrust() {
	for _, k := range d.Checks {
		k.Loaded.Store(true)
	}
	for _, k := range d.ForeignKeys {
		k.Loaded.Store(true)
	}
}

// IndexDef is an index of a table; immutable like its TableDef.
type IndexDef struct {
	ID               int // sys.indexes.index_id: 1 clustered, 2 … others
	ObjectID         int32
	Name             string
	Unique           bool
	Clustered        bool
	PrimaryKey       bool
	UniqueConstraint bool
	Disabled         bool
	Columns          []IndexColumn
	Include          []int
	FilterText       string
	// Filter says whether a row belongs to a filtered index; nil without a filter.
	Filter func(vals []value.Value) bool
}

// IndexColumn is a key column of an index.
type IndexColumn struct {
	Column int // ordinal in TableDef.Columns
	Desc   bool
}

// AppendKey appends the encoded values of the first len(vals) key columns of x, for a Range.
func (x *IndexDef) AppendKey(dst []byte, d *TableDef, vals ...value.Value) []byte {
	for i, v := range vals {
		dst = x.AppendColumnKey(dst, d, i, v)
	}
	return dst
}

// AppendColumnKey appends the encoded value of key column i of x.
func (x *IndexDef) AppendColumnKey(dst []byte, d *TableDef, i int, v value.Value) []byte {
	c := x.Columns[i]
	return value.AppendKey(dst, v, d.Columns[c.Column].Type, c.Desc)
}

// appendRow appends the encoded key columns of a row.
func (x *IndexDef) appendRow(dst []byte, d *TableDef, vals []value.Value) []byte {
	for _, c := range x.Columns {
		dst = value.AppendKey(dst, vals[c.Column], d.Columns[c.Column].Type, c.Desc)
	}
	return dst
}

// sameTree says whether x and y order and select rows in the same way.
func (x *IndexDef) sameTree(y *IndexDef) bool {
	if x == y {
		return true
	}
	return x != nil && y != nil && x.Unique == y.Unique && x.Clustered == y.Clustered && x.Disabled == y.Disabled &&
		x.FilterText == y.FilterText && slices.Equal(x.Columns, y.Columns)
}
