package mssqlcdc

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/mssqlcdc/mssqltest"
)

// test runs the ConnectionTest of the input, and gives its errors in one text.
func (r *cdcRun) test() string {
	r.rig.t.Helper()
	var out []string
	for _, res := range r.input.ConnectionTest(context.Background()) {
		if res.Err != nil {
			out = append(out, res.Err.Error())
		}
	}
	return strings.Join(out, "\n")
}

// ConnectionTest passes with what a start needs and no more, and otherwise says what is missing and how to mend it. No secret
// is in what it says.
func TestCDCConnectionTest(t *testing.T) {
	const login = `CREATE LOGIN reader WITH PASSWORD = 'S3cret!x'; CREATE USER reader FOR LOGIN reader;`
	tests := []struct {
		name   string
		script string
		dsn    func(string) string
		fields string
		want   []string // nothing = it passes
	}{
		{"sa", "", nil, "", nil},
		{"the least rights", login + "GRANT SELECT ON SCHEMA::cdc TO reader; GRANT VIEW DEFINITION ON OBJECT::dbo.a TO reader; GRANT VIEW DATABASE STATE TO reader", asReader, "", nil},
		{"wrong password", "", func(s string) string { return strings.Replace(s, "Passw0rd", "S3cret", 1) }, "", []string{"check user name and password"}},
		{"wrong database", "", func(s string) string { return strings.Replace(s, "testdb", "nowhere", 1) }, "", []string{`check "database"`}},
		{"no host", "", func(s string) string { return strings.Replace(s, "cdc-", "other-cdc-", 1) }, "", []string{"name is not known"}},
		{"CDC is off", "EXEC sys.sp_cdc_disable_db", nil, "", []string{"Change data capture is not enabled", "sp_cdc_enable_db"}},
		{"system database", "", func(s string) string { return strings.Replace(s, "testdb", "master", 1) }, "", []string{"system database master"}},
		{"no table", "EXEC sys.sp_cdc_disable_table @source_schema = N'dbo', @source_name = N'a', @capture_instance = N'all'", nil, "", []string{"sp_cdc_enable_table"}},
		{"no grants", login, asReader, "", []string{"GRANT SELECT ON SCHEMA::[cdc] TO [reader]"}},
		{"no user", `CREATE LOGIN reader WITH PASSWORD = 'S3cret!x'`, asReader, "", []string{"the login may not open it"}},
		{"the table is not visible", login + "GRANT SELECT ON SCHEMA::cdc TO reader", asReader, "", []string{"VIEW DEFINITION"}},
		{"a pattern without a match", "", nil, "include: ['dbo\\.b']", []string{`dbo\.b`, "sp_cdc_enable_table"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.table("a", "id int NOT NULL PRIMARY KEY")
				if tt.script != "" {
					r.sql(tt.script)
				}
				dsn := r.dsn()
				if tt.dsn != nil {
					dsn = tt.dsn(dsn)
				}
				run := r.start("connection_string: '" + dsn + "'\ncheckpoint_file: '" + r.file + "'\n" + tt.fields)
				got := run.test()
				if tt.want == nil && got != "" {
					t.Errorf("it fails with %s", got)
				}
				for _, want := range tt.want {
					if !strings.Contains(got, want) {
						t.Errorf("got %q, want %q in it", got, want)
					}
				}
				for _, secret := range []string{"Passw0rd", "S3cret", "sqlserver://"} {
					if strings.Contains(got, secret) {
						t.Errorf("%q shows %q", got, secret)
					}
				}
				synctest.Wait() // the server has seen the end
				if n := len(r.ctl.Connections()); tt.want != nil && n > 0 {
					t.Errorf("the test left %d connections open", n)
				}
			})
		})
	}
}

// asReader makes a connection string that of login reader.
func asReader(s string) string {
	return strings.NewReplacer("sa:", "reader:", "Passw0rd", "S3cret", "%21@", "%21x@", "!@", "!x@").Replace(s)
}
