package diagnose

import (
	"fmt"
	"strings"
	"time"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// capture checks that changes arrive in the change tables. The age of the newest
// captured transaction decides; everything else explains it. None of it is an
// error, since what was captured before can be read all the same.
func (r *run) capture() bool {
	state, db := r.report.State, r.report.Database
	switch {
	case state.High.LSN.IsZero():
		r.add(Finding{
			Check: "capture", Severity: Warning,
			Message: "The capture job has not stored a transaction yet.",
			Remedy:  "EXEC sys.sp_cdc_start_job N'capture';",
		})
	case state.Age > r.opts.MaxAge:
		r.add(Finding{
			Check: "capture", Severity: Warning,
			Message: fmt.Sprintf("The newest captured transaction is %s old. An idle database has one about every five minutes, so changes are not being captured now, or late.", state.Age.Round(time.Second)),
			Remedy:  "EXEC sys.sp_cdc_start_job N'capture';",
		})
	}
	r.scanErrors()
	if db.ReadOnly {
		r.add(Finding{Check: "capture job", Severity: Info, Message: "The database is read-only here: jobs and their retention are on the primary, and were not checked."})
	} else {
		r.jobs()
	}
	return true
}

// late tells whether there is something to explain.
func (r *run) late() bool {
	return r.report.State.High.LSN.IsZero() || r.report.State.Age > r.opts.MaxAge
}

func (r *run) scanErrors() {
	if !r.access.ViewState {
		r.add(Finding{
			Check: "capture errors", Severity: Info,
			Message: fmt.Sprintf("Login %s may not read sys.dm_cdc_errors, where the capture job says what stops it.", r.access.Login),
			Remedy:  "GRANT VIEW DATABASE STATE TO " + catalog.Quote(r.access.User) + ";",
		})
		return
	}
	var errs []catalog.ScanError
	err := r.ask(func(c *session.Conn) (err error) {
		errs, err = catalog.LoadScanErrors(r.ctx, c)
		return err
	})
	if err != nil {
		r.skip("capture errors", err, "")
		return
	}
	seen := make(map[int32]bool)
	for _, e := range errs {
		if seen[e.Number] {
			continue
		}
		seen[e.Number] = true
		r.add(Finding{
			Check: "capture errors", Severity: Warning,
			Message: fmt.Sprintf("The capture job reported error %d at %s by the server's clock: %s", e.Number, e.Time.Format("2006-01-02 15:04:05"), strings.TrimRight(e.Message, ".")) +
				". Once its cause is mended the job goes on by itself, or after EXEC sys.sp_cdc_start_job N'capture'; the error stays listed for a while.",
		})
	}
}

func (r *run) jobs() {
	var jobs *catalog.Jobs
	err := r.ask(func(c *session.Conn) (err error) {
		jobs, err = catalog.LoadJobs(r.ctx, c)
		if err != nil {
			_ = c.Close() // the reply may have been cut short
		}
		return err
	})
	db := r.report.Database
	if err != nil {
		r.skip("capture job", err, "")
		return
	}
	if db.Azure() && db.EngineEdition == 5 {
		return // a scheduler takes the place of the jobs
	}
	if !jobs.Capture && r.late() {
		r.add(Finding{
			Check: "capture job", Severity: Warning,
			Message: "There is no capture job in this database. After a failover the new primary needs jobs of its own; with transactional replication the log reader does the work.",
			Remedy:  "EXEC sys.sp_cdc_add_job @job_type = N'capture'; EXEC sys.sp_cdc_start_job N'capture';",
		})
	}
	if !jobs.Cleanup {
		r.add(Finding{
			Check: "cleanup job", Severity: Warning,
			Message: "There is no cleanup job in this database, so change tables grow without end.",
			Remedy:  "EXEC sys.sp_cdc_add_job @job_type = N'cleanup';",
		})
	} else if jobs.Retention < 24*time.Hour {
		r.add(Finding{
			Check: "retention", Severity: Warning,
			Message: fmt.Sprintf("Changes are retained for %s only; a reader that stands still for longer has a gap.", jobs.Retention),
			Remedy:  "EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 4320;",
		})
	}
	if r.late() {
		r.agent()
	}
}

func (r *run) agent() {
	var agent catalog.Agent
	err := r.ask(func(c *session.Conn) (err error) {
		agent, err = catalog.LoadAgent(r.ctx, c)
		return err
	})
	switch {
	case err != nil:
		r.skip("agent", err, "")
	case agent.Known && !agent.Running:
		r.add(Finding{Check: "agent", Severity: Warning, Message: "The SQL Server Agent does not run, and the capture job with it: start the service."})
	}
}
