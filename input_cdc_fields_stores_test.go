package mssqlcdc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// resumes runs the input twice with the same store and checks that the second life goes on where the first ended.
func resumes(t *testing.T, r *cdcRig, fields string, start func(string) *cdcRun) {
	t.Helper()
	r.sql("DELETE dbo.a; INSERT dbo.a VALUES (1), (2)")
	first := start(fields)
	first.drains(cdcQuiet)
	first.stop()
	r.sql("INSERT dbo.a VALUES (3)")
	second := start(fields)
	if m := second.one(); m.body != `{"id":3}` {
		t.Errorf("the second life began with %v", m)
	}
	second.stop()
}

// begins checks that the input begins anew with a store.
func begins(t *testing.T, run *cdcRun) {
	t.Helper()
	if m := run.batch()[0]; m.body != `{"id":1}` {
		t.Errorf("with another name of the positions it began with %v", m)
	}
	run.stop()
}

func TestCDCStores(t *testing.T) {
	world := func(t *testing.T, test func(t *testing.T, r *cdcRig)) {
		onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
			r.table("a", "id int NOT NULL PRIMARY KEY")
			test(t, r)
		})
	}
	tables := func(r *cdcRig) string {
		return r.cell("SELECT STRING_AGG(SCHEMA_NAME(schema_id) + '.' + name, ' ') FROM sys.tables WHERE name LIKE '%posit%' OR name LIKE '%checkpoint%'")
	}
	t.Run("the SQL table by default", func(t *testing.T) {
		world(t, func(t *testing.T, r *cdcRig) {
			resumes(t, r, "checkpoint_cache: ''", r.start)
			if got := tables(r); got != "dbo.mssql_cdc_checkpoint" {
				t.Errorf("the positions are in %s", got)
			}
			begins(t, r.start("checkpoint_cache: ''\ncheckpoint_cache_key: other"))
		})
	})
	t.Run("checkpoint_cache_table_name", func(t *testing.T) {
		world(t, func(t *testing.T, r *cdcRig) {
			r.sql("CREATE SCHEMA my")
			resumes(t, r, "checkpoint_cache_table_name: 'my.[the positions]'", r.start)
			if got := tables(r); got != "my.the positions" {
				t.Errorf("the positions are in %s", got)
			}
		})
	})
	t.Run("checkpoint_file", func(t *testing.T) {
		world(t, func(t *testing.T, r *cdcRig) {
			file := filepath.Join(t.TempDir(), "p.json")
			resumes(t, r, "checkpoint_file: "+file, r.start)
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
			if got := tables(r); got != "NULL" {
				t.Errorf("there are the tables %s as well", got)
			}
			other := r.start("checkpoint_file: " + file + "\ncheckpoint_cache_key: other")
			other.nothing(cdcQuiet)
			other.logs(`it belongs to the key "mssql_cdc", not to "other"`)
			other.stop()
			begins(t, r.start("checkpoint_file: "+file+"2"))
		})
	})
	t.Run("checkpoint_cache", func(t *testing.T) {
		world(t, func(t *testing.T, r *cdcRig) {
			dir := t.TempDir()
			start := func(fields string) *cdcRun {
				return r.startWith(fields, "cache_resources: [{label: positions, file: {directory: '"+dir+"'}}, {label: others, memory: {}}]")
			}
			resumes(t, r, "checkpoint_cache: positions\ncheckpoint_cache_key: mine", start)
			if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
				t.Errorf("the key is not checkpoint_cache_key: %v", err)
			}
			if got := tables(r); got != "NULL" {
				t.Errorf("there are the tables %s as well", got)
			}
			begins(t, start("checkpoint_cache: others\ncheckpoint_cache_key: mine"))
			begins(t, start("checkpoint_cache: positions\ncheckpoint_cache_key: other"))
		})
	})
	t.Run("checkpoint_cache_connection_string", func(t *testing.T) {
		world(t, func(t *testing.T, r *cdcRig) {
			r.sql("CREATE DATABASE elsewhere")
			fields := "checkpoint_cache_connection_string: '" + r.dsn("database=elsewhere") + "'"
			resumes(t, r, fields, r.start)
			if got := tables(r); got != "NULL" {
				t.Errorf("there are the tables %s in the source database", got)
			}
			if got := r.cell("SELECT COUNT(*) FROM elsewhere.dbo.mssql_cdc_checkpoint"); got == "0" {
				t.Error("there is nothing in the other database")
			}
		})
	})
}

// The positions of idle tables are saved each heartbeat_interval.
func TestCDCHeartbeat(t *testing.T) {
	for fields, moves := range map[string]bool{"heartbeat_interval: 5s": true, "heartbeat_interval: 1h": false} {
		t.Run(fields, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.table("idle", "id int NOT NULL PRIMARY KEY")
				r.table("busy", "id int NOT NULL PRIMARY KEY, v int NULL")
				r.sql("INSERT dbo.idle VALUES (1)")
				run := r.start(fields)
				run.drains(cdcQuiet)
				saved := func() string {
					text, err := os.ReadFile(r.file)
					if err != nil {
						t.Fatal(err)
					}
					_, after, ok := strings.Cut(string(text), "[dbo].[idle]")
					if !ok {
						_, after, ok = strings.Cut(string(text), "dbo.idle")
					}
					if !ok {
						t.Fatalf("no position of the table in %s", text)
					}
					after, _, _ = strings.Cut(after, "dbo.busy")
					return after
				}
				before := saved()
				r.sql("INSERT dbo.busy VALUES " + rows(1, 3))
				run.drains(20 * time.Second)
				if moved := saved() != before; moved != moves {
					t.Errorf("the position of the idle table moved is %v, want %v: %s", moved, moves, saved())
				}
			})
		})
	}
}
