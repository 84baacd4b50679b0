package positions

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/stores"
)

// storesOf are the three kinds of store, as fields of the input and resources beside it.
var storesOf = []struct {
	name   string
	fields func(r *rig) (fields, more string)
	locked bool // a second process is noticed
}{
	{"table", func(*rig) (string, string) { return "", "" }, true},
	{"table on another server", nil, true},
	{"file", func(r *rig) (string, string) { return "    checkpoint_file: " + r.dir + "/positions.json", "" }, true},
	{"cache", func(r *rig) (string, string) {
		return "    checkpoint_cache: kept", "cache_resources:\n  - label: other\n    memory: {}\n  - label: kept\n    file:\n      directory: " + r.dir
	}, false},
}

// Everything that the commands do with each kind of store, and that a real pipeline goes on from what they write.
func TestStores(t *testing.T) {
	for _, store := range storesOf {
		t.Run(store.name, func(t *testing.T) {
			r := newRig(t)
			fields := store.fields
			if fields == nil {
				other := newRig(t)
				fields = func(*rig) (string, string) {
					return fmt.Sprintf("    checkpoint_cache_connection_string: %q\n    checkpoint_cache_table_name: dbo.[my positions]", other.dsn), ""
				}
			}
			f, more := fields(r)
			r.yaml("    checkpoint_cache_key: pipeline one\n"+f, more)
			r.insert("dbo.t1", 1, 2, 3)
			r.insert("dbo.t2", 1)
			r.must([]string{"list", r.pipeline}, "key pipeline one", "dbo.t1", "no position: begins at earliest")

			p := r.start()
			p.wait(`t1{"id":3`)
			p.wait(`t2{"id":1`)
			if store.locked {
				r.must([]string{"list", r.pipeline}, "held by")
				r.refuse([]string{"set", r.pipeline, "dbo.t1", "--to", "latest"}, "process")
				r.refuse([]string{"reset", r.pipeline, "dbo.t1"}, "process")
			}
			p.stop()
			stored := r.stored()
			if len(stored) != 3 || stored["dbo.t1"].Instance != "dbo_t1" {
				t.Fatalf("stored: %v", stored)
			}
			r.must([]string{"list", r.pipeline}, "dbo.[odd.t]", "dbo_t1", "up to date")

			// Back to the second transaction of t1; t2 from its start; the third is not touched.
			lsns := r.lsns("dbo_t1")
			r.must([]string{"set", r.pipeline, "dbo.t1", "--to", lsns[0].String()}, "changes after the transaction of", "comes again", "written")
			r.must([]string{"reset", r.pipeline, "dbo.t2"}, "begins at earliest", "written")
			if after := r.stored(); len(after) != 2 || after["dbo.t1"].LSN != lsns[0] || !after["dbo.t1"].Done || after["dbo.t1"].Proof.StartLSN != lsns[0] ||
				!after["dbo.[odd.t]"].Equal(stored["dbo.[odd.t]"]) {
				t.Fatalf("stored: %v", after)
			}
			p = r.start()
			p.wait(`t1{"id":3`)
			p.wait(`t2{"id":1`)
			if got := strings.Join(p.stop(), " "); strings.Contains(got, `t1{"id":1`) || strings.Count(got, `t1{"id":2`) != 1 {
				t.Errorf("after set and reset came %s", got)
			}
			r.refuse([]string{"reset", r.pipeline, "--all"}, "--yes")
			r.must([]string{"reset", r.pipeline, "--all", "--yes"}, "dbo.t1", "written")
			if after := r.stored(); len(after) != 0 {
				t.Errorf("stored after reset --all: %v", after)
			}
		})
	}
}

func TestSetTargets(t *testing.T) {
	r := newRig(t)
	r.insert("dbo.t1", 1, 2)
	lsns := r.lsns("dbo_t1")
	set := func(to string, want ...string) checkpoint.Position {
		t.Helper()
		r.must([]string{"set", "--to", to, r.pipeline, "dbo.t1"}, want...)
		return r.stored()["dbo.t1"]
	}
	rows, err := r.srv.Query("SELECT CONVERT(varchar(30), start_lsn, 1) FROM cdc.change_tables WHERE capture_instance = 'dbo_t1'")
	if err != nil {
		t.Fatal(err)
	}
	start, err := checkpoint.ParseLSN(rows[0][0])
	if err != nil {
		t.Fatal(err)
	}
	if p := set("earliest", "every change that cleanup has left"); p.LSN.Next() != start || !p.Done {
		t.Errorf("earliest: %v, want just below %s", p, start)
	}
	if p := set("latest", "changes captured from now on come", "is skipped"); p.LSN.Compare(lsns[1]) < 0 || p.Proof.StartLSN != p.LSN {
		t.Errorf("latest: %v", p)
	}
	if p := set(lsns[0].String(), "changes after the transaction of", "comes again"); p.LSN != lsns[0] {
		t.Errorf("LSN: %v", p)
	}
	if p := set("2001-02-03T04:05:06Z", "every change that cleanup has left"); p.LSN.Next() != start {
		t.Errorf("a time before all: %v", p)
	}
	if p := set("2101-02-03T04:05:06+01:00", "nothing was committed since then"); p.LSN.Compare(lsns[1]) < 0 {
		t.Errorf("a time after all: %v", p)
	}
	if p := set(time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), "every change"); p.LSN.Next() != start && p.LSN.Compare(start) < 0 {
		t.Errorf("an hour ago: %v", p)
	}
	high := checkpoint.MaxLSN.String()
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no target", []string{"set", r.pipeline, "dbo.t1"}, "--to: say where"},
		{"bad target", []string{"set", r.pipeline, "dbo.t1", "--to", "yesterday"}, "none of earliest, latest"},
		{"short LSN", []string{"set", r.pipeline, "dbo.t1", "--to", "0x12"}, "20 hexadecimal digits"},
		{"zero LSN", []string{"set", r.pipeline, "dbo.t1", "--to", "0x00000000000000000000"}, "use earliest"},
		{"LSN of nothing", []string{"set", r.pipeline, "dbo.t1", "--to", lsns[0].Next().String()}, "no transaction in cdc.lsn_time_mapping"},
		{"LSN above all", []string{"set", r.pipeline, "dbo.t1", "--to", high}, "no transaction in cdc.lsn_time_mapping"},
		{"no table", []string{"set", r.pipeline, "--to", "latest"}, "--all"},
		{"table and all", []string{"set", r.pipeline, "--to", "latest", "--all", "dbo.t1"}, "--all"},
		{"unknown table", []string{"set", r.pipeline, "dbo.nowhere", "--to", "latest"}, "no table dbo.nowhere"},
		{"other case", []string{"set", r.pipeline, "dbo.T1", "--to", "latest"}, "there is dbo.t1"},
		{"bad name", []string{"set", r.pipeline, "a.b.c", "--to", "latest"}, "parts"},
		{"reset of a table without", []string{"reset", r.pipeline, "dbo.t2"}, `["dbo.t1"]`},
		{"reset of nothing", []string{"reset", r.pipeline}, "--all"},
		{"unknown flag", []string{"set", r.pipeline, "--too", "latest"}, "there is no flag --too"},
		{"flag without value", []string{"set", "--to=latest", r.pipeline, "--label"}, "needs a value"},
		{"no pipeline", []string{"list"}, "name a pipeline"},
		{"pipeline that is not there", []string{"list", r.dir + "/no.yaml"}, "no.yaml"},
		{"import from elsewhere", []string{"import", "--from", "kafka", r.pipeline}, "none of connect-table"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := *r
			q.t = t
			q.refuse(tt.args, tt.want)
		})
	}
	r.must([]string{"set", r.pipeline, "dbo.t1", "--to", high, "--unchecked"}, "no transaction has it", "above the newest captured change")
	r.must([]string{"list", r.pipeline}, "above the newest captured change")
	r.must([]string{"set", r.pipeline, "--to", "latest", "--all"}, "dbo.t1", "dbo.t2", "dbo.[odd.t]")
}

// Cleanup and a restore show in the list, and set does not write what cannot be read from.
func TestListSaysWhatIsGone(t *testing.T) {
	r := newRig(t)
	r.insert("dbo.t1", 1, 2)
	r.exec("WAITFOR DELAY '00:00:00.020'") // cleanup takes transactions of one commit time together
	r.insert("dbo.t1", 3)
	lsns := r.lsns("dbo_t1")
	r.must([]string{"set", r.pipeline, "dbo.t1", "dbo.t2", "--to", lsns[0].String()}, "written")
	if err := r.srv.Control().Cleanup("", "dbo_t1", lsns[2].String(), 5000); err != nil {
		t.Fatal(err)
	}
	r.must([]string{"list", r.pipeline}, "gap: cleanup has left nothing below "+lsns[2].String())
	r.refuse([]string{"set", r.pipeline, "dbo.t1", "--to", lsns[0].String()}, "gap")
	backup, err := r.srv.Control().Backup("")
	if err != nil {
		t.Fatal(err)
	}
	r.insert("dbo.t2", 1)
	r.scan()
	r.must([]string{"set", r.pipeline, "dbo.t2", "--to", "latest"}, "written")
	file := r.dir + "/positions.json"
	moved := r.stored()["dbo.t2"]
	if err := r.srv.Control().Restore("", backup); err != nil {
		t.Fatal(err)
	}
	r.insert("dbo.t1", 11, 12, 13, 14, 15)
	r.scan()
	write(t, stores.Config{File: file, Key: defaultKey}, map[string]checkpoint.Position{"dbo.t2": moved, "dbo.gone": moved})
	out := r.must([]string{"list", "--connection", r.dsn, "--file", file}, "dbo.gone", "no capture instance")
	if !strings.Contains(out, "another history") && !strings.Contains(out, "above the newest") {
		t.Errorf("a restored database is not noticed:\n%s", out)
	}
	r.must([]string{"list", "--file", file}, "not asked", "dbo.gone")
	r.must([]string{"list", "--connection", r.dsn}, "dbo.t1")
	r.must([]string{"reset", "--file", file, "dbo.gone", "--json"}, `"written": true`, `"after": null`)
}

func write(t *testing.T, conf stores.Config, positions map[string]checkpoint.Position) {
	t.Helper()
	s, err := stores.Open(conf)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), positions); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// --force takes the lease of a running pipeline, which then goes on from what was written; a file cannot be forced.
func TestForce(t *testing.T) {
	r := newRig(t)
	r.insert("dbo.t1", 1, 2)
	p := r.start()
	p.wait(`t1{"id":2`)
	r.must([]string{"set", r.pipeline, "dbo.t1", "--to", "earliest", "--force"}, "written")
	r.insert("dbo.t1", 3)
	p.waitFor("row 1 again", func(all string) bool { return strings.Count(all, `t1{"id":1`) == 2 })
	if log := p.log.String(); !strings.Contains(log, "another process has taken over these positions") || strings.Contains(log, "ERROR") {
		t.Errorf("the running pipeline logs\n%s", log)
	}
	p.stop()
	r.yaml("    checkpoint_file: " + r.dir + "/positions.json")
	p = r.start()
	p.wait(`t1{"id":3`)
	r.refuse([]string{"set", r.pipeline, "dbo.t1", "--to", "earliest", "--force"}, "--force cannot help")
	p.stop()
}

// Looking makes neither a table nor a file.
func TestListLeavesNoTrace(t *testing.T) {
	r := newRig(t)
	r.must([]string{"list", r.pipeline}, "dbo.t1")
	if rows, err := r.srv.Query("SELECT COUNT(*) FROM sys.tables WHERE name LIKE 'mssql%'"); err != nil || rows[0][0] != "0" {
		t.Errorf("a table was made: %v, %v", rows, err)
	}
	r.yaml("    checkpoint_file: " + r.dir + "/positions.json")
	r.must([]string{"list", r.pipeline}, "dbo.t1")
	if files, err := os.ReadDir(r.dir); err != nil || len(files) != 1 {
		t.Errorf("files: %v, %v", files, err)
	}
}

// A table in the middle of its snapshot is listed as such; set ends its snapshot, and reset has it read anew.
func TestSnapshotPositions(t *testing.T) {
	r := newRig(t)
	r.insert("dbo.t1", 1)
	lsn := r.lsns("dbo_t1")[0]
	r.yaml("    stream_snapshot: true\n    checkpoint_file: " + r.dir + "/positions.json")
	r.must([]string{"list", r.pipeline}, "no position: begins with its snapshot")
	write(t, stores.Config{File: r.dir + "/positions.json", Key: defaultKey}, map[string]checkpoint.Position{
		"dbo.t1": {LSN: lsn, Done: true, Snapshot: &checkpoint.Snapshot{ID: "s", After: "[1]", Rows: 7}},
		"dbo.t2": {LSN: lsn, Done: true},
	})
	r.must([]string{"list", r.pipeline}, "in its snapshot, 7 rows done; then "+lsn.String())
	r.must([]string{"set", r.pipeline, "dbo.t1", "--to", "latest"}, "its snapshot is given up unfinished", "written")
	if p := r.stored()["dbo.t1"]; p.Snapshot != nil {
		t.Errorf("stored: %v", p)
	}
	r.must([]string{"reset", r.pipeline, "dbo.t2"}, "begins with its snapshot", "written")
}
