package storage

import "github.com/tidwall/btree"

// cursor walks a range of one tree that nobody changes.
type cursor struct {
	lo, hi      string
	open, empty bool
	reverse     bool
	it          btree.IterG[item]
	valid       bool
}

func newCursor(r Range) *cursor {
	c := &cursor{reverse: r.Reverse}
	c.lo, c.hi, c.open, c.empty = r.bounds()
	return c
}

// start puts the cursor on the first entry of the range.
func (c *cursor) start(t *tree) {
	if c.empty {
		return
	}
	c.it = t.Iter()
	switch {
	case !c.reverse:
		c.valid = c.it.Seek(item{key: c.lo})
	case c.open:
		c.valid = c.it.Last()
	default:
		c.before(t, c.hi)
	}
}

// after puts the cursor on the entry that follows key in t, which may be a newer state of the tree.
func (c *cursor) after(t *tree, key string) {
	c.it = t.Iter()
	if c.reverse {
		c.before(t, key)
		return
	}
	c.valid = c.it.Seek(item{key: key})
	if c.valid && c.it.Item().key == key {
		c.valid = c.it.Next()
	}
}

func (c *cursor) before(t *tree, key string) {
	if c.it.Seek(item{key: key}) {
		c.valid = c.it.Prev()
		return
	}
	c.it = t.Iter()
	c.valid = c.it.Last()
}

// item is the entry under the cursor; ok is false at the end of the range.
func (c *cursor) item() (it item, ok bool) {
	if !c.valid {
		return item{}, false
	}
	it = c.it.Item()
	if c.reverse {
		return it, it.key >= c.lo
	}
	return it, c.open || it.key < c.hi
}

func (c *cursor) next() {
	if c.reverse {
		c.valid = c.it.Prev()
	} else {
		c.valid = c.it.Next()
	}
}
