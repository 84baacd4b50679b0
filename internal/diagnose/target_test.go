package diagnose

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// What is wrong with a target is found, with what mending costs; its T-SQL, run as it is printed, mends it.
func TestRunTarget(t *testing.T) {
	const (
		table  = "CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk PRIMARY KEY, v int NULL);"
		parent = "CREATE TABLE dbo.p (id int PRIMARY KEY);"
		child  = parent + "CREATE TABLE dbo.t (id int PRIMARY KEY, p int CONSTRAINT fk REFERENCES dbo.p (id), v int CONSTRAINT ck CHECK (v > 0));"
		bob    = "CREATE LOGIN bob WITH PASSWORD = 'Passw0rd!'; CREATE USER bob FOR LOGIN bob;"
	)
	apply := TargetOptions{Keyed: true, Apply: true}
	for _, tt := range []struct {
		name     string
		script   string
		login    string
		options  TargetOptions
		check    string // "" = all is well
		severity Severity
		message  string
		sql      string // "" = done by hand
		byHand   string
	}{
		{name: "well", script: table, options: apply},
		{name: "well for rows that are only inserted", script: "CREATE TABLE dbo.t (v int)" + ";" + bob + "GRANT SELECT, INSERT ON dbo.t TO bob", login: "bob"},
		{name: "wrong password", script: table, login: "sa:wrong", check: "connect", severity: Error, message: "check user name and password"},
		{name: "no table", script: "SELECT 1", check: "table", severity: Error, message: "Create it, or set create_table", byHand: table},
		{name: "no table, and it is made", script: "SELECT 1", options: TargetOptions{Create: true}, check: "table", severity: Info, message: "create_table makes it", byHand: table},
		{name: "no INSERT", script: table + bob + "GRANT SELECT ON dbo.t TO bob", login: "bob", check: "rights", severity: Error, message: "bob may not INSERT.", sql: "GRANT INSERT ON [dbo].[t] TO [bob]"},
		{name: "no UPDATE for upsert", script: table + bob + "GRANT SELECT, INSERT ON dbo.t TO bob", login: "bob", options: TargetOptions{Keyed: true}, check: "rights", severity: Error, message: "bob may not UPDATE.", sql: "GRANT UPDATE ON"},
		{name: "no DELETE for apply", script: table + bob + "GRANT SELECT, INSERT ON dbo.t TO bob", login: "bob", options: apply, check: "rights", severity: Error, message: "bob may not UPDATE, DELETE.", sql: "GRANT UPDATE, DELETE ON"},
		{name: "no key for upsert", script: "CREATE TABLE dbo.t (id int NOT NULL)", options: TargetOptions{Keyed: true}, check: "key", severity: Error, message: "has no key", byHand: "ALTER TABLE dbo.t ADD CONSTRAINT pk PRIMARY KEY (id)"},
		{name: "no key for apply", script: "CREATE TABLE dbo.t (id int NOT NULL)", options: apply, check: "key", severity: Warning, message: "updates and deletions are refused", byHand: "ALTER TABLE dbo.t ADD CONSTRAINT pk PRIMARY KEY (id)"},
		{name: "a key that is not unique", script: table, options: TargetOptions{Keyed: true, KeyColumns: []string{"v"}}, check: "key", severity: Warning, message: "No unique index", sql: "ALTER TABLE [dbo].[t] ALTER COLUMN [v] int NOT NULL;\nCREATE UNIQUE INDEX [UX_t_key] ON [dbo].[t] ([v])"},
		{name: "a key of columns that are not there", script: table, options: TargetOptions{Keyed: true, KeyColumns: []string{"w"}}, check: "key", severity: Error, message: "no column w", byHand: "ALTER TABLE dbo.t ADD w int; CREATE UNIQUE INDEX w ON dbo.t (w)"},
		{name: "foreign key", script: child, options: apply, check: "relations", severity: Warning, message: "enforced foreign keys (fk)", sql: "ALTER TABLE [dbo].[t] NOCHECK CONSTRAINT [fk]"},
		{name: "cascade", script: table + "CREATE TABLE dbo.c (id int PRIMARY KEY, t int CONSTRAINT fk REFERENCES dbo.t (id) ON DELETE CASCADE)", options: apply, check: "relations", severity: Warning, message: "cascade (fk)", sql: "ALTER TABLE [dbo].[c] NOCHECK CONSTRAINT [fk]"},
		{name: "trigger", script: table + "\nGO\nCREATE TRIGGER dbo.tr ON dbo.t AFTER INSERT AS SELECT 1", options: apply, check: "relations", severity: Warning, message: "enabled triggers (tr)", sql: "DISABLE TRIGGER [tr] ON [dbo].[t]"},
		{name: "constraints that are off", script: child + "ALTER TABLE dbo.t NOCHECK CONSTRAINT ALL", check: "constraints", severity: Warning, message: "turned off: [ck], [fk]", sql: "WITH CHECK CHECK CONSTRAINT [ck], [fk]"},
		{name: "constraints that are not trusted", script: child + "ALTER TABLE dbo.t NOCHECK CONSTRAINT ALL; ALTER TABLE dbo.t CHECK CONSTRAINT ALL", check: "constraints", severity: Warning, message: "does not trust foreign keys or checks: [ck], [fk]", sql: "WITH CHECK CHECK CONSTRAINT [ck], [fk]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := mssqltest.Start(t, mssqltest.Config{})
			exec := func(text string) {
				t.Helper()
				if err := srv.Exec(text); err != nil {
					t.Fatalf("running %s: %v", text, err)
				}
			}
			exec(tt.script)
			u, err := url.Parse(srv.ConnString())
			if err != nil {
				t.Fatal(err)
			}
			if tt.login != "" {
				user, password, given := strings.Cut(tt.login, ":")
				if !given {
					password = "Passw0rd!"
				}
				u.User = url.UserPassword(user, password)
			}
			opts := tt.options
			opts.Session = session.Config{ConnectionString: u.String(), Dial: srv.DialContext}
			opts.Table = catalog.Name{Schema: "dbo", Object: "t"}
			examine := func() (*Finding, []Finding) {
				all := RunTarget(t.Context(), opts).Findings
				i := slices.IndexFunc(all, func(f Finding) bool {
					return f.Check == tt.check && f.Severity == tt.severity && strings.Contains(f.Message, tt.message)
				})
				if i < 0 {
					return nil, all
				}
				return &all[i], all
			}
			found, all := examine()
			if tt.check == "" {
				if len(all) > 0 {
					t.Errorf("findings %v", all)
				}
				return
			}
			if found == nil {
				t.Fatalf("no %s of check %s with %q in %v", tt.severity, tt.check, tt.message, all)
			}
			sql := found.SQL()
			if !strings.Contains(sql, tt.sql) || (sql == "") != (tt.sql == "") || sql != "" && !strings.HasPrefix(sql, "-- ") {
				t.Errorf("T-SQL %q, want a cost and %q", sql, tt.sql)
			}
			if sql += tt.byHand; sql == "" {
				return
			}
			exec(sql)
			if still, all := examine(); still != nil {
				t.Errorf("after\n%s\nthere is still %s among %v", sql, still, all)
			}
		})
	}
}

// The stand-in has no IGNORE_DUP_KEY, so what is said of it is looked at here.
func TestIgnoredDuplicates(t *testing.T) {
	r := &targetRun{run: run{report: &Report{}}, opts: TargetOptions{Table: catalog.Name{Schema: "dbo", Object: "t"}}}
	r.ignores(duplicates{index: "i]x"})
	r.ignores(duplicates{index: "pk", constraint: true})
	found := r.report.Findings
	if want := "-- Who counts on the option gets error 2601 for such rows.\nALTER INDEX [i]]x] ON [dbo].[t] SET (IGNORE_DUP_KEY = OFF);"; found[0].SQL() != want {
		t.Errorf("T-SQL %q, want %q", found[0].SQL(), want)
	}
	if found[1].SQL() != "" || !strings.Contains(found[1].Message, "Drop its constraint and add it again") {
		t.Errorf("a constraint's index: %s", found[1])
	}
}

// A database that is read-only is said, also where messages name the table.
func TestRunTargetReadOnly(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	if err := srv.Control().ReadOnly("", true); err != nil {
		t.Fatal(err)
	}
	opts := TargetOptions{Session: session.Config{ConnectionString: srv.ConnString(), Dial: srv.DialContext}}
	if all := RunTarget(t.Context(), opts).Findings; len(all) != 1 || all[0].Check != "database" || !strings.Contains(all[0].Message, "connect to the primary") {
		t.Errorf("findings %v", all)
	}
	if err := srv.Control().ReadOnly("", false); err != nil {
		t.Fatal(err)
	}
	if all := RunTarget(t.Context(), opts).Findings; len(all) != 0 {
		t.Errorf("findings %v", all)
	}
}
