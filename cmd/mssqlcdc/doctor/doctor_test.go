package doctor

import (
	"encoding/json"
	"strings"
	"testing"
)

// Each thing that is wrong is found; its T-SQL, run as it is printed, mends it.
func TestFindsAndMends(t *testing.T) {
	const grants = bob + "GRANT VIEW DEFINITION TO bob; GRANT VIEW DATABASE STATE TO bob;"
	for _, tt := range []struct {
		name     string
		script   string
		late     bool   // the newest captured transaction is old
		login    string // user, or user:password
		database string
		include  string
		severity string // "" = all is well
		check    string
		message  string
		stays    bool // no T-SQL mends it
		also     bool // more is wrong because of it
	}{
		{name: "a good database", script: good},
		{name: "a login with what it needs", script: good + grants + "GRANT SELECT ON SCHEMA::cdc TO bob;", login: "bob"},
		{name: "CDC is off", script: table, severity: "error", check: "cdc", message: "not enabled in database shop"},
		{name: "no table with CDC", script: table + "EXEC sys.sp_cdc_enable_db", include: `dbo\.t`, severity: "error", check: "tables", message: `dbo\.t matches no table`},
		{name: "no grants", script: good + grants, login: "bob", severity: "error", check: "rights", message: "Login bob may not read"},
		{name: "a table that is not visible", script: good + bob + "GRANT SELECT ON SCHEMA::cdc TO bob;", login: "bob", severity: "warning", check: "rights", message: "dbo_t", also: true},
		{name: "no view of what stops the job", script: good + bob + "GRANT VIEW DEFINITION TO bob; GRANT SELECT ON SCHEMA::cdc TO bob;", login: "bob", severity: "info", check: "capture errors", message: "may not read sys.dm_cdc_errors"},
		{name: "no view of the jobs", script: good + grants + "GRANT SELECT ON SCHEMA::cdc TO bob;", login: "bob", severity: "info", check: "capture job", message: "could not be checked: ", stays: true},
		{name: "wrong password", script: good, login: "sa:wrong-9d2", severity: "error", check: "connect", message: "check user name and password", stays: true},
		{name: "wrong database", script: good, database: "nowhere", severity: "error", check: "connect", message: "the database does not exist", stays: true},
		{name: "capture job stopped", script: good, late: true, severity: "warning", check: "capture", message: "changes are not being captured"},
		{name: "partition switch", script: strings.Replace(good, ", @allow_partition_switch = 0", "", 1), severity: "warning", check: "partition switch", message: "not captured"},
		{
			name: "masked column", script: strings.Replace(good, "v int NULL", "v nvarchar(20) MASKED WITH (FUNCTION = 'default()') NULL", 1) + grants + "GRANT SELECT ON SCHEMA::cdc TO bob; GRANT SELECT ON dbo.t TO bob;",
			login: "bob", severity: "error", check: "masking", message: "masked values from v",
		},
		{name: "no cleanup job", script: good + "EXEC sys.sp_cdc_drop_job N'cleanup';", severity: "warning", check: "cleanup job", message: "grow without end"},
		{name: "short retention", script: good + "EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 60;", severity: "warning", check: "retention", message: "1h"},
		{name: "no SNAPSHOT isolation", script: table + enable, severity: "info", check: "isolation", message: "SNAPSHOT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.script)
			r.scan()
			if tt.late {
				r.exec("UPDATE cdc.lsn_time_mapping SET tran_end_time = DATEADD(hour, -1, tran_end_time)")
			}
			if tt.login != "" {
				r.as(tt.login)
			}
			if tt.database != "" {
				r.dsn = strings.Replace(r.dsn, "database=shop", "database="+tt.database, 1)
			}
			args := []string{"--json", "--connection", r.dsn}
			if tt.include != "" {
				args = append(args, "--include", tt.include)
			}
			run := func() (*report, *finding) {
				t.Helper()
				out, code := r.doctor(t.Context(), args...)
				got := &report{}
				if err := json.Unmarshal([]byte(out[:strings.LastIndex(out, "}")+1]), got); err != nil || len(got.Inputs) != 1 {
					t.Fatalf("%v in\n%s", err, out)
				}
				if (code == 0) != got.OK || code > 1 {
					t.Errorf("exit code %d, and ok is %t", code, got.OK)
				}
				for _, f := range got.Inputs[0].Findings {
					if f.Severity == tt.severity && f.Check == tt.check && strings.Contains(f.Message, tt.message) {
						return got, &f
					}
				}
				return got, nil
			}
			got, found := run()
			if tt.severity == "" {
				if !got.OK || len(got.Inputs[0].Tables) != 1 || strings.Contains(text(got), "error: ") || strings.Contains(text(got), "warning: ") || !strings.Contains(text(got), "All is well.") {
					t.Errorf("%s", text(got))
				}
				return
			}
			if found == nil {
				t.Fatalf("no %s of check %s with %q in\n%s", tt.severity, tt.check, tt.message, text(got))
			}
			if !tt.also && got.OK != (tt.severity != "error") {
				t.Errorf("ok is %t after a finding of severity %s", got.OK, tt.severity)
			}
			if tt.stays {
				if found.SQL != "" {
					t.Errorf("T-SQL where none helps: %s", found.SQL)
				}
				return
			}
			r.exec(found.SQL)
			if tt.check == "capture" {
				r.exec("INSERT dbo.t VALUES (1, 1)")
			}
			r.scan()
			if after, still := run(); still != nil {
				t.Errorf("after\n%s\nthere is still\n%s", found.SQL, text(after))
			}
		})
	}
}

func text(r *report) string {
	var b strings.Builder
	_ = r.print(&b) // a strings.Builder takes everything
	return b.String()
}
