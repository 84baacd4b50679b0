package storage

import (
	"math"
	"sync"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// identityCounter is the state of an identity column; it is not transactional.
type identityCounter struct {
	mu   sync.Mutex
	prop Identity
	has  bool  // the table has an identity column
	used bool  // last is a value that was given out
	last int64 // the seed while not used
}

func (c *identityCounter) reset(p *Identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prop, c.has, c.used, c.last = *p, true, false, p.Seed
}

func (c *identityCounter) state() identityState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return identityState{c.prop, c.has, c.used, c.last}
}

func (c *identityCounter) set(s identityState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prop, c.has, c.used, c.last = s.prop, s.has, s.used, s.last
}

type identityState struct {
	prop      Identity
	has, used bool
	last      int64
}

// NextIdentity gives out the next value of the identity column. Whether the column's type can hold it is the caller's.
func (t *Table) NextIdentity() (int64, error) {
	c := &t.core.identity
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.used {
		c.used = true
		return c.last, nil
	}
	inc := c.prop.Increment
	if inc > 0 && c.last > math.MaxInt64-inc || inc < 0 && c.last < math.MinInt64-inc {
		return 0, sqlerr.Newf(8115, 16, "Arithmetic overflow error converting IDENTITY to data type bigint.")
	}
	c.last += inc
	return c.last, nil
}

// NoteIdentity tells of a value that was inserted with IDENTITY_INSERT; the counter follows it when it is beyond.
func (t *Table) NoteIdentity(v int64) {
	c := &t.core.identity
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.used || c.prop.Increment > 0 && v > c.last || c.prop.Increment < 0 && v < c.last {
		c.used, c.last = true, v
	}
}

// ReseedIdentity is DBCC CHECKIDENT RESEED: v counts as given out, or is the next value of a table that never had a row.
func (t *Table) ReseedIdentity(v int64) {
	c := &t.core.identity
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = v
}

// IdentityCurrent is IDENT_CURRENT: the last value given out, or the seed; used is false when none was.
func (t *Table) IdentityCurrent() (last int64, used bool) {
	s := t.core.identity.state()
	return s.last, s.used
}
