package positions

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"example.com/mssqlcdc/checkpoint"
)

// connectTableOf makes Redpanda Connect's table with an LSN in it, as newer or as older versions do.
func (r *rig) connectTableOf(value string, lsn checkpoint.LSN) {
	r.t.Helper()
	r.exec(fmt.Sprintf("CREATE SCHEMA rpcn;\nGO\nCREATE TABLE rpcn.CdcCheckpointCache (cache_key varchar(7) NOT NULL PRIMARY KEY, cache_val %s NOT NULL);\n"+
		"INSERT rpcn.CdcCheckpointCache VALUES ('max_lsn', CONVERT(%s, %s));", value, value, lsn))
}

func (r *rig) connectRows() string {
	r.t.Helper()
	rows, err := r.srv.Query("SELECT cache_key, CONVERT(varchar(30), CONVERT(varbinary(20), cache_val), 1) FROM rpcn.CdcCheckpointCache")
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprint(rows)
}

// The one LSN of Redpanda Connect becomes a position of every table, and a pipeline that goes on there repeats exactly the
// transaction with that LSN.
func TestImportConnectTable(t *testing.T) {
	for _, value := range []string{"varbinary(10)", "varchar(10)"} {
		t.Run(value, func(t *testing.T) {
			r := newRig(t)
			r.insert("dbo.t1", 1)
			r.exec("BEGIN TRANSACTION; INSERT dbo.t1 VALUES (2, 2), (3, 3); INSERT dbo.t2 VALUES (2, 2); COMMIT;")
			r.insert("dbo.t2", 4)
			lsn := r.lsns("dbo_t1")[1]
			r.connectTableOf(value, lsn)
			before := r.connectRows()

			r.refuse([]string{"import", "--from", "connect-table", r.pipeline}, "add --yes")
			out, err := r.try("import", "--from", "connect-table", r.pipeline)
			for _, want := range []string{"The changes of transaction " + lsn.String() + ", committed ", "nothing before it comes, and nothing from it on is skipped", "dbo.[odd.t]"} {
				if err == nil || !strings.Contains(out, want) {
					t.Errorf("%v; the preview has no %q:\n%s", err, want, out)
				}
			}
			r.terminal, r.answers = true, "\n"
			r.refuse([]string{"import", "--from", "connect-table", r.pipeline}, "nothing was written")
			r.answers = "no\n"
			r.refuse([]string{"import", "--from", "connect-table", r.pipeline}, "nothing was written")
			r.answers = "y\n"
			r.must([]string{"import", "--from", "connect-table", r.pipeline}, "Write these positions? [y/N]", "written")
			stored := r.stored()
			for _, table := range []string{"dbo.t1", "dbo.t2", "dbo.[odd.t]"} {
				if p := stored[table]; p.LSN != below(lsn) || !p.Done || p.Proof.IsZero() || p.Instance == "" {
					t.Errorf("position of %s: %v", table, p)
				}
			}
			if after := r.connectRows(); after != before {
				t.Errorf("Redpanda Connect's table was %s and is %s", before, after)
			}
			r.refuse([]string{"import", "--from", "connect-table", r.pipeline, "--yes"}, "--overwrite")
			r.must([]string{"import", "--from", "connect-table", r.pipeline, "--yes", "--overwrite", "--json", "dbo.t1"}, `"written": true`, `"repeats": "From Redpanda Connect`)

			p := r.start()
			p.waitFor("everything from there on", func(all string) bool {
				return strings.Contains(all, `t1{"id":3`) && strings.Contains(all, `t2{"id":2`) && strings.Contains(all, `t2{"id":4`)
			})
			if got := p.stop(); len(got) != 4 {
				t.Errorf("came: %q, want the transaction %s and what follows", got, lsn)
			}
		})
	}
}

// A table of another shape is not taken for Redpanda Connect's, nor an LSN of another database for one of this.
func TestImportRefuses(t *testing.T) {
	r := newRig(t)
	r.insert("dbo.t1", 1, 2)
	lsn := r.lsns("dbo_t1")[0]
	from := func(more ...string) []string {
		return append([]string{"import", "--from", "connect-table", "--yes", r.pipeline}, more...)
	}
	r.refuse(from(), "there is no table rpcn.CdcCheckpointCache")
	r.connectTableOf("varbinary(10)", lsn)
	r.exec("CREATE TABLE dbo.other (cache_key varchar(7), cache_val varbinary(10), more int)")
	r.refuse(from("--source-table", "dbo.other"), "not one of Redpanda Connect")
	r.refuse(from("--source-table", "dbo.t1"), "not one of Redpanda Connect")
	r.refuse(from("--source-table", "a.b.c"), "--source-table")
	r.refuse(from("--source-key", "min_lsn"), "no row with the key min_lsn")
	r.refuse(from("dbo.nowhere"), "no table dbo.nowhere")
	r.exec("UPDATE rpcn.CdcCheckpointCache SET cache_val = 0x0102")
	r.refuse(from(), "2 bytes, not 10")
	r.exec("UPDATE rpcn.CdcCheckpointCache SET cache_val = 0x00000000000000000000")
	r.refuse(from(), "zero")
	r.exec("UPDATE rpcn.CdcCheckpointCache SET cache_val = " + lsn.Next().String())
	r.refuse(from(), "no such transaction", "the same database?")
	r.exec("UPDATE rpcn.CdcCheckpointCache SET cache_val = " + lsn.String())
	r.refuse([]string{"import", "--from", "connect-table", "--file", r.dir + "/p.json", "dbo.t1"}, "--source-connection")
	r.must([]string{"import", "--from", "connect-table", "--file", r.dir + "/p.json", "--source-connection", r.dsn, "--unchecked", "--yes", "dbo.t1"}, "not checked", "written")

	// The input itself does not take that table for its own.
	r.yaml("    checkpoint_cache_table_name: rpcn.CdcCheckpointCache")
	before := r.connectRows()
	for _, args := range [][]string{{"list", r.pipeline}, {"set", r.pipeline, "dbo.t1", "--to", "latest"}, {"reset", r.pipeline, "--all", "--yes"}} {
		r.refuse(args, "mssqlcdc positions import --from connect-table --source-table [rpcn].[CdcCheckpointCache]")
	}
	if after := r.connectRows(); after != before {
		t.Errorf("Redpanda Connect's table was %s and is %s", before, after)
	}
}

// A table that was enabled after the stored transaction begins with its first change; one that cleanup has overtaken says so.
func TestImportOfLaterAndCleanedTables(t *testing.T) {
	r := newRig(t)
	r.insert("dbo.t1", 1)
	r.exec("WAITFOR DELAY '00:00:00.020'")
	r.insert("dbo.t1", 2)
	lsns := r.lsns("dbo_t1")
	r.exec("WAITFOR DELAY '00:00:00.020'")
	r.exec("CREATE TABLE dbo.later (id int NOT NULL PRIMARY KEY, v int NULL); EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'later', @role_name = NULL")
	r.insert("dbo.later", 1)
	r.scan()
	r.connectTableOf("varbinary(10)", lsns[0])
	r.must([]string{"import", "--from", "connect-table", "--yes", r.pipeline}, "enabled later: begins with its first change")
	r.must([]string{"list", r.pipeline}, "dbo.later")
	if err := r.srv.Control().Cleanup("", "dbo_t1", lsns[1].String(), 5000); err != nil {
		t.Fatal(err)
	}
	r.must([]string{"import", "--from", "connect-table", "--yes", "--overwrite", r.pipeline}, "gap: cleanup has left nothing below "+lsns[1].String())
	p := r.start()
	p.wait(`later{"id":1`)
	p.stop()
}

func TestImportConnectCache(t *testing.T) {
	r := newRig(t)
	r.insert("dbo.t1", 1, 2)
	lsn := r.lsns("dbo_t1")[1]
	value := r.write("microsoft_sql_server_cdc", string(lsn[:]))
	resources := "cache_resources:\n  - label: kept\n    file:\n      directory: " + r.dir + "\n  - label: here\n    memory: {}\n  - label: strange\n    redis_of_another_build: {}\n"

	// The same cache and the same key: the value is Redpanda Connect's, and stays.
	r.yaml("    checkpoint_cache: kept\n    checkpoint_cache_key: microsoft_sql_server_cdc", resources)
	for _, args := range [][]string{{"list", r.pipeline}, {"import", "--from", "connect-cache", "--source-cache", "kept", "--yes", r.pipeline}} {
		r.refuse(args, "as Redpanda Connect's input keeps it", "another checkpoint_cache_key")
	}
	if text, err := os.ReadFile(value); err != nil || string(text) != string(lsn[:]) {
		t.Errorf("the value is now %q, %v", text, err)
	}

	r.yaml("    checkpoint_cache: kept", resources)
	r.must([]string{"import", "--from", "connect-cache", "--source-cache", "kept", "--yes", r.pipeline}, lsn.String(), "may come again", "written")
	if p := r.stored()["dbo.t1"]; p.LSN != below(lsn) {
		t.Errorf("stored: %v", r.stored())
	}
	r.must([]string{"import", "--from", "connect-cache", "--value", value, "--yes", "--overwrite", r.pipeline}, "written")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "give --source-cache"},
		{[]string{"--source-cache", "kept", "--source-key", "no"}, "has no key no"},
		{[]string{"--source-cache", "here"}, "lives in the process"},
		{[]string{"--source-cache", "nowhere"}, `no cache resource "nowhere" here (there are: kept, here, strange)`},
		{[]string{"--source-cache", "strange"}, "redis_of_another_build, which this program must have"},
		{[]string{"--source-cache", "kept", "--source-key", "pipeline.yaml"}, "not an LSN"},
	} {
		r.refuse(append([]string{"import", "--from", "connect-cache", "--yes", r.pipeline}, tt.args...), tt.want)
	}
}

func TestImportDebezium(t *testing.T) {
	r := newRig(t)
	r.insert("dbo.t1", 1, 2, 3)
	lsn := r.lsns("dbo_t1")[1]
	text := fmt.Sprintf("%x:%x:%x", lsn[:4], lsn[4:8], lsn[8:])
	offsets := r.write("offsets.txt", fmt.Sprintf(`["shop-connector",{"server":"shop","database":"shop"}]	{"event_serial_no":1,"commit_lsn":"%s","change_lsn":"%s"}`+"\n", text, text))
	r.must([]string{"import", "--from", "debezium", "--offsets", offsets, "--yes", r.pipeline}, "server shop, database shop", lsn.String(), "written")
	p := r.start()
	p.wait(`t1{"id":3`)
	if got := strings.Join(p.stop(), " "); strings.Contains(got, `{"id":1`) || !strings.Contains(got, `{"id":2`) {
		t.Errorf("came: %s", got)
	}
	r.answers = fmt.Sprintf(`{"commit_lsn":"%s","change_lsn":"%s","event_serial_no":2}`, text, text)
	r.must([]string{"import", "--from", "debezium", "--offsets", "-", "--yes", "--overwrite", r.pipeline}, "Debezium's offset", "written")
	r.refuse([]string{"import", "--from", "debezium", r.pipeline}, "give --offsets")
	r.refuse([]string{"import", "--from", "debezium", "--offsets", r.dir + "/no", r.pipeline}, "no such file")
}

func TestParseDebezium(t *testing.T) {
	const (
		one   = `["c1",{"server":"s1","database":"d1"}]`
		two   = `["c2",{"server":"s2","database":"d2"}]`
		value = `{"event_serial_no":2,"commit_lsn":"00000027:00000a20:0003","change_lsn":"00000027:00000a20:0002"}`
		later = `{"event_serial_no":1,"commit_lsn":"00000027:00000AFF:0003","change_lsn":"00000027:00000aff:0002"}`
	)
	for _, tt := range []struct {
		name, text, server, database string
		want                         string // LSN
		err                          string
	}{
		{"object", value, "", "", "0x0000002700000a200003", ""},
		{"object over lines", strings.ReplaceAll(value, ",", ",\n"), "", "", "0x0000002700000a200003", ""},
		{"with a byte order mark", "\xef\xbb\xbf" + value + "\r\n", "", "", "0x0000002700000a200003", ""},
		{"line", one + "\t" + value, "", "", "0x0000002700000a200003", ""},
		{"other separator", one + "|" + value, "", "", "0x0000002700000a200003", ""},
		{"no separator", one + value, "", "", "0x0000002700000a200003", ""},
		{"the last line counts", one + "\t" + value + "\n" + one + "\t" + later + "\nProcessed a total of 2 messages\n", "", "", "0x0000002700000aff0003", ""},
		{"tombstone and again", one + "\t" + value + "\n" + one + "\tnull\n" + one + "\t" + later, "", "", "0x0000002700000aff0003", ""},
		{"tombstone", one + "\t" + value + "\n" + one + "\tnull", "", "", "", "no offset"},
		{"two databases", one + "\t" + value + "\n" + two + "\t" + later, "", "", "", "server s1, database d1; server s2, database d2"},
		{"two databases, chosen", one + "\t" + value + "\n" + two + "\t" + later, "s2", "", "0x0000002700000aff0003", ""},
		{"two databases, chosen by name", one + "\t" + value + "\n" + two + "\t" + later, "", "d1", "0x0000002700000a200003", ""},
		{"chosen and not there", one + "\t" + value, "s9", "", "", "no offset"},
		{"other connectors", `["file",{"filename":"x"}]` + "\t" + `{"position":3}` + "\n" + `["pg",{"server":"p"}]` + "\t" + `{"lsn":3}` + "\n" + one + "\t" + value, "", "", "0x0000002700000a200003", ""},
		{"snapshot done", `{"commit_lsn":"00000027:00000a20:0003","snapshot":true,"snapshot_completed":true}`, "", "", "0x0000002700000a200003", ""},
		{"snapshot of newer versions", `{"commit_lsn":"00000027:00000a20:0003","change_lsn":null,"snapshot":"INITIAL","snapshot_completed":true}`, "", "", "0x0000002700000a200003", ""},
		{"snapshot running", `{"commit_lsn":"00000027:00000a20:0003","snapshot":true,"snapshot_completed":false}`, "", "", "", "snapshot was not finished"},
		{"snapshot running in newer versions", `{"commit_lsn":"00000027:00000a20:0003","snapshot":"INITIAL"}`, "", "", "", "snapshot was not finished"},
		{"streaming", `{"commit_lsn":"00000027:00000a20:0003","snapshot":false}`, "", "", "0x0000002700000a200003", ""},
		{"Java map", "\xac\xed\x00\x05sr", "", "", "", "FileOffsetBackingStore"},
		{"nothing", "", "", "", "", "no offset"},
		{"no key", "hello", "", "", "", "line 1: it does not begin with a key"},
		{"cut key", `["c1",{"server"`, "", "", "", "line 1: reading the key"},
		{"cut value", one + "\t" + `{"commit_lsn":`, "", "", "", "line 1: reading the offset"},
		{"two objects", value + value, "", "", "", "not a JSON object"},
		{"no commit LSN", `{"change_lsn":"00000027:00000a20:0003"}`, "", "", "", "no commit_lsn"},
		{"null commit LSN", `{"commit_lsn":null}`, "", "", "", "no commit_lsn"},
		{"bad commit LSN", `{"commit_lsn":"27:a20:3"}`, "", "", "", "commit_lsn"},
		{"not hexadecimal", `{"commit_lsn":"0000002x:00000a20:0003"}`, "", "", "", "commit_lsn"},
		{"zero", `{"commit_lsn":"00000000:00000000:0000"}`, "", "", "", "zero"},
		{"bad change LSN", `{"commit_lsn":"00000027:00000a20:0003","change_lsn":"x"}`, "", "", "", "change_lsn"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := parseDebezium([]byte(tt.text), tt.server, tt.database)
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v, %v, want an error with %q", f, err, tt.err)
				}
			case err != nil || f.lsn.String() != tt.want:
				t.Errorf("%s, %v, want %s", f.lsn, err, tt.want)
			}
		})
	}
}

func FuzzParseDebezium(f *testing.F) {
	f.Add([]byte(`["c1",{"server":"s1","database":"d1"}]` + "\t" + `{"commit_lsn":"00000027:00000a20:0003"}`))
	f.Add([]byte(`{"commit_lsn":"00000027:00000a20:0003","snapshot":"INITIAL"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := parseDebezium(text, "", ""); err == nil && got.lsn.IsZero() {
			t.Errorf("%q gives the zero LSN", text)
		}
	})
}
