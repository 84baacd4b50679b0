package storage

// overlay is a Root's table with the transaction's own changes on top.
type overlay struct {
	base    *version
	applied int // changes of the transaction that store contains
	store   *store
}

// view is the state of a table that a reader without locks sees: committed rows as of a Root, and the transaction's own
// changes. fixed is for SNAPSHOT: a table that was altered since is then error 3961; else the newest version serves.
func (tx *Tx) view(c *tableCore, r *Root, fixed bool) (*store, error) {
	t := tx.table(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	v := r.version(c)
	if t.rebuilt || c.committed == nil && t.writer {
		return c.share(), nil
	}
	if v == nil || v.store.def != c.current.def {
		if fixed && c.committed != nil {
			return nil, errSchemaChanged(c.db.Name())
		}
		if v = c.committed; v == nil {
			return nil, errInvalidObject(c.live.Header().QualifiedName())
		}
	}
	if !t.writer {
		return v.store, nil
	}
	if c.writers == 1 && c.committed == v {
		return c.share(), nil
	}
	o := t.overlay
	if o == nil || o.base != v {
		o = &overlay{base: v, store: v.store}
	}
	o = &overlay{base: v, applied: len(tx.changes), store: o.extend(tx.changes, c)}
	t.overlay = o
	return o.store, nil
}

// extend returns the overlay's store with the changes that it lacks; scans may still read the old one.
func (o *overlay) extend(changes []change, c *tableCore) *store {
	s := o.store
	cloned := false
	for _, ch := range changes[min(o.applied, len(changes)):] {
		if ch.core != c || ch.state != nil {
			continue
		}
		if !cloned {
			s, cloned = s.clone(), true
		}
		s.replay(ch.old, ch.new)
	}
	return s
}

// replicaView is a table in the state that a replica shows.
func replicaView(c *tableCore, r *Root) (*store, error) {
	if v := r.version(c); v != nil {
		return v.store, nil
	}
	return nil, errInvalidObject(c.live.Header().QualifiedName())
}
