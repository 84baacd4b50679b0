package diagnose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

const defaultMaxAge = 10 * time.Minute

// Options say what to look at.
type Options struct {
	Session session.Config
	// Include and Exclude choose tables, as the input's fields do.
	Include, Exclude []string
	// MaxAge is how old the newest captured transaction may be; zero means ten
	// minutes. An idle database writes a dummy one about every five.
	MaxAge time.Duration
	// Signals is the table that the input takes signals from; zero for none.
	Signals catalog.Name
	// AllowMasked accepts that masked columns are read as masked.
	AllowMasked bool
}

// Report is what Run found out, and what it learned on the way.
type Report struct {
	Findings []Finding
	Database *catalog.Database
	State    *catalog.State
	Tables   []catalog.Name // the chosen tables with a capture instance
}

// Run makes all checks. It stops early where nothing more can be asked, and
// when ctx ends.
func Run(ctx context.Context, opts Options) *Report {
	if opts.MaxAge <= 0 {
		opts.MaxAge = defaultMaxAge
	}
	r := &run{ctx: ctx, opts: opts, report: &Report{}}
	defer r.close()
	for _, check := range []func() bool{r.connect, r.database, r.rights, r.state, r.tables, r.signals, r.capture} {
		if ctx.Err() != nil || !check() {
			break
		}
	}
	return r.report
}

// run is one Run.
type run struct {
	ctx    context.Context // of the Run; a run does not outlive it
	opts   Options
	report *Report

	conn    *session.Conn
	access  *catalog.Rights
	matcher *catalog.Matcher
}

func (r *run) close() {
	if r.conn != nil {
		_ = r.conn.Close() // nothing is at stake on it any more
	}
}

func (r *run) add(f Finding) { r.report.Findings = append(r.report.Findings, f) }

// fail adds an error that a check met.
func (r *run) fail(check string, err error) bool {
	text := Explain(err)
	if text == "" {
		text = err.Error()
	} else {
		text = fmt.Sprintf("%s (%v)", text, err)
	}
	r.add(Finding{Check: check, Severity: Error, Message: text + ".", Err: err})
	return false
}

// skip adds that a check could not be made.
func (r *run) skip(check string, err error, remedy string) {
	text := strings.TrimRight(err.Error(), ".")
	if why := Explain(err); why != "" {
		text = fmt.Sprintf("%s (%s)", why, text)
	}
	r.add(Finding{Check: check, Severity: Info, Message: "This could not be checked: " + text + ".", Remedy: remedy, Err: err})
}

// ask runs one question on a connection that works, opening another if an
// earlier question has cost it.
func (r *run) ask(question func(*session.Conn) error) error {
	if r.conn == nil || r.conn.Broken() {
		r.close()
		conn, err := session.Open(r.ctx, r.opts.Session)
		if err != nil {
			r.conn = nil
			return err
		}
		r.conn = conn
	}
	return question(r.conn)
}

func (r *run) connect() bool {
	matcher, err := catalog.NewMatcher(r.opts.Include, r.opts.Exclude)
	if err != nil {
		return r.fail("config", err)
	}
	r.matcher = matcher
	if err := r.opts.Session.Validate(); err != nil {
		return r.fail("config", err)
	}
	if err := r.ask(func(*session.Conn) error { return nil }); err != nil {
		return r.fail("connect", err)
	}
	return true
}

func (r *run) database() bool {
	err := r.ask(func(c *session.Conn) (err error) {
		r.report.Database, err = catalog.LoadDatabase(r.ctx, c)
		return err
	})
	if err != nil {
		return r.fail("database", err)
	}
	db := r.report.Database
	if !db.CDCEnabled {
		f := Finding{
			Check: "cdc", Severity: Error,
			Message: fmt.Sprintf("Change data capture is not enabled in database %s.", db.Name),
			Remedy:  "USE " + catalog.Quote(db.Name) + "; EXEC sys.sp_cdc_enable_db;",
		}
		if db.ID <= 4 && !db.Azure() {
			f.Message = fmt.Sprintf("The connection is to the system database %s, which has no change data capture: name a database in the connection string.", db.Name)
			f.Remedy = ""
		}
		r.add(f)
		return false
	}
	if !db.Snapshot && !db.ReadCommittedSnapshot && !db.ReadOnly {
		r.add(Finding{
			Check: "isolation", Severity: Info,
			Message: "The database allows neither SNAPSHOT isolation nor READ_COMMITTED_SNAPSHOT: change tables are read with NOLOCK below the watermark, which is safe; snapshots of tables take locks.",
			Remedy:  "ALTER DATABASE " + catalog.Quote(db.Name) + " SET ALLOW_SNAPSHOT_ISOLATION ON;",
		})
	}
	if db.TimeZone == "" && db.Offset != 0 && r.opts.Session.Location() == nil {
		r.add(Finding{
			Check: "time zone", Severity: Info,
			Message: fmt.Sprintf("The server's clock is %s from UTC and its time zone is not known by name, so commit times on the other side of a daylight saving change are off by an hour: add timezone=… (an IANA name) to the connection string.", db.Offset),
		})
	}
	return true
}

func (r *run) rights() bool {
	err := r.ask(func(c *session.Conn) (err error) {
		r.access, err = catalog.LoadRights(r.ctx, c)
		return err
	})
	if err != nil {
		return r.fail("rights", err)
	}
	for _, table := range r.access.Denied {
		r.add(Finding{
			Check: "rights", Severity: Error,
			Message: fmt.Sprintf("Login %s may not read %s.", r.access.Login, table),
			Remedy:  "GRANT SELECT ON SCHEMA::[cdc] TO " + catalog.Quote(r.access.User) + ";",
		})
	}
	return len(r.access.Denied) == 0
}

func (r *run) state() bool {
	err := r.ask(func(c *session.Conn) (err error) {
		r.report.State, err = catalog.LoadState(r.ctx, c)
		return err
	})
	if err != nil {
		return r.fail("cdc", err)
	}
	return true
}

// isNoInstance tells whether an instance went away between two questions.
func isNoInstance(err error) bool { return errors.Is(err, catalog.ErrNoInstance) }
