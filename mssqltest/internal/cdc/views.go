package cdc

import (
	"iter"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// registerViews adds the dynamic management views, msdb.dbo.cdc_jobs and the functions of the instances.
func (m *Manager) registerViews(reg *exec.Registry) {
	reg.AddView(m.stateView("dm_cdc_log_scan_sessions", `session_id int, start_time datetime?, end_time datetime?, duration int?,
		scan_phase nvarchar(200)?, error_count int?, start_lsn nvarchar(23)?, current_lsn nvarchar(23)?, end_lsn nvarchar(23)?,
		tran_count bigint?, last_commit_lsn nvarchar(23)?, last_commit_time datetime?, log_record_count bigint?, schema_change_count int?,
		command_count bigint?, first_begin_cdc_lsn nvarchar(23)?, last_commit_cdc_lsn nvarchar(23)?, last_commit_cdc_time datetime?,
		latency int?, empty_scan_count int?, failed_sessions_count int?`, sessionRows))
	reg.AddView(m.stateView("dm_cdc_errors", `session_id int?, phase_number int?, entry_time datetime?, error_number int?, error_severity int?,
		error_state int?, error_message nvarchar(1024)?, start_lsn nvarchar(23)?, begin_lsn nvarchar(23)?, sequence_value nvarchar(23)?`, errorRows))
	jobs := jobsView(m)
	findView := reg.FindView
	reg.FindView = func(c *exec.Context, db *storage.Database, schema, name string) *exec.View {
		if db.ID == storage.MSDBID && strings.EqualFold(name, jobs.Name) && strings.EqualFold(schema, jobs.Schema) {
			return jobs
		}
		if findView != nil {
			return findView(c, db, schema, name)
		}
		return nil
	}
	findFunc := reg.FindTableFunc
	reg.FindTableFunc = func(c *exec.Context, db *storage.Database, schema, name string) *exec.TableFunc {
		if f := m.findFunction(c, db, schema, name); f != nil {
			return f
		}
		if findFunc != nil {
			return findFunc(c, db, schema, name)
		}
		return nil
	}
}

// stateView makes a view of the capture job of a database. It needs VIEW DATABASE STATE and is empty on secondaries.
func (m *Manager) stateView(name, cols string, rows func(j *Job) []sysrow.Row) *exec.View {
	v := &exec.View{Schema: "sys", Name: name, Columns: sysrow.Columns(cols)}
	v.Rows = func(c *exec.Context) iter.Seq2[[]value.Value, error] {
		return func(yield func([]value.Value, error) bool) {
			if !mayViewState(c, c.DB) {
				if err := c.Sink.Message(sqlerr.New(262, "VIEW DATABASE STATE", c.DB.Name())); err != nil {
					yield(nil, err)
					return
				}
				yield(nil, sqlerr.New(297))
				return
			}
			j := m.Job(c.DB)
			if j == nil || c.Session.Replica() != nil {
				return
			}
			for _, row := range rows(j) {
				vals, err := sysrow.Cells(v.Columns, row, m.st.Location())
				if !yield(vals, err) || err != nil {
					return
				}
			}
		}
	}
	return v
}

// lsnText is an LSN as the views show it: with a NUL at its end, as clients have observed it.
func lsnText(l storage.LSN) string { return l.String() + "\x00" }

func sessionRows(j *Job) []sysrow.Row {
	var rows []sysrow.Row
	for _, s := range j.scanSessions() {
		row := sysrow.Row{
			"session_id": s.id, "start_time": s.start, "end_time": s.end, "duration": int(s.end.Sub(s.start).Seconds()), "scan_phase": s.phase,
			"error_count": s.errors, "start_lsn": lsnText(s.first), "current_lsn": lsnText(s.last), "end_lsn": lsnText(s.last),
			"tran_count": s.trans, "last_commit_lsn": lsnText(s.last), "log_record_count": s.records, "schema_change_count": s.schema,
			"command_count": s.commands, "first_begin_cdc_lsn": lsnText(s.firstBegin), "last_commit_cdc_lsn": lsnText(s.lastCDC),
			"latency": int(s.latency.Seconds()), "empty_scan_count": s.empty, "failed_sessions_count": s.failed,
		}
		row["last_commit_time"], row["last_commit_cdc_time"] = s.lastTime, s.lastCDCTime
		rows = append(rows, row)
	}
	return rows
}

func errorRows(j *Job) []sysrow.Row {
	var rows []sysrow.Row
	for _, e := range j.scanErrors() {
		rows = append(rows, sysrow.Row{
			"session_id": e.session, "phase_number": 1, "entry_time": e.at, "error_number": e.err.Number, "error_severity": int(e.err.Class),
			"error_state": int(e.err.State), "error_message": e.err.Message, "start_lsn": e.start.String(), "begin_lsn": e.begin.String(),
			"sequence_value": e.seq.String(),
		})
	}
	return rows
}

// jobsView is msdb.dbo.cdc_jobs.
func jobsView(m *Manager) *exec.View {
	v := &exec.View{Schema: "dbo", Name: "cdc_jobs", Columns: sysrow.Columns(`database_id int, job_type nvarchar(20), job_id uniqueidentifier?,
		maxtrans int?, maxscans int?, continuous bit?, pollinginterval bigint?, retention bigint?, threshold bigint?`)}
	v.Rows = func(c *exec.Context) iter.Seq2[[]value.Value, error] {
		return func(yield func([]value.Value, error) bool) {
			for row := range m.allJobs {
				vals, err := sysrow.Cells(v.Columns, row, m.st.Location())
				if !yield(vals, err) || err != nil {
					return
				}
			}
		}
	}
	return v
}
