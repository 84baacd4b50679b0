package storage

import (
	"maps"
	"slices"
	"time"
)

// TxInfo is a row of the views of open transactions.
type TxInfo struct {
	ID        uint64
	SPID      int // 0 for an internal transaction
	Began     time.Time
	Isolation Isolation
	Databases []int // changed ones
}

// OpenTransactions lists the transactions that have not ended, by id.
func (in *Instance) OpenTransactions() []TxInfo {
	in.mu.Lock()
	defer in.mu.Unlock()
	var out []TxInfo
	for _, id := range slices.Sorted(maps.Keys(in.open)) {
		out = append(out, in.open[id].info())
	}
	return out
}

// info is called by other goroutines than the transaction's, with the instance's mutex held.
func (tx *Tx) info() TxInfo {
	i := TxInfo{ID: tx.ID, Began: tx.began, Isolation: tx.o.Isolation}
	if tx.o.Session != nil {
		i.SPID = tx.o.Session.SPID
	}
	for _, db := range tx.in.dbs {
		db.mu.Lock()
		if _, ok := db.touchedBy[tx.ID]; ok {
			i.Databases = append(i.Databases, db.ID)
		}
		db.mu.Unlock()
	}
	slices.Sort(i.Databases)
	return i
}
