package cdc

import (
	"crypto/rand"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// maxRetention is the largest retention in minutes: a hundred years.
const maxRetention = 52594800

func newID() (id [16]byte) {
	rand.Read(id[:])
	return id
}

// jobName is the name that a job has in SQL Server Agent.
func jobName(db *storage.Database, kind string) string { return "cdc." + db.Name() + "_" + kind }

// registerJobProcs adds the procedures of the capture and cleanup jobs (Microsoft Learn, "sys.sp_cdc_add_job" and its siblings).
func (m *Manager) registerJobProcs(reg *exec.Registry) {
	const settings = `@maxtrans int = NULL, @maxscans int = NULL, @continuous bit = NULL, @pollinginterval bigint = NULL,
		@retention bigint = NULL, @threshold bigint = NULL`
	reg.AddProc(sysrow.Proc("sp_cdc_help_jobs", ``, m.helpJobs))
	reg.AddProc(sysrow.Proc("sp_cdc_add_job", `@job_type nvarchar(20), @start_job bit = 1, `+settings+`, @check_for_logreader bit = 0`, m.addJob))
	reg.AddProc(sysrow.Proc("sp_cdc_change_job", `@job_type nvarchar(20) = capture, `+settings, m.changeJob))
	reg.AddProc(sysrow.Proc("sp_cdc_drop_job", `@job_type nvarchar(20)`, m.dropJob))
	reg.AddProc(sysrow.Proc("sp_cdc_start_job", `@job_type nvarchar(20) = capture`, m.startJob))
	reg.AddProc(sysrow.Proc("sp_cdc_stop_job", `@job_type nvarchar(20) = capture`, m.stopJob))
	reg.AddProc(sysrow.Proc("sp_cdc_scan", `@maxtrans int = 500, @maxscans int = 10, @continuous tinyint = 0, @pollinginterval bigint = 0,
		@is_from_job int = 0`, m.scanByHand))
	reg.AddProc(sysrow.Proc("sp_cdc_cleanup_change_table", `@capture_instance sysname, @low_water_mark binary(10), @threshold bigint = 5000,
		@fCleanupFailed bit output`, m.cleanupByHand))
}

// ready checks what every procedure of this package asks for first: the database is enabled, the caller is its owner.
func (m *Manager) ready(c *exec.Context) error {
	if !c.DB.Props().CDCEnabled {
		return errNotEnabled(c.DB)
	}
	if !isOwner(c, c.DB) {
		return errNotOwner()
	}
	return nil
}

const (
	captureJob  = "capture"
	cleanupKind = "cleanup"
)

// jobType reads @job_type.
func jobType(a sysrow.Args) (string, error) {
	if a.Null(0) {
		return "", sqlerr.New(22995)
	}
	switch kind := strings.ToLower(strings.TrimSpace(a.Str(0))); kind {
	case captureJob, cleanupKind:
		return kind, nil
	default:
		return "", sqlerr.New(22992, a.Str(0), captureJob, cleanupKind)
	}
}

const jobColumns = `job_id uniqueidentifier, job_type nvarchar(20), job_name sysname?, maxtrans int?, maxscans int?, continuous bit?,
	pollinginterval bigint?, retention bigint?, threshold bigint?`

var helpJobsColumns = sysrow.Columns(jobColumns)

func (m *Manager) helpJobs(c *exec.Context, _ sysrow.Args) (int32, error) {
	if err := m.ready(c); err != nil {
		return 1, err
	}
	return 0, sysrow.Emit(c, helpJobsColumns, slices.Values(m.jobRows(c.DB)))
}

// jobRows describes the jobs of a database, also for msdb.dbo.cdc_jobs.
func (m *Manager) jobRows(db *storage.Database) []sysrow.Row {
	var rows []sysrow.Row
	if j := m.Job(db); j != nil {
		j.mu.Lock()
		rows = append(rows, sysrow.Row{
			"database_id": db.ID, "job_id": j.id, "job_type": captureJob, "job_name": jobName(db, captureJob), "maxtrans": j.maxTrans,
			"maxscans": j.maxScans, "continuous": !j.once, "pollinginterval": j.polling, "retention": 0, "threshold": 0,
		})
		j.mu.Unlock()
	}
	if j := m.cleanup(db); j != nil {
		j.mu.Lock()
		rows = append(rows, sysrow.Row{
			"database_id": db.ID, "job_id": j.id, "job_type": cleanupKind, "job_name": jobName(db, cleanupKind), "maxtrans": 0, "maxscans": 0,
			"continuous": false, "pollinginterval": 0, "retention": int64(j.retention / time.Minute), "threshold": j.threshold,
		})
		j.mu.Unlock()
	}
	return rows
}

// allJobs yields the rows of msdb.dbo.cdc_jobs.
func (m *Manager) allJobs(yield func(sysrow.Row) bool) {
	for _, db := range m.st.Databases() {
		for _, row := range m.jobRows(db) {
			if !yield(row) {
				return
			}
		}
	}
}

var _ iter.Seq[sysrow.Row] = (*Manager)(nil).allJobs

func (m *Manager) addJob(c *exec.Context, a sysrow.Args) (int32, error) {
	if err := m.ready(c); err != nil {
		return 1, err
	}
	kind, err := jobType(a)
	if err != nil {
		return 1, err
	}
	if m.hasJob(c.DB, kind) {
		return 1, sqlerr.New(22968)
	}
	m.addJobs(c.DB, kind == captureJob, kind == cleanupKind, false)
	if err := m.configure(c.DB, kind, a, 2); err != nil {
		m.dropJobs(c.DB, kind == captureJob, kind == cleanupKind)
		return 1, err
	}
	m.addJobs(c.DB, kind == captureJob, kind == cleanupKind, a.Int(1, 1) != 0)
	return 0, nil
}

func (m *Manager) hasJob(db *storage.Database, kind string) bool {
	if kind == captureJob {
		return m.Job(db) != nil
	}
	return m.cleanup(db) != nil
}

func (m *Manager) changeJob(c *exec.Context, a sysrow.Args) (int32, error) {
	if err := m.ready(c); err != nil {
		return 1, err
	}
	kind, err := jobType(a)
	if err != nil {
		return 1, err
	}
	if !m.hasJob(c.DB, kind) {
		return 1, sqlerr.New(22997, kind)
	}
	if err := m.configure(c.DB, kind, a, 1); err != nil {
		return 1, err
	}
	return 0, nil
}

// configure sets what the arguments from position at on give: maxtrans, maxscans, continuous, pollinginterval, retention, threshold.
func (m *Manager) configure(db *storage.Database, kind string, a sysrow.Args, at int) error {
	for i, low := range []int64{1, 1, 0, 0} {
		if !a.Null(at+i) && a.Int(at+i, low) < low {
			return sqlerr.New(22970, []string{"@maxtrans", "@maxscans", "@continuous", "@pollinginterval"}[i], low)
		}
	}
	if r := a.Int(at+4, 1); r <= 0 || r > maxRetention {
		return sqlerr.New(22994)
	}
	if a.Int(at+5, 1) <= 0 {
		return sqlerr.New(22850)
	}
	if kind == cleanupKind {
		j := m.cleanup(db)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.retention = time.Duration(a.Int(at+4, int64(j.retention/time.Minute))) * time.Minute
		j.threshold = a.Int(at+5, j.threshold)
		return nil
	}
	j := m.Job(db)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.maxTrans, j.maxScans = a.Int(at, j.maxTrans), a.Int(at+1, j.maxScans)
	if !a.Null(at + 2) {
		j.once = a.Int(at+2, 1) == 0
	}
	j.polling = a.Int(at+3, j.polling)
	return nil
}

func (m *Manager) dropJob(c *exec.Context, a sysrow.Args) (int32, error) {
	if err := m.ready(c); err != nil {
		return 1, err
	}
	kind, err := jobType(a)
	if err != nil {
		return 1, err
	}
	m.dropJobs(c.DB, kind == captureJob, kind == cleanupKind)
	return 0, nil
}

func (m *Manager) startJob(c *exec.Context, a sysrow.Args) (int32, error) {
	if err := m.ready(c); err != nil {
		return 1, err
	}
	kind, err := jobType(a)
	if err != nil {
		return 1, err
	}
	if !m.hasJob(c.DB, kind) {
		return 1, sqlerr.New(22997, kind)
	}
	if kind == cleanupKind {
		if err := m.RunCleanup(c.Context(), c.DB); err != nil {
			return 1, err
		}
		return 0, nil
	}
	m.addJobs(c.DB, true, false, false)
	m.Job(c.DB).Start()
	return 0, nil
}

func (m *Manager) stopJob(c *exec.Context, a sysrow.Args) (int32, error) {
	if err := m.ready(c); err != nil {
		return 1, err
	}
	kind, err := jobType(a)
	if err != nil {
		return 1, err
	}
	if !m.hasJob(c.DB, kind) {
		return 1, sqlerr.New(22997, kind)
	}
	if kind == captureJob {
		m.Job(c.DB).Stop()
	}
	return 0, nil
}

// scanByHand is sys.sp_cdc_scan: one scan of the log, without a job too.
func (m *Manager) scanByHand(c *exec.Context, _ sysrow.Args) (int32, error) {
	if err := m.ready(c); err != nil {
		return 1, err
	}
	j := m.Job(c.DB)
	if j == nil {
		j = newJob(m, c.DB, 0)
	}
	if j.Running() {
		return 1, sqlerr.New(22903, c.Session.SPID())
	}
	if err := j.Scan(c.Context()); err != nil {
		return 1, serverError(err)
	}
	return 0, nil
}

// cleanupByHand is sys.sp_cdc_cleanup_change_table.
func (m *Manager) cleanupByHand(c *exec.Context, a sysrow.Args) (int32, error) {
	if err := m.ready(c); err != nil {
		return 1, err
	}
	var mark *storage.LSN
	if !a.Null(1) {
		l := storage.LSN(lsnOf(a.Vals[1].Bytes()))
		mark = &l
	}
	var hook CleanupHook
	if j := m.cleanup(c.DB); j != nil {
		j.mu.Lock()
		hook = j.hook
		j.mu.Unlock()
	}
	if err := m.CleanupInstance(c.Context(), c.DB, a.Str(0), mark, a.Int(2, defaultThreshold), hook); err != nil {
		return 1, err
	}
	a.Vals[3] = sysrow.Bit(false)
	return 0, nil
}
