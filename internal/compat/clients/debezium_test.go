package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// debeziumTables are what Debezium reads in these tests. The third takes its signals.
var debeziumTables = []string{
	"CREATE TABLE dbo.one (id int NOT NULL PRIMARY KEY, name nvarchar(20) NULL CONSTRAINT df DEFAULT N'abc', amt decimal(9,2) NULL)",
	"CREATE TABLE dbo.two (k varchar(10) NOT NULL PRIMARY KEY, at datetime2(3) NULL)",
	"CREATE TABLE dbo.signals (id varchar(42) NOT NULL PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048) NULL)",
	"INSERT dbo.one VALUES (1, N'één', 1.5), (2, NULL, NULL)",
	"INSERT dbo.two VALUES ('x', '2024-02-29T12:34:56.789')",
	"EXEC sys.sp_cdc_enable_db",
	"EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'one', @role_name = NULL",
	"EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'two', @role_name = NULL",
	"EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'signals', @role_name = NULL",
}

// nullsStay keeps Kafka Connect's converter from writing a column's default for NULL.
const nullsStay = "converter.replace.null.with.default=false"

// TestLongDebezium runs Debezium's engine, unmodified, on the stand-in: initial snapshot, streaming, a restart with its offsets,
// a column that is added with a second capture instance, an incremental snapshot by signal; by both of its ways to read.
//
//	MSSQLCDC_LONG=1 go test -count=1 -v -run TestLongDebezium ./internal/compat/clients
func TestLongDebezium(t *testing.T) {
	long(t)
	debeziumInstalled(t)
	for _, mode := range []string{"direct", "function"} {
		t.Run(mode, func(t *testing.T) { debeziumLife(t, mode) })
	}
	for _, isolation := range []string{"snapshot", "repeatable_read", "read_committed", "read_uncommitted", "exclusive"} {
		t.Run(isolation, func(t *testing.T) {
			p := startDebeziumServer(t)
			execute(t, p, "ALTER DATABASE testdb SET ALLOW_SNAPSHOT_ISOLATION ON")
			d := startDebezium(t, p, t.TempDir(), "table.include.list=dbo.one,dbo.two", "snapshot.isolation.mode="+isolation, nullsStay)
			briefs(t, d, `r one {"id":1,"name":"één","amt":"1.50"}`, `r one {"id":2,"name":null,"amt":null}`, `r two {"k":"x","at":"2024-02-29T12:34:56.789Z"}`)
			execute(t, p, "DELETE dbo.one WHERE id = 2") // the snapshot has given its locks back
			briefs(t, d, `d one {"id":2,"name":null,"amt":null}`)
		})
	}
}

func startDebeziumServer(t *testing.T) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tables.sql")
	if err := os.WriteFile(file, []byte(strings.Join(debeziumTables, "\nGO\n")+"\nGO\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return startServer(t, file)
}

func debeziumLife(t *testing.T, mode string) {
	p := startDebeziumServer(t)
	state := t.TempDir()
	settings := []string{"table.include.list=dbo.one,dbo.two", "data.query.mode=" + mode, "signal.data.collection=testdb.dbo.signals", "incremental.snapshot.chunk.size=2", nullsStay}
	d := startDebezium(t, p, state, settings...)
	briefs(t, d, `r one {"id":1,"name":"één","amt":"1.50"}`, `r one {"id":2,"name":null,"amt":null}`, `r two {"k":"x","at":"2024-02-29T12:34:56.789Z"}`)

	execute(t, p, "INSERT dbo.one (id, amt) VALUES (3, -0.05)", "UPDATE dbo.one SET amt = 7 WHERE id = 3", "UPDATE dbo.one SET id = 4 WHERE id = 3", "DELETE dbo.two")
	briefs(t, d, `c one {"id":3,"name":"abc","amt":"-0.05"}`, `u one {"id":3,"name":"abc","amt":"7.00"}`, `d one {"id":3,"name":"abc","amt":"7.00"}`,
		`c one {"id":4,"name":"abc","amt":"7.00"}`, `d two {"k":"x","at":"2024-02-29T12:34:56.789Z"}`)

	d.stop(t)
	execute(t, p, "INSERT dbo.two VALUES ('y', NULL)")
	d = startDebezium(t, p, state, settings...)
	briefs(t, d, `c two {"k":"y","at":null}`)

	execute(t, p, "ALTER TABLE dbo.one ADD extra bit NULL",
		"EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'one', @role_name = NULL, @capture_instance = N'one_new'", "INSERT dbo.one VALUES (5, N'new', 5, 1)")
	briefs(t, d, `c one {"id":5,"name":"new","amt":"5.00","extra":true}`)

	execute(t, p, `INSERT dbo.signals VALUES ('s1', 'execute-snapshot', '{"data-collections": ["testdb.dbo.one"], "type": "incremental"}')`)
	got := d.take(t, 4)
	var read []string
	for i := range got {
		read = append(read, got[i].brief(t))
	}
	slices.Sort(read)
	compareLines(t, "the incremental snapshot", read, []string{
		`r one {"id":1,"name":"één","amt":"1.50","extra":null}`, `r one {"id":2,"name":null,"amt":null,"extra":null}`,
		`r one {"id":4,"name":"abc","amt":"7.00","extra":null}`, `r one {"id":5,"name":"new","amt":"5.00","extra":true}`,
	})
	execute(t, p, "DELETE dbo.one WHERE id = 5")
	briefs(t, d, `d one {"id":5,"name":"new","amt":"5.00","extra":true}`)
}

// briefs compares the next events.
func briefs(t *testing.T, d *debezium, want ...string) {
	t.Helper()
	var got []string
	for _, e := range d.take(t, len(want)) {
		got = append(got, e.brief(t))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
