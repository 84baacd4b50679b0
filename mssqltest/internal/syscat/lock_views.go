package syscat

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

const waitingTaskColumns = `waiting_task_address varbinary(8), session_id smallint?, exec_context_id int?, wait_duration_ms bigint?,
	wait_type nvarchar(60)?, resource_address varbinary(8)?, blocking_task_address varbinary(8)?, blocking_session_id smallint?,
	blocking_exec_context_id int?, resource_description nvarchar(3072)?`

// wait is a lock that a session waits for, and one session that is in its way.
type wait struct {
	lock storage.LockInfo
	by   int
}

// waitType is the name of the wait: LCK_M_ and the mode.
func (w wait) waitType() string {
	return "LCK_M_" + strings.ToUpper(strings.NewReplacer("Sch-", "SCH_", "-", "_").Replace(w.lock.Mode))
}

// resource is the form of sys.dm_exec_requests.wait_resource.
func (w wait) resource() string {
	switch l := w.lock; l.Type {
	case "OBJECT":
		return fmt.Sprintf("OBJECT: %d:%d:0", l.DatabaseID, l.ObjectID)
	case "APPLICATION":
		return fmt.Sprintf("APPLICATION: %d:0:[%s]", l.DatabaseID, l.Resource)
	}
	return fmt.Sprintf("%s: %d:%d %s", w.lock.Type, w.lock.DatabaseID, w.lock.ObjectID, w.lock.Resource)
}

// waits maps the waiting SPIDs to what they wait for.
func (s *source) waits() map[int]wait {
	out := map[int]wait{}
	locks := s.c.Instance().Storage.Locks()
	for _, w := range locks {
		if w.Status == "GRANT" {
			continue
		}
		for _, g := range locks {
			if g.Status == "GRANT" && g.SPID != w.SPID && g.DatabaseID == w.DatabaseID && g.ObjectID == w.ObjectID && g.Type == w.Type && g.Resource == w.Resource {
				out[w.SPID] = wait{w, g.SPID}
			}
		}
	}
	return out
}

// waitingTasks yields the sessions that wait for locks.
func (s *source) waitingTasks() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		waits := s.waits()
		for _, x := range s.seen() {
			w, ok := waits[x.SPID()]
			if !ok {
				continue
			}
			if !yield(sysrow.Row{
				"waiting_task_address": []byte{byte(x.SPID())}, "session_id": x.SPID(), "exec_context_id": 0, "wait_duration_ms": 0,
				"wait_type": w.waitType(), "blocking_session_id": w.by, "resource_description": w.resource(),
			}) {
				return
			}
		}
	}
}

// locks yields the locks of transactions and sessions, and the lock that every session has on its database.
func (s *source) locks() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, x := range s.c.Instance().Sessions() {
			db := s.statusOf(x).Database
			if db == storage.MasterID || db == storage.TempDBID {
				continue
			}
			if !yield(sysrow.Row{
				"resource_type": "DATABASE", "resource_database_id": db, "resource_associated_entity_id": 0, "request_mode": "S", "request_type": "LOCK",
				"request_status": "GRANT", "request_reference_count": 1, "request_session_id": x.SPID(),
				"request_owner_type": "SHARED_TRANSACTION_WORKSPACE", "request_owner_id": 0,
			}) {
				return
			}
		}
		locks := s.c.Instance().Storage.Locks()
		slices.SortStableFunc(locks, func(a, b storage.LockInfo) int { return a.SPID - b.SPID })
		for _, l := range locks {
			row := sysrow.Row{
				"resource_type": l.Type, "resource_database_id": l.DatabaseID, "resource_description": l.Resource,
				"resource_associated_entity_id": l.ObjectID, "request_mode": l.Mode, "request_type": "LOCK", "request_status": l.Status,
				"request_reference_count": 1, "request_session_id": l.SPID, "request_owner_type": "TRANSACTION", "request_owner_id": int64(l.TxID),
			}
			if l.TxID == 0 {
				row["request_owner_type"] = "SESSION"
			}
			if !yield(row) {
				return
			}
		}
	}
}
