package storage

import (
	"cmp"
	"fmt"
	"hash/crc64"
	"slices"
)

// LockInfo is a row of sys.dm_tran_locks.
type LockInfo struct {
	SPID       int
	TxID       uint64 // 0 for a session's lock
	DatabaseID int
	Type       string // OBJECT, KEY, APPLICATION
	ObjectID   int32
	Resource   string // hash of a key, name of an applock
	Mode       string
	Status     string // GRANT, WAIT, CONVERT
}

// Locks lists the locks and waits in a database.
func (db *Database) Locks() []LockInfo { return db.in.locks.list(db.ID) }

// Locks lists the locks and waits in all databases.
func (in *Instance) Locks() []LockInfo { return in.locks.list(0) }

func (m *lockManager) list(db int) []LockInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []LockInfo
	for res, s := range m.locks {
		if db != 0 && res.db != db {
			continue
		}
		for _, g := range s.granted {
			out = append(out, res.info(g.owner, g.mode, "GRANT"))
		}
		for _, w := range s.queue {
			status := "WAIT"
			if w.convert {
				status = "CONVERT"
			}
			out = append(out, res.info(w.owner, w.want, status))
		}
	}
	slices.SortFunc(out, func(a, b LockInfo) int {
		return cmp.Or(cmp.Compare(a.DatabaseID, b.DatabaseID), cmp.Compare(a.ObjectID, b.ObjectID), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Status, b.Status), cmp.Compare(a.SPID, b.SPID), cmp.Compare(a.TxID, b.TxID))
	})
	return out
}

var keyHash = crc64.MakeTable(crc64.ISO)

func (r resource) info(o *lockOwner, mode Mode, status string) LockInfo {
	li := LockInfo{DatabaseID: r.db, ObjectID: r.object, Mode: mode.String(), Status: status}
	switch r.kind {
	case resTable:
		li.Type = "OBJECT"
	case resKey:
		li.Type = "KEY"
		li.Resource = fmt.Sprintf("(%012x)", crc64.Checksum([]byte(fmt.Sprint(r.index, r.key)), keyHash)>>16)
	case resRange:
		li.Type, li.Mode = "KEY", "RangeS-S"
		li.Resource = fmt.Sprintf("(%012x)", crc64.Checksum([]byte(r.key), keyHash)>>16)
	case resApp:
		li.Type, li.Resource = "APPLICATION", r.key
	}
	if o.session != nil {
		li.SPID = o.session.SPID
	}
	if o.tx != nil {
		li.TxID = o.tx.ID
	}
	return li
}
