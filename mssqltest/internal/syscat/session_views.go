package syscat

import (
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// sessionViews registers the dynamic management views of sessions, requests, transactions and locks.
func (r registrar) sessionViews() {
	r.view("sys", "dm_exec_sessions", sessionColumns, (*source).sessions)
	r.view("sys", "dm_exec_connections", connectionColumns, (*source).connections)
	r.view("sys", "dm_exec_requests", requestColumns, (*source).requests)
	r.view("sys", "dm_tran_locks", lockColumns, (*source).locks)
	r.view("sys", "dm_os_waiting_tasks", waitingTaskColumns, (*source).waitingTasks)
	r.view("sys", "dm_tran_active_transactions", transactionColumns, (*source).transactions)
	r.view("sys", "dm_tran_session_transactions", sessionTransactionColumns, (*source).sessionTransactions)
	r.view("sys", "sysprocesses", processColumns, (*source).processes)
	r.viewInMaster("dbo", "sysprocesses", processColumns, (*source).processes)
}

const processColumns = `spid smallint, kpid smallint, blocked smallint, waittype binary(2), waittime bigint, lastwaittype nchar(32),
	waitresource nchar(256), dbid smallint, uid smallint?, cpu int, physical_io bigint, memusage int, login_time datetime,
	last_batch datetime, ecid smallint, open_tran smallint, status nchar(30), sid binary(86), hostname nchar(128), program_name nchar(128),
	hostprocess nchar(10), cmd nchar(26), nt_domain nchar(128), nt_username nchar(128), net_address nchar(12), net_library nchar(12),
	loginame nchar(128), request_id int`

// seen lists the sessions by SPID: the caller's own, or all with the rights of a sysadmin (VIEW SERVER STATE).
func (s *source) seen() []*exec.Session {
	var out []*exec.Session
	for _, x := range s.c.Instance().Sessions() {
		if x == s.c.Session || s.serverState() {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b *exec.Session) int { return a.SPID() - b.SPID() })
	return out
}

// serverState reports VIEW SERVER STATE.
func (s *source) serverState() bool {
	if s.c.Session.IsSysadmin() {
		return true
	}
	l, ok := s.who.sec.Login(s.c.Session.Login())
	if !ok {
		return false
	}
	granted, denied := s.who.sec.Allowed(0, []int{l.ID}, 0, 0, 0, "VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE", "CONTROL SERVER")
	return granted && !denied
}

// openTransactions maps SPIDs to the ids of their transactions.
func (s *source) openTransactions() map[int]uint64 {
	out := map[int]uint64{}
	for _, t := range s.c.Instance().Storage.OpenTransactions() {
		if t.SPID != 0 {
			out[t.SPID] = t.ID
		}
	}
	return out
}

// statusOf is a session's state; that of the caller's own is the present one.
func (s *source) statusOf(x *exec.Session) exec.SessionStatus {
	if x != s.c.Session {
		return x.Status()
	}
	o := x.Options()
	return exec.SessionStatus{Database: x.Database().ID, Isolation: o.Isolation, LockTimeout: o.LockTimeout, DeadlockPriority: o.DeadlockPriority}
}

func status(x *exec.Session) string {
	if x.Running() {
		return "running"
	}
	return "sleeping"
}

func (s *source) sessions() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		open := s.openTransactions()
		for _, x := range s.seen() {
			st := s.statusOf(x)
			row := sysrow.Row{
				"session_id": x.SPID(), "login_time": x.LoginTime(), "host_name": x.HostName(), "program_name": x.AppName(), "host_process_id": 0,
				"client_version": 7, "client_interface_name": "", "login_name": x.Login(), "status": status(x), "endpoint_id": 4,
				"last_request_start_time": x.LoginTime(), "is_user_process": true, "text_size": maxBytes, "language": "us_english",
				"date_format": "mdy", "date_first": 7, "quoted_identifier": true, "ansi_null_dflt_on": true, "ansi_warnings": true,
				"ansi_padding": true, "ansi_nulls": true, "concat_null_yields_null": true, "transaction_isolation_level": int(st.Isolation),
				"lock_timeout": timeoutMillis(st.LockTimeout), "deadlock_priority": st.DeadlockPriority, "original_login_name": x.Login(),
				"group_id": 2, "database_id": st.Database, "authenticating_database_id": 1, "open_transaction_count": 0,
			}
			if _, ok := open[x.SPID()]; ok {
				row["open_transaction_count"] = 1
			}
			if !yield(row) {
				return
			}
		}
	}
}

func timeoutMillis(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

func (s *source) connections() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, x := range s.seen() {
			if !yield(sysrow.Row{
				"session_id": x.SPID(), "most_recent_session_id": x.SPID(), "connect_time": x.LoginTime(), "net_transport": "TCP", "protocol_type": "TSQL",
				"protocol_version": 0x74000004, "endpoint_id": 4, "encrypt_option": "FALSE", "auth_scheme": "SQL", "net_packet_size": 4096,
				"client_net_address": "127.0.0.1", "local_net_address": "127.0.0.1", "local_tcp_port": 1433,
			}) {
				return
			}
		}
	}
}

func (s *source) requests() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		blocked, open := s.waits(), s.openTransactions()
		for _, x := range s.seen() {
			if !x.Running() {
				continue
			}
			st := s.statusOf(x)
			row := sysrow.Row{
				"session_id": x.SPID(), "start_time": time.Now(), "status": "running", "command": "SELECT", "database_id": st.Database, "user_id": 1,
				"blocking_session_id": blocked[x.SPID()].by, "transaction_id": int64(open[x.SPID()]), "transaction_isolation_level": int(st.Isolation),
				"lock_timeout": timeoutMillis(st.LockTimeout), "open_resultset_count": 1,
			}
			if w := blocked[x.SPID()]; w.by != 0 {
				row["status"], row["wait_type"], row["last_wait_type"], row["wait_resource"] = "suspended", w.waitType(), w.waitType(), w.resource()
			}
			if !yield(row) {
				return
			}
		}
	}
}

func (s *source) transactions() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, t := range s.c.Instance().Storage.OpenTransactions() {
			if !yield(sysrow.Row{
				"transaction_id": int64(t.ID), "name": "user_transaction", "transaction_begin_time": t.Began, "transaction_type": 1,
				"transaction_state": 2,
			}) {
				return
			}
		}
	}
}

func (s *source) sessionTransactions() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, t := range s.c.Instance().Storage.OpenTransactions() {
			if t.SPID == 0 {
				continue
			}
			if !yield(sysrow.Row{
				"session_id": t.SPID, "transaction_id": int64(t.ID), "transaction_descriptor": binary.BigEndian.AppendUint64(nil, t.ID),
				"is_user_transaction": true, "is_local": true, "open_transaction_count": 1,
			}) {
				return
			}
		}
	}
}

func (s *source) processes() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		blocked, open := s.waits(), s.openTransactions()
		for _, x := range s.seen() {
			row := sysrow.Row{
				"spid": x.SPID(), "blocked": blocked[x.SPID()].by, "dbid": s.statusOf(x).Database, "login_time": x.LoginTime(), "last_batch": x.LoginTime(),
				"status": status(x), "hostname": x.HostName(), "program_name": x.AppName(), "cmd": "AWAITING COMMAND", "loginame": x.Login(),
			}
			if _, ok := open[x.SPID()]; ok {
				row["open_tran"] = 1
			}
			if x.Running() {
				row["cmd"] = "SELECT"
			}
			if !yield(row) {
				return
			}
		}
	}
}
