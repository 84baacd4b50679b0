package mssqlcdc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/redpanda-data/benthos/v4/public/schema"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// described makes a message with a metadata schema of these columns.
func described(body string, columns ...schema.Common) *service.Message {
	m := service.NewMessage([]byte(body))
	c := schema.Common{Name: "t", Type: schema.Object, Children: columns}
	m.MetaSetMut("schema", c.ToAny())
	return m
}

var wider = []schema.Common{{Name: "id", Type: schema.Int32}, {Name: "n", Type: schema.Int64}, {Name: "s", Type: schema.String}}

const columnsOfT = "SELECT c.name, ty.name, c.is_nullable FROM sys.columns AS c JOIN sys.types AS ty ON ty.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID(N'dbo.t') ORDER BY c.column_id"

func TestBulkAddColumn(t *testing.T) {
	for _, mode := range []string{"insert", "upsert", "apply"} {
		t.Run(mode, func(t *testing.T) {
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY); INSERT dbo.t VALUES (1)")
				fields := "table: t\nmode: " + mode + "\noperation: insert\n"
				batch := func(id int) service.MessageBatch {
					return service.MessageBatch{
						service.NewMessage(fmt.Appendf(nil, `{"id":%d}`, id)),
						described(fmt.Sprintf(`{"id":%d,"n":5000000000,"s":"é"}`, id+1), wider...),
					}
				}
				r.start(fields).refuses(batch(10), map[int][]string{1: {"column n", "no such column", "add_column"}})
				run := r.start(fields + "on_unknown_field: add_column")
				run.refuses(batch(20), nil)
				run.refuses(batch(30), nil)
				r.want(columnsOfT, "id|int|0", "n|bigint|1", "s|nvarchar|1")
				r.want("SELECT id, n, s FROM dbo.t ORDER BY id", "1|NULL|NULL", "10|NULL|NULL", "20|NULL|NULL", "21|5000000000|é", "30|NULL|NULL", "31|5000000000|é")
				if run.log.count("was given n, s") != 1 {
					t.Errorf("the log:\n%s", run.log)
				}
				// A field that the schema does not have, and a message without a schema.
				run.refuses(service.MessageBatch{described(`{"id":40,"z":1}`, wider...), service.NewMessage([]byte(`{"id":41,"y":1}`)), service.NewMessage([]byte(`{"id":42}`))},
					map[int][]string{0: {"column z", "metadata schema"}, 1: {"column y", "metadata schema"}})
				r.want("SELECT id FROM dbo.t WHERE id >= 40", "42")
			})
		})
	}
}

func TestBulkAddColumnOfArrow(t *testing.T) {
	for _, mode := range []string{"insert", "apply"} {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY)")
			m := arrowMessage(t, []arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int32}, {Name: "at", Type: arrow.FixedWidthTypes.Date32, Nullable: true}}, `[{"id":1,"at":"2024-02-29"}]`)
			r.start("table: t\non_unknown_field: add_column\noperation: insert\nmode: "+mode).refuses(service.MessageBatch{m}, nil)
			r.want(columnsOfT, "id|int|0", "at|date|1")
			r.want("SELECT id, at FROM dbo.t", "1|2024-02-29")
		})
	}
}

// Another writer adds the column between the look at the table and the statement.
func TestBulkAddColumnByTwoWriters(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY)")
		first, second := r.start("table: t\nmode: upsert\non_unknown_field: add_column"), r.start("table: t\nmode: upsert\non_unknown_field: add_column")
		first.lands(`{"id":1}`)
		other := false
		defer r.ctl.Add(mssqltest.Rule{Text: "ALTER TABLE [dbo].[t] ADD", Before: func(mssqltest.Event) {
			if !other {
				other = true
				r.sql("ALTER TABLE dbo.t ADD n bigint NULL")
			}
		}})()
		second.refuses(service.MessageBatch{described(`{"id":2,"n":2,"s":"two"}`, wider...)}, nil)
		first.refuses(service.MessageBatch{described(`{"id":3,"n":3,"s":"three"}`, wider...)}, nil)
		if !other {
			t.Error("there was no other writer")
		}
		r.want("SELECT id, n, s FROM dbo.t ORDER BY id", "1|NULL|NULL", "2|2|two", "3|3|three")
	})
}

func TestBulkAddColumnWithoutTheRight(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY); CREATE LOGIN bob WITH PASSWORD = 'Secret-1!'; CREATE USER bob FOR LOGIN bob; GRANT SELECT, INSERT ON dbo.t TO bob;")
		dsn := strings.Replace(r.dsn(), "sqlserver://", "", 1)
		dsn = "sqlserver://bob:Secret-1!@" + dsn[strings.LastIndex(dsn, "@")+1:]
		run := r.start(fmt.Sprintf("table: t\non_unknown_field: add_column\nconnection_string: %q", dsn))
		run.refuses(service.MessageBatch{described(`{"id":1,"n":1}`, wider...), service.NewMessage([]byte(`{"id":2}`))}, map[int][]string{0: {"column n", "GRANT ALTER ON [dbo].[t]"}})
		r.want("SELECT id FROM dbo.t", "2")
		r.sql("GRANT ALTER ON dbo.t TO bob;")
		run.refuses(service.MessageBatch{described(`{"id":1,"n":1}`, wider...)}, nil)
		r.want("SELECT id, n FROM dbo.t ORDER BY id", "1|1", "2|NULL")
	})
}

// The statement is no part of the transaction of the rows.
func TestBulkAddColumnBeforeTheTransaction(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY)")
		defer r.ctl.Add(mssqltest.Rule{Text: "ALTER TABLE [dbo].[t] ADD", Before: func(mssqltest.Event) {
			if n := r.ctl.OpenTransactions(); n != 0 {
				t.Errorf("%d transactions are open", n)
			}
		}})()
		r.start("table: t\non_unknown_field: add_column").refuses(service.MessageBatch{service.NewMessage([]byte(`{"id":1}`)), described(`{"id":2,"n":1}`, wider...)}, nil)
		r.want("SELECT id, n FROM dbo.t ORDER BY id", "1|NULL", "2|1")
	})
}

func TestBulkCreateTableWithAKey(t *testing.T) {
	keyed := func(key string) *service.Message {
		m := described(`{"id":1,"s":"a","n":2}`, wider...)
		if key != "" {
			m.MetaSetMut("key", key)
		}
		return m
	}
	const keyOfT = "SELECT c.name, ic.key_ordinal, c.is_nullable, c.max_length FROM sys.indexes AS i JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id WHERE i.object_id = OBJECT_ID(N'dbo.t') AND i.is_primary_key = 1 ORDER BY ic.key_ordinal"
	for _, tt := range []struct {
		name, fields, key string
		want              []string // of the primary key
		refused           string
	}{
		{"by the messages", "mode: apply", `{"s":"a","id":1}`, []string{"s|1|0|450", "id|2|0|4"}, ""},
		{"by the field", "mode: upsert\nkey_columns: [id]", `{"s":"a"}`, []string{"id|1|0|4"}, ""},
		{"none for insert", "mode: insert", `{"id":1}`, nil, ""},
		{"none for apply", "mode: apply", "", nil, ""},
		{"none for upsert", "mode: upsert", "", nil, "knows no key"},
		{"of no column", "mode: upsert\nkey_columns: [x]", "", nil, "does not find column x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				run := r.start("create_table: true\noperation: insert\ntable: ${! \"t\" }\n" + tt.fields)
				if tt.refused != "" {
					run.refuses(service.MessageBatch{keyed(tt.key)}, map[int][]string{0: {tt.refused}})
					return
				}
				run.refuses(service.MessageBatch{keyed(tt.key)}, nil)
				r.want(keyOfT, tt.want...)
				r.want("SELECT id, s, n FROM dbo.t", "1|a|2")
			})
		})
	}
}
