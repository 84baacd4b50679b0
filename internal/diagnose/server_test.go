package diagnose_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/internal/diagnose"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

const enableA = "EXEC sys.sp_cdc_enable_db; CREATE TABLE dbo.a (id int PRIMARY KEY, v int); EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = NULL, @allow_partition_switch = 0"

// find looks for a finding of a check and severity.
func find(r *diagnose.Report, check string, s diagnose.Severity) *diagnose.Finding {
	for i, f := range r.Findings {
		if f.Check == check && f.Severity == s {
			return &r.Findings[i]
		}
	}
	return nil
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name     string
		script   string
		prepare  func(*testing.T, *mssqltest.Server)
		dsn      []string
		login    string // user:password, for sa's
		options  diagnose.Options
		old      bool   // change tables of the old kind
		also     bool   // more is wrong than this
		check    string // "" = no errors and no warnings
		severity diagnose.Severity
		message  string
		remedy   string
	}{
		{name: "healthy", script: enableA},
		{name: "wrong password", script: enableA, login: "sa:wrong", check: "connect", severity: diagnose.Error, message: "user name and password"},
		{name: "wrong database", script: enableA, dsn: []string{"database=nowhere"}, check: "connect", severity: diagnose.Error, message: "database"},
		{name: "not enabled", script: "SELECT 1", check: "cdc", severity: diagnose.Error, message: "testdb", remedy: "USE [testdb]; EXEC sys.sp_cdc_enable_db;"},
		{name: "a system database", script: "SELECT 1", dsn: []string{"database=master"}, check: "cdc", severity: diagnose.Error, message: "system database"},
		{name: "no table", script: "EXEC sys.sp_cdc_enable_db", check: "tables", severity: diagnose.Error, message: "No table", remedy: "sp_cdc_enable_table"},
		{name: "pattern without a match", script: enableA, options: diagnose.Options{Include: []string{`dbo\.a`, `dbo\.b`}}, check: "tables", severity: diagnose.Error, message: `dbo\.b`},
		{name: "malformed pattern", script: enableA, options: diagnose.Options{Include: []string{`(`}}, check: "config", severity: diagnose.Error, message: `"("`},
		{
			name: "login without rights", script: enableA + "; CREATE LOGIN bob WITH PASSWORD = 'Passw0rd!'; CREATE USER bob FOR LOGIN bob",
			login: "bob:Passw0rd!", check: "rights", severity: diagnose.Error, message: "bob", remedy: "GRANT SELECT ON SCHEMA::[cdc] TO [bob];",
		},
		{
			name: "masked column", script: "EXEC sys.sp_cdc_enable_db; CREATE TABLE dbo.a (id int PRIMARY KEY, v nvarchar(20) MASKED WITH (FUNCTION = 'default()')); EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = NULL, @allow_partition_switch = 0" +
				"; CREATE LOGIN bob WITH PASSWORD = 'Passw0rd!'; CREATE USER bob FOR LOGIN bob; GRANT SELECT ON SCHEMA::[cdc] TO bob; GRANT SELECT ON dbo.a TO bob",
			login: "bob:Passw0rd!", check: "masking", severity: diagnose.Error, message: "v", remedy: "GRANT UNMASK TO [bob];",
		},
		{
			name: "change table without command ids", script: enableA, old: true,
			check: "change table", severity: diagnose.Warning, message: "__$command_id",
		},
		{
			name: "source table that is not visible", script: enableA + "; CREATE LOGIN bob WITH PASSWORD = 'Passw0rd!'; CREATE USER bob FOR LOGIN bob; GRANT SELECT ON SCHEMA::[cdc] TO bob",
			login: "bob:Passw0rd!", check: "rights", severity: diagnose.Warning, message: "dbo_a", remedy: "GRANT VIEW DEFINITION", also: true,
		},
		{name: "computed column", script: strings.Replace(enableA, "v int", "v int, c AS v + 1", 1), check: "columns", severity: diagnose.Info, message: "c."},
		{name: "foreign collation", script: strings.Replace(enableA, "v int", "v varchar(9) COLLATE Japanese_CI_AS", 1), check: "collation", severity: diagnose.Warning, message: "v."},
		{name: "no key", script: strings.Replace(enableA, "PRIMARY KEY", "NULL", 1), check: "key", severity: diagnose.Info, message: "no key"},
		{name: "partition switch", script: strings.Replace(enableA, ", @allow_partition_switch = 0", "", 1), check: "partition switch", severity: diagnose.Warning, message: "not captured"},
		{name: "capture error", script: enableA, prepare: func(t *testing.T, s *mssqltest.Server) {
			if err := s.Control().CaptureError("", 22859, "Log Scan process failed.", 1); err != nil {
				t.Fatal(err)
			}
			if err := s.Exec("INSERT dbo.a VALUES (1, 1)"); err != nil {
				t.Fatal(err)
			}
			if err := s.Control().CaptureScan(t.Context(), ""); err == nil {
				t.Fatal("the scan did not fail")
			}
		}, check: "capture errors", severity: diagnose.Warning, message: "22859"},
		{name: "capture late", script: enableA, options: diagnose.Options{MaxAge: time.Nanosecond}, prepare: func(t *testing.T, s *mssqltest.Server) {
			// The server tells ages in seconds.
			if err := s.Exec("UPDATE cdc.lsn_time_mapping SET tran_end_time = DATEADD(hour, -1, tran_end_time)"); err != nil {
				t.Fatal(err)
			}
		}, check: "capture", severity: diagnose.Warning, message: "old", remedy: "sp_cdc_start_job"},
		{name: "no jobs", script: enableA + "; EXEC sys.sp_cdc_drop_job N'cleanup'", check: "cleanup job", severity: diagnose.Warning, message: "no cleanup job", remedy: "sp_cdc_add_job"},
		{name: "short retention", script: enableA + "; EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 60", check: "retention", severity: diagnose.Warning, message: "1h"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := mssqltest.Start(t, mssqltest.Config{CaptureStopped: true})
			if err := srv.Control().OldChangeTables("", tt.old); err != nil {
				t.Fatal(err)
			}
			if err := srv.Exec(tt.script); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(tt.script, "enable_table") {
				if err := srv.Control().CaptureScan(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
			if tt.prepare != nil {
				tt.prepare(t, srv)
			}
			dsn := srv.ConnString(tt.dsn...)
			if user, password, ok := strings.Cut(tt.login, ":"); ok {
				dsn = as(t, dsn, user, password)
			}
			opts := tt.options
			opts.Session = session.Config{ConnectionString: dsn, Dial: srv.DialContext}
			report := diagnose.Run(t.Context(), opts)
			if tt.check == "" {
				for _, f := range report.Findings {
					if f.Severity != diagnose.Info {
						t.Errorf("finding: %s", f)
					}
				}
				if len(report.Tables) != 1 || report.Database == nil || report.State == nil {
					t.Errorf("report %+v", report)
				}
				return
			}
			f := find(report, tt.check, tt.severity)
			if f == nil {
				t.Fatalf("no %s of check %s in %v", tt.severity, tt.check, report.Findings)
			}
			if !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Remedy, tt.remedy) {
				t.Errorf("finding: %s", f)
			}
			if !tt.also && (diagnose.Worst(report.Findings) != nil) != (tt.severity == diagnose.Error) {
				t.Errorf("Worst: %v", diagnose.Worst(report.Findings))
			}
		})
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report := diagnose.Run(ctx, diagnose.Options{Session: session.Config{ConnectionString: srv.ConnString(), Dial: srv.DialContext}})
	if report.Database != nil {
		t.Errorf("a cancelled Run went on: %+v", report)
	}
}

// as is a connection string for another login.
func as(t *testing.T, dsn, user, password string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}
