package clients

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "example.com/mssqlcdc" // the output
)

const (
	latin1 = " COLLATE SQL_Latin1_General_CP1_CI_AS"
	utf8   = " COLLATE Latin1_General_100_CI_AS_SC_UTF8"
	cp932  = " COLLATE Japanese_CI_AS"
	cp1251 = " COLLATE Cyrillic_General_CI_AS"

	bytesOf = "CONVERT(varchar(max), CONVERT(varbinary(max), c), 2)"
	endsOf  = "CONCAT(DATALENGTH(c), ' ', LEFT(CONVERT(varchar(max), CONVERT(varbinary(max), c), 2), 8), ' ', RIGHT(CONVERT(varchar(max), CONVERT(varbinary(max), c), 2), 8))"
	textOf  = "CONVERT(varchar(100), c)"
	exactOf = "CONVERT(varchar(100), c, 3)"
	moneyOf = "CONVERT(varchar(100), c, 2)"
	instant = "CONVERT(varchar(100), c, 121)"
	dayOf   = "CONVERT(varchar(100), c, 23)"
	refused = "refused"
)

// written is a value that mssql_bulk stores, and what T-SQL shows of it: for text, its bytes in the column's code page.
type written struct{ value, want string }

// writtenTypes are all types of SQL Server with their edges.
var writtenTypes = []struct {
	decl, show string
	values     []written
}{
	{"bit", textOf, []written{{`true`, "1"}, {`false`, "0"}}},
	{"tinyint", textOf, []written{{`0`, "0"}, {`255`, "255"}, {`256`, refused}, {`-1`, refused}}},
	{"smallint", textOf, []written{{`-32768`, "-32768"}, {`32767`, "32767"}, {`32768`, refused}}},
	{"int", textOf, []written{{`-2147483648`, "-2147483648"}, {`2147483647`, "2147483647"}, {`2147483648`, refused}, {`1.5`, refused}}},
	{"bigint", textOf, []written{{`-9223372036854775808`, "-9223372036854775808"}, {`9223372036854775807`, "9223372036854775807"}, {`9007199254740993`, "9007199254740993"}, {`9223372036854775808`, refused}}},
	{"decimal(10,2)", textOf, []written{{`"1.50"`, "1.50"}, {`"-99999999.99"`, "-99999999.99"}, {`"100000000"`, refused}, {`"0.001"`, refused}}},
	{"decimal(38,0)", textOf, []written{{`"99999999999999999999999999999999999999"`, "99999999999999999999999999999999999999"}, {`"-99999999999999999999999999999999999999"`, "-99999999999999999999999999999999999999"}}},
	{"numeric(38,38)", textOf, []written{{`"0.00000000000000000000000000000000000001"`, "0.00000000000000000000000000000000000001"}, {`"1"`, refused}}},
	{"money", moneyOf, []written{{`"922337203685477.5807"`, "922337203685477.5807"}, {`"-922337203685477.5808"`, "-922337203685477.5808"}, {`"922337203685477.5808"`, refused}}},
	{"smallmoney", moneyOf, []written{{`"214748.3647"`, "214748.3647"}, {`"-214748.3648"`, "-214748.3648"}, {`"214748.3648"`, refused}}},
	{"real", exactOf, []written{{`0.5`, "5.00000000e-001"}, {`-3.4028235e+38`, "-3.40282347e+038"}, {`1e39`, refused}}},
	{"float", exactOf, []written{{`0.1`, "1.0000000000000001e-001"}, {`1.7976931348623157e+308`, "1.7976931348623157e+308"}, {`"NaN"`, refused}, {`"Infinity"`, refused}}},
	{"date", dayOf, []written{{`"0001-01-01"`, "0001-01-01"}, {`"1582-10-10"`, "1582-10-10"}, {`"9999-12-31"`, "9999-12-31"}, {`"2023-02-29"`, refused}}},
	{"time(0)", textOf, []written{{`"23:59:59"`, "23:59:59"}, {`"24:00:00"`, refused}, {`"12:00:00.5"`, refused}}},
	{"time(7)", textOf, []written{{`"23:59:59.9999999"`, "23:59:59.9999999"}, {`"00:00:00.0000001"`, "00:00:00.0000001"}}},
	{"datetime2(0)", instant, []written{{`"0001-01-01T00:00:00"`, "0001-01-01 00:00:00"}, {`"9999-12-31T23:59:59"`, "9999-12-31 23:59:59"}}},
	{"datetime2(3)", instant, []written{{`"2024-02-29T12:34:56.123"`, "2024-02-29 12:34:56.123"}}},
	{"datetime2(7)", instant, []written{{`"9999-12-31T23:59:59.9999999"`, "9999-12-31 23:59:59.9999999"}, {`"1969-12-31T23:59:59.9999990"`, "1969-12-31 23:59:59.9999990"}}},
	{"datetime", instant, []written{{`"1753-01-01T00:00:00.000"`, "1753-01-01 00:00:00.000"}, {`"9999-12-31T23:59:59.997"`, "9999-12-31 23:59:59.997"}, {`"1752-12-31T00:00:00"`, refused}}},
	{"smalldatetime", instant, []written{{`"1900-01-01T00:00:00"`, "1900-01-01 00:00:00.000"}, {`"2079-06-06T23:59:00"`, "2079-06-06 23:59:00.000"}, {`"2079-06-07T00:00:00"`, refused}}},
	{"datetimeoffset(7)", instant, []written{{`"2024-02-29T23:59:59.1234567+09:00"`, "2024-02-29 23:59:59.1234567 +09:00"}, {`"2024-12-31T23:59:59.9999999-13:30"`, "2024-12-31 23:59:59.9999999 -13:30"}, {`"2024-01-01T00:00:00+15:00"`, refused}}},
	{"char(5)" + latin1, bytesOf, []written{{`"é€"`, "E980202020"}, {`"你"`, refused}, {`"sixsix"`, refused}}},
	{"varchar(20)" + latin1, bytesOf, []written{{`""`, ""}, {`"español €"`, "65737061F16F6C2080"}, {`"表"`, refused}}},
	{"varchar(10)" + cp932, bytesOf, []written{{`"表ソ"`, "955C835C"}, {`"é"`, refused}}},
	{"varchar(10)" + cp1251, bytesOf, []written{{`"Привет"`, "CFF0E8E2E5F2"}, {`"表"`, refused}}},
	{"varchar(3)" + utf8, bytesOf, []written{{`"€"`, "E282AC"}, {`"€a"`, refused}}},
	{"varchar(max)" + latin1, endsOf, []written{{`"a"`, "1 61 61"}, {`"` + strings.Repeat("é", 8001) + `z"`, "8002 E9E9E9E9 E9E9E97A"}}},
	{"nchar(3)", bytesOf, []written{{`"名"`, "0D5420002000"}}},
	{"nvarchar(10)", bytesOf, []written{{`""`, ""}, {`"a\u0000😀"`, "610000003DD800DE"}, {`"12345678901"`, refused}}},
	{"nvarchar(max)", endsOf, []written{{`"` + strings.Repeat("名", 4001) + `z"`, "8004 0D540D54 0D547A00"}}},
	{"xml", "CONVERT(nvarchar(max), c)", []written{{`"<a>é</a>"`, "<a>é</a>"}}},
	{"text" + latin1, "CONVERT(varchar(max), CONVERT(varbinary(max), CONVERT(varchar(max), c)), 2)", []written{{`"long é"`, "6C6F6E6720E9"}}},
	{"ntext", "CONVERT(varchar(max), CONVERT(varbinary(max), CONVERT(nvarchar(max), c)), 2)", []written{{`"名"`, "0D54"}}},
	{"image", bytesOf, []written{{`"3q2+7w=="`, "DEADBEEF"}}},
	{"binary(6)", bytesOf, []written{{`"3q2+7w=="`, "DEADBEEF0000"}}},
	{"varbinary(4)", bytesOf, []written{{`""`, ""}, {`"3q2+7w=="`, "DEADBEEF"}, {`"3q2+7wA="`, refused}}},
	{"varbinary(max)", endsOf, []written{{`"` + strings.Repeat("AAAA", 4000) + `3q2+7w=="`, "12004 00000000 DEADBEEF"}}},
	{"uniqueidentifier", textOf, []written{{`"01234567-89AB-CDEF-0123-456789ABCDEF"`, "01234567-89AB-CDEF-0123-456789ABCDEF"}, {`"nonsense"`, refused}}},
	{"sysname", bytesOf, []written{{`"dbo"`, "640062006F00"}}},
	{"hierarchyid", bytesOf, []written{{`"WsA="`, "5AC0"}}},
	{"sql_variant", textOf, []written{{`1`, refused}}},
}

// Everything that mssql_bulk stores is read back by the driver and by FreeTDS, equal: past the driver and through it. What a column cannot
// hold is refused with an error that names it, and the rest of the batch lands.
func TestWrittenValues(t *testing.T) {
	path, err := exec.LookPath("bsqldb")
	if err != nil {
		t.Skipf("bsqldb is not installed (%v): run .ci/clients.sh", err)
	}
	var script strings.Builder
	for i, typ := range writtenTypes {
		for _, raw := range []string{"require", "off"} {
			fmt.Fprintf(&script, "CREATE TABLE dbo.w%d_%s (id int NOT NULL, c %s NULL);\nGO\n", i, raw, typ.decl)
		}
	}
	file := filepath.Join(t.TempDir(), "tables.sql")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	server := startServer(t, file)
	dsn := url.URL{Scheme: "sqlserver", User: url.UserPassword("sa", password), Host: "127.0.0.1:" + server.port, RawQuery: "database=testdb&encrypt=disable"}
	db, err := sql.Open("sqlserver", dsn.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	freeTDS := &client{process: server, path: path}
	freeTDS.freeTDSConf(t)
	for _, raw := range []string{"require", "off"} {
		t.Run("raw_tds "+raw, func(t *testing.T) {
			var queries strings.Builder
			var want []string
			for i, typ := range writtenTypes {
				table := fmt.Sprintf("dbo.w%d_%s", i, raw)
				values := append([]written{{"null", "NULL"}}, typ.values...)
				failed := load(t, dsn.String(), table, raw, values)
				for id, v := range values {
					switch {
					case v.want == refused:
						for _, part := range []string{table, fmt.Sprintf("row %d", id+1), "column c"} {
							if !strings.Contains(failed[id], part) {
								t.Errorf("%s into %s: %q does not name %q", v.value, typ.decl, failed[id], part)
							}
						}
					case failed[id] != "":
						t.Errorf("%s into %s is refused: %s", v.value[:min(40, len(v.value))], typ.decl, failed[id])
					default:
						want = append(want, fmt.Sprintf("%s %d [%s]", table, id, v.want))
					}
				}
				fmt.Fprintf(&queries, "SELECT CONVERT(nvarchar(300), CONCAT('%s ', id, N' [', CASE WHEN c IS NULL THEN N'NULL' ELSE %s END, N']')) FROM %[1]s ORDER BY id\n", table, typ.show)
			}
			var got []string
			for query := range strings.Lines(queries.String()) {
				rows, err := db.Query(query)
				if err != nil {
					t.Fatalf("%s: %v", query, err)
				}
				for rows.Next() {
					var text string
					if err := rows.Scan(&text); err != nil {
						t.Fatal(err)
					}
					got = append(got, text)
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
			}
			compareLines(t, "the driver", got, want)
			out, err := freeTDS.run(t, strings.ReplaceAll(queries.String(), "ORDER BY id\n", "ORDER BY id\ngo\n"), "-S", "standin", "-U", "sa", "-P", password, "-D", "testdb", "-h", "-q")
			if err != nil {
				t.Fatalf("bsqldb: %v\n%s", err, out)
			}
			got = nil
			for line := range strings.Lines(out) {
				if line = strings.TrimSpace(line); strings.HasPrefix(line, "dbo.w") {
					got = append(got, line)
				}
			}
			compareLines(t, "FreeTDS", got, want)
		})
	}
}

// load writes rows with mssql_bulk and gives the errors of those that are refused.
func load(t *testing.T, dsn, table, raw string, values []written) map[int]string {
	t.Helper()
	env := service.GlobalEnvironment().Clone()
	build := env.NewResourceBuilder()
	if err := build.AddOutputYAML(fmt.Sprintf("label: out\nmssql_bulk:\n  connection_string: %q\n  table: %s\n  raw_tds: %s\n", dsn, table, raw)); err != nil {
		t.Fatal(err)
	}
	res, end, err := build.BuildSuspended()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := end(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	var batch service.MessageBatch
	for id, v := range values {
		batch = append(batch, service.NewMessage([]byte(fmt.Sprintf(`{"id":%d,"c":%s}`, id, v.value))))
	}
	index := batch.Index()
	failed := map[int]string{}
	if err := res.AccessOutput(t.Context(), "out", func(o *service.ResourceOutput) { err = o.WriteBatch(t.Context(), batch) }); err != nil {
		t.Fatal(err)
	}
	var rows *service.BatchError
	switch {
	case err == nil:
	case errors.As(err, &rows):
		rows.WalkMessagesIndexedBy(index, func(i int, _ *service.Message, err error) bool {
			if err != nil {
				failed[i] = err.Error()
			}
			return true
		})
	default:
		t.Fatal(err)
	}
	return failed
}

func compareLines(t *testing.T, who string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%s reads %d lines of %d; line %d is %q, want %q", who, len(got), len(want), i, g, w)
			return
		}
	}
}
