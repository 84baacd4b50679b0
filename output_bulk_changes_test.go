package mssqlcdc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// changed makes a message of an operation and a body. More are pairs of metadata.
func changed(operation, body string, more ...any) *service.Message {
	m := service.NewMessage([]byte(body))
	if operation != "" {
		m.MetaSetMut("operation", operation)
	}
	for i := 0; i < len(more); i += 2 {
		m.MetaSetMut(more[i].(string), more[i+1])
	}
	return m
}

// applies loads messages that no row of may be refused.
func (r *bulkRun) applies(messages ...*service.Message) {
	r.rig.t.Helper()
	if failed := r.write(messages); len(failed) > 0 {
		r.rig.t.Fatalf("refused: %v\nlog:\n%s", failed, r.log)
	}
}

// Upsert inserts rows, and changes those that are there in the columns that messages have.
func TestBulkUpsert(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, a int NULL, b nvarchar(10) NULL DEFAULT N'd', c AS a * 2); INSERT dbo.t (id, a, b) VALUES (1, 1, N'x'), (2, 2, N'y')")
		out := r.start("table: t\nmode: upsert")
		out.lands(`{"id":1,"a":10}`, `{"id":3,"a":30}`, `{"id":2,"b":null}`, `{"id":4,"a":40,"b":"z"}`)
		r.want("SELECT id, a, b, c FROM dbo.t ORDER BY id", "1|10|x|20", "2|2|NULL|4", "3|30|d|60", "4|40|z|80")
		out.lands(`{"id":5,"a":1}`, `{"id":5,"b":"q"}`, `{"id":5,"a":2}`)
		out.refuses(bulkBatch(`{"a":1}`, `{"id":null,"a":1}`, `{"id":6,"a":6}`, ``), map[int][]string{0: {"column id", "key"}, 1: {"column id", "null"}, 3: {"no body"}})
		r.want("SELECT id, a, b FROM dbo.t WHERE id > 4 ORDER BY id", "5|2|q", "6|6|d")
		if n := out.metrics.get("mssql_bulk_rows", "dbo.t"); n != 8 {
			t.Errorf("%v rows were counted", n)
		}
	})
}

// Apply follows the operation of each message.
func TestBulkApply(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, a int NULL, b nvarchar(max) NULL)")
		out := r.start("table: t\nmode: apply")
		out.applies(
			changed("read", `{"id":1,"a":1,"b":"one"}`), changed("insert", `{"id":2,"a":2,"b":"two"}`), changed("insert", `{"id":3,"a":3,"b":"three"}`),
			changed("insert", `{"id":4,"a":4,"b":"four"}`), changed("insert", `{"id":7,"a":7,"b":"seven"}`),
		)
		out.applies(
			changed("update", `{"id":1,"a":11}`, "unchanged_columns", []any{"b"}),
			changed("update_before", `{"id":2,"a":2,"b":"two"}`), changed("update_after", `{"id":2,"a":22,"b":"zwei"}`),
			changed("delete", `{"id":3,"a":3,"b":"three"}`), changed("upsert", `{"id":5,"a":5,"b":"five"}`),
			changed("insert", `{"id":4,"a":44,"b":null}`), changed("delete", `{"id":9}`), changed("snapshot_end", ``),
			changed("", ``, "key", `{"id":7}`),
		)
		r.want("SELECT * FROM dbo.t ORDER BY id", "1|11|one", "2|22|zwei", "4|44|NULL", "5|5|five")
		out.refuses(service.MessageBatch{
			changed("", `{"id":1}`), changed("merge", `{"id":1}`), changed("delete", `{"a":1}`), changed("delete", ``), changed("update", `{"id":1,"a":12}`), changed("update", `{"id":99,"a":12}`),
		}, map[int][]string{0: {"no operation"}, 1: {`"merge"`}, 2: {"column id", "key"}, 3: {"no metadata key"}, 5: {"not there"}})
		r.want("SELECT id, a, b FROM dbo.t WHERE id = 1", "1|12|one")
	})
}

// The operation may come from anywhere.
func TestBulkOperation(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, op nvarchar(10)); INSERT dbo.t VALUES (1, N'x'), (2, N'y')")
		r.start("table: t\nmode: apply\noperation: '${! this.op }'").applies(changed("insert", `{"id":1,"op":"delete"}`), changed("delete", `{"id":3,"op":"insert"}`))
		r.want("SELECT id FROM dbo.t ORDER BY id", "2", "3")
	})
}

// What is folded within a batch comes out as if each message were applied by itself.
func TestBulkApplyFolds(t *testing.T) {
	large := strings.Repeat("é", 20000)
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql(`CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, u int NULL UNIQUE, b nvarchar(max) NULL, d int NOT NULL DEFAULT 7);
INSERT dbo.t (id, u, b, d) VALUES (1, 1, N'one', 0), (2, 2, N'two', 0), (3, 3, N'three', 0), (4, 4, N'four', 0)`)
		out := r.start("table: t\nmode: apply")
		out.applies( // unique values change hands, also between rows with and without a large column
			changed("update", `{"id":1,"u":2,"b":"1"}`), changed("update", `{"id":2,"u":1}`),
			changed("delete", `{"id":3}`), changed("insert", `{"id":5,"u":3,"b":"five"}`), changed("update", `{"id":4,"u":14}`), changed("insert", `{"id":6,"u":4}`),
		)
		r.want("SELECT * FROM dbo.t ORDER BY id", "1|2|1|0", "2|1|two|0", "4|14|four|0", "5|3|five|7", "6|4|NULL|7")
		out.applies( // a deletion resets, also what is inserted again
			changed("delete", `{"id":1}`), changed("insert", `{"id":1,"u":21}`),
			changed("insert", `{"id":8,"u":8,"b":"`+large+`","d":1}`), changed("update", `{"id":8,"u":9}`), changed("update", `{"id":8,"d":2}`),
			changed("insert", `{"id":10,"u":10}`), changed("delete", `{"id":10}`),
			changed("update", `{"id":4,"u":24}`), changed("delete", `{"id":4}`), changed("insert", `{"id":4,"u":34,"b":"new","d":3}`), changed("update", `{"id":4,"d":4}`),
		)
		r.want("SELECT id, u, LEN(b), d FROM dbo.t ORDER BY id", "1|21|NULL|7", "2|1|3|0", "4|34|3|4", "5|3|4|7", "6|4|NULL|7", "8|9|20000|2")
	})
}

// An update whose row is not there does what on_missing_row says.
func TestBulkOnMissingRow(t *testing.T) {
	for policy, want := range map[string][]string{
		"error":              {"1|1|x", "3|3|y"},
		"insert_if_complete": {"1|1|x", "2|2|z", "3|3|y"},
		"ignore":             {"1|1|x", "3|3|y"},
	} {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, a int NULL, b nvarchar(max) NULL); INSERT dbo.t VALUES (1, 0, N'x')")
			out := r.start("table: t\nmode: apply\non_missing_row: " + policy)
			failed := out.write(service.MessageBatch{
				changed("update", `{"id":1,"a":1}`), changed("update", `{"id":2,"a":2,"b":"z"}`), changed("update", `{"id":3,"a":9}`),
				changed("insert", `{"id":3,"a":3,"b":"y"}`), changed("delete", `{"id":5}`), changed("update", `{"id":5,"b":"q"}`),
			})
			r.want("SELECT * FROM dbo.t ORDER BY id", want...)
			if got, want := len(failed), map[string]int{"error": 3, "insert_if_complete": 2, "ignore": 0}[policy]; got != want {
				t.Errorf("%s: %d rows are refused: %v", policy, got, failed)
			}
		})
	}
}

// Keys are compared as the target's collation does.
func TestBulkApplyCollation(t *testing.T) {
	for collation, want := range map[string]string{
		"Latin1_General_CI_AI":             "1",
		"Latin1_General_CI_AS":             "2",
		"Latin1_General_CS_AS_KS_WS":       "4",
		"Latin1_General_BIN2":              "4",
		"SQL_Latin1_General_CP1_CI_AS":     "2",
		"Japanese_CI_AS":                   "2",
		"Latin1_General_100_CI_AS_SC_UTF8": "2",
	} {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql(fmt.Sprintf("CREATE TABLE dbo.t (k nvarchar(20) COLLATE %s NOT NULL PRIMARY KEY, v int)", strings.ReplaceAll(collation, "_UTF8", "")))
			out := r.start("table: t\nmode: apply")
			// By case, width, accent, and blanks at the end.
			keys := []string{"a", "A", "ａ", "á", "a  "}
			for _, k := range keys {
				out.applies(changed("insert", fmt.Sprintf(`{"k":%q,"v":1}`, k)))
			}
			one := r.rows("SELECT k, v FROM dbo.t ORDER BY k")
			r.sql("DELETE dbo.t")
			var batch service.MessageBatch
			for _, k := range keys {
				batch = append(batch, changed("insert", fmt.Sprintf(`{"k":%q,"v":1}`, k)))
			}
			out.applies(batch...)
			r.want("SELECT COUNT(*) FROM dbo.t", want)
			if n := len(one); fmt.Sprint(n) != want {
				t.Errorf("%s: %d rows by single batches, %s by one", collation, n, want)
			}
			batch = nil
			for _, k := range keys {
				batch = append(batch, changed("delete", fmt.Sprintf(`{"k":%q}`, k)))
			}
			out.applies(batch...)
			r.want("SELECT COUNT(*) FROM dbo.t", "0")
		})
		if t.Failed() {
			t.Fatal(collation)
		}
	}
}

// Tables without a key take inserts; key_columns and unique indexes make one.
func TestBulkKeys(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.h (a int, b int); CREATE TABLE dbo.u (a int NOT NULL, b int NULL, c int, UNIQUE (b), UNIQUE (a)); CREATE TABLE dbo.i (id int IDENTITY PRIMARY KEY, code nvarchar(5) NOT NULL, v int)")
		out := r.start("table: h\nmode: apply")
		out.refuses(service.MessageBatch{changed("insert", `{"a":1}`), changed("delete", `{"a":1}`), changed("read", `{"a":1}`), changed("update", `{"a":1}`), changed("update_before", `{"a":1}`)},
			map[int][]string{1: {"neither a primary key"}, 3: {"neither a primary key"}})
		r.want("SELECT * FROM dbo.h", "1|NULL", "1|NULL")
		if err := r.make("table: h\nmode: upsert").output.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "key_columns") {
			t.Errorf("upsert without a key: %v", err)
		}
		if err := r.make("table: h\nmode: upsert\nkey_columns: [x]").output.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "no column x") {
			t.Errorf("a key of no column: %v", err)
		}
		heap := r.start("table: h\nmode: upsert\nkey_columns: [a, b]")
		if heap.log.count("has no unique index over its key a, b") != 1 {
			t.Errorf("the log: %s", heap.log)
		}
		heap.lands(`{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"a":1,"b":3}`)
		r.want("SELECT * FROM dbo.h WHERE b > 0 ORDER BY b", "1|2", "1|3")
		r.start("table: u\nmode: upsert").lands(`{"a":1,"b":1,"c":1}`, `{"a":1,"b":2,"c":2}`)
		r.want("SELECT * FROM dbo.u", "1|2|2")
		by := r.start("table: i\nmode: upsert\nkey_columns: [code]")
		by.lands(`{"code":"a","v":1}`, `{"code":"b","v":2}`)
		by.lands(`{"code":"a","v":3}`, `{"id":17,"code":"c","v":4}`)
		by.lands(`{"code":"d","v":5}`)
		r.want("SELECT * FROM dbo.i ORDER BY id", "1|a|3", "2|b|2", "17|c|4", "18|d|5")
	})
}
