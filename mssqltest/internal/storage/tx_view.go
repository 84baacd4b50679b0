package storage

// Catalog is where the transaction's statements find the objects of a database.
func (tx *Tx) Catalog(db *Database) Catalog {
	if r := tx.replicaRoot(db); r != nil {
		return r
	}
	return db
}

// Root is the committed state that the transaction reads db in: a replica's, its snapshot, or the statement's latest.
func (tx *Tx) Root(db *Database) *Root {
	if r := tx.replicaRoot(db); r != nil {
		return r
	}
	if tx.isolation == Snapshot {
		return tx.snapshotRoot(db)
	}
	return tx.statementRoot(db)
}

// replicaRoot is what a replica's transaction sees of db, the same Root to its end; nil when it is no replica's.
func (tx *Tx) replicaRoot(db *Database) *Root {
	if tx.o.Roots == nil {
		return nil
	}
	r, ok := tx.replica[db]
	if !ok {
		if tx.replica == nil {
			tx.replica = map[*Database]*Root{}
		}
		r = tx.o.Roots(db)
		tx.replica[db] = r
	}
	return r
}

// snapshotRoot takes the snapshot of all databases at the first access to any.
func (tx *Tx) snapshotRoot(db *Database) *Root {
	if tx.snapshot == nil {
		tx.snapshot = map[*Database]*Root{}
		for _, d := range tx.in.Databases() {
			tx.snapshot[d] = d.Root()
		}
	}
	if r := tx.snapshot[db]; r != nil {
		return r
	}
	r := db.Root()
	tx.snapshot[db] = r
	return r
}
