package session_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// valueExpressions are values of every type as a driver's row has them, with their edges.
var valueExpressions = []string{
	"CAST(1 AS bit)", "CAST(255 AS tinyint)", "CAST(-32768 AS smallint)", "CAST(-2147483648 AS int)", "CAST(9223372036854775807 AS bigint)",
	"CAST(0.1 AS real)", "CAST(-1.5E300 AS float)", "CAST(-0.05 AS decimal(5,2))", "CAST(12345678901234567890123456789012345678 AS decimal(38,0))",
	"CAST(-922337203685477.5808 AS money)", "CAST(214748.3647 AS smallmoney)", "CAST('0001-01-01' AS date)", "CAST('9999-12-31' AS date)",
	"CAST('23:59:59.9999999' AS time(7))", "CAST('12:00' AS time(0))", "CAST('9999-12-31T23:59:59.9999999' AS datetime2(7))", "CAST('2024-02-29T01:02:03' AS datetime2(0))",
	"CAST('1753-01-01' AS datetime)", "CAST('2024-02-29T23:59:59.997' AS datetime)", "CAST('2024-02-29T00:00:00.003' AS datetime)", "CAST('2079-06-06T23:59' AS smalldatetime)",
	"CAST('2026-03-01T12:00:00.1234567+05:30' AS datetimeoffset(7))", "CAST('0001-01-02T00:00:00-14:00' AS datetimeoffset(0))",
	"CAST('é€' AS varchar(10))", "CAST('ab' AS char(5))", "CAST(N'яё' COLLATE Cyrillic_General_CI_AS AS varchar(10))", "CAST(N'表十' COLLATE Japanese_CI_AS AS varchar(10))",
	"CHAR(129) + 'x'", "CAST(N'😀é' AS nvarchar(10))", "N'a' + NCHAR(55357)", "CAST('' AS varchar(max))", "REPLICATE(CAST(N'😀' AS nvarchar(max)), 5000)", "N''", "''", "0x", "0xFF00",
	"CAST(0x01 AS varbinary(max))", "CAST(0x0102 AS binary(4))", "CAST('01234567-89AB-CDEF-0123-456789ABCDEF' AS uniqueidentifier)", "CAST(N'<a>é</a>' AS xml)",
	"CAST(7 AS sql_variant)", "CAST(CAST(1.5 AS real) AS sql_variant)", "CAST(N'é' AS sql_variant)", "CAST(CAST(1.50 AS decimal(5,2)) AS sql_variant)", "CAST(CAST('2024-02-29' AS date) AS sql_variant)", "CAST(0x01 AS sql_variant)",
	"CAST('text' AS text)", "CAST(N'ntext 名' AS ntext)", "CAST(0x00FF AS image)", "CAST(NULL AS int)", "NULL",
}

// TestRawValuesAreTheDriversValues asks the same both ways, with parameters of every kind.
func TestRawValuesAreTheDriversValues(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	var conns []*session.Conn
	for _, mode := range []session.RawMode{session.RawRequire, session.RawOff} {
		conn, err := session.Open(t.Context(), session.Config{ConnectionString: srv.ConnString("encrypt=disable"), Dial: srv.DialContext, RawTDS: mode})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		conns = append(conns, conn)
	}
	both := func(text, decl string, args ...driver.Value) {
		t.Helper()
		var rows [2][]driver.Value
		var errs [2]error
		for i, c := range conns {
			rows[i], errs[i] = c.QueryRow(t.Context(), text, decl, args...)
		}
		if errs[0] != nil && errs[1] != nil && errs[0].Error() == errs[1].Error() {
			return
		}
		if errs[0] != nil || errs[1] != nil {
			t.Errorf("%s: raw %v, through the driver %v", text, errs[0], errs[1])
			return
		}
		for i := range rows[0] {
			a, b := rows[0][i], rows[1][i]
			if x, ok := a.(time.Time); ok {
				if y, ok := b.(time.Time); ok && x.Equal(y) && x.Format(time.RFC3339Nano) == y.Format(time.RFC3339Nano) {
					continue
				}
			}
			if f, ok := a.(float32); ok && b == float64(f) {
				continue // a real that cannot be NULL, which depends on the driver's version
			}
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%s, column %d: raw %T %.80v, through the driver %T %.80v", text, i+1, a, a, b, b)
			}
		}
	}
	for _, e := range valueExpressions {
		both("SELECT "+e, "")
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456700, time.FixedZone("", 5*3600+1800))
	for _, p := range []struct {
		decl string
		arg  driver.Value
	}{
		{"bigint", int64(-5)}, {"int", int64(41)}, {"bit", true}, {"bit", false}, {"float", 1.5}, {"binary(10)", []byte{1, 2}}, {"varbinary(max)", make([]byte, 9000)}, {"varbinary(5)", []byte{}},
		{"nvarchar(10)", "é😀"}, {"nvarchar(10)", ""}, {"nvarchar(max)", strings.Repeat("é", 5000)}, {"varchar(10)", "abc"}, {"datetime2(7)", at}, {"datetimeoffset(7)", at}, {"int", nil}, {"nvarchar(5)", nil}, {"binary(4)", []byte(nil)},
		{"decimal(9,2)", "1.25"}, {"uniqueidentifier", "01234567-89AB-CDEF-0123-456789ABCDEF"},
	} {
		both("SELECT @p, @p", "@p "+p.decl, p.arg)
	}
}

// TestRawRowsAfterAnError are over, and the connection goes on; the error has all messages of the reply.
func TestRawRowsAfterAnError(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	conn := openRaw(t, srv, "off", session.RawRequire, nil)
	rows, err := conn.Query(t.Context(), "SELECT 1; SELECT 2 UNION ALL SELECT 1/0; SELECT 3", "")
	if err != nil {
		t.Fatal(err)
	}
	var all []driver.Value
	row := make([]driver.Value, 1)
	for {
		for err = rows.Next(row); err == nil; err = rows.Next(row) {
			all = append(all, row[0])
		}
		if err != io.EOF || !rows.HasNextResultSet() { //nolint:errorlint // the end of the rows is io.EOF itself
			break
		}
		if err = rows.NextResultSet(); err != nil {
			break
		}
	}
	var se mssql.Error
	if !errors.As(err, &se) || se.Number != 8134 || len(se.All) == 0 {
		t.Errorf("%v after %v", err, all)
	}
	if again := rows.Next(row); !errors.As(again, &se) {
		t.Errorf("the next row: %v", again)
	}
	if err := rows.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	// An error that the statement has caught itself is none.
	if _, err := conn.Exec(t.Context(), "BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH SELECT 2 END CATCH; SELECT 3", ""); err != nil {
		t.Errorf("after a caught error: %v", err)
	}
}

// TestRawCloseSendsAnAttentionForMoreThanIsOnItsWay cancels large rests; the connection goes on after small ones, too.
func TestRawCloseSendsAnAttentionForMoreThanIsOnItsWay(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	if err := srv.Exec("CREATE TABLE dbo.n (id int PRIMARY KEY, v nvarchar(1000)); DECLARE @i int = 0; WHILE @i < 3000 BEGIN INSERT dbo.n VALUES (@i, REPLICATE(N'x', 500)); SET @i = @i + 1 END"); err != nil {
		t.Fatal(err)
	}
	conn := openRaw(t, srv, "off", session.RawRequire, nil)
	var attentions atomic.Int32
	defer srv.Control().Add(mssqltest.Rule{Kind: "attention", Before: func(mssqltest.Event) { attentions.Add(1) }})()
	for _, tt := range []struct {
		top  int
		want int
	}{{2, 0}, {3000, 1}} {
		attentions.Store(0)
		rows, err := conn.Query(t.Context(), fmt.Sprintf("SELECT TOP (%d) id, v FROM dbo.n ORDER BY id", tt.top), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.Next(make([]driver.Value, 2)); err != nil {
			t.Fatal(err)
		}
		if err := rows.Close(); err != nil || conn.Broken() {
			t.Fatalf("Close: %v, broken %v", err, conn.Broken())
		}
		if got := value(t, conn, "SELECT COUNT(*) FROM dbo.n", ""); got != int64(3000) {
			t.Errorf("afterwards: %v", got)
		}
		// Whether a small rest has arrived is a matter of moments; a large one never has.
		if n := int(attentions.Load()); n < tt.want {
			t.Errorf("%d rows: %d attentions, want %d at least", tt.top, n, tt.want)
		}
	}
}

// TestRawRowsAreCancelled at moments spread over the reply, in clear and over TLS: the connection goes on. The
// clock is that of the test: nothing waits for a bound.
func TestRawRowsAreCancelled(t *testing.T) {
	for _, enc := range encryptions {
		t.Run(enc.name, func(t *testing.T) {
			srv, err := mssqltest.New(mssqltest.Config{Encryption: enc.setting})
			if err != nil {
				t.Fatal(err)
			}
			if err := srv.Exec("CREATE TABLE dbo.n (id int PRIMARY KEY, v nvarchar(1000)); DECLARE @i int = 0; WHILE @i < 500 BEGIN INSERT dbo.n VALUES (@i, REPLICATE(N'x', 500)); SET @i = @i + 1 END"); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				defer srv.Close()
				if err := srv.ListenMemory(); err != nil {
					t.Fatal(err)
				}
				dsn := "sqlserver://sa:Passw0rd!@127.0.0.1:1433?database=testdb&encrypt=disable"
				if enc.setting != "off" {
					dsn = "sqlserver://sa:Passw0rd!@127.0.0.1:1433?database=testdb&encrypt=true&TrustServerCertificate=true"
				}
				conn, err := session.Open(t.Context(), session.Config{ConnectionString: dsn, Dial: srv.DialContext, RawTDS: session.RawRequire})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				for at := 0; at < 500; at += 37 {
					ctx, cancel := context.WithCancel(t.Context())
					rows, err := conn.Query(ctx, "SELECT id, v FROM dbo.n ORDER BY id", "")
					n := 0
					for row := make([]driver.Value, 2); err == nil; n++ {
						if n == at {
							cancel()
						}
						err = rows.Next(row)
					}
					cancel()
					if !errors.Is(err, context.Canceled) {
						t.Fatalf("cancelled at row %d: %v after %d rows", at, err, n)
					}
					if conn.Broken() {
						t.Fatalf("cancelled at row %d: the connection is given up", at)
					}
					if got, err := conn.QueryRow(t.Context(), "SELECT COUNT(*) FROM dbo.n", ""); err != nil || got[0] != int64(500) {
						t.Fatalf("afterwards: %v, %v", got, err)
					}
				}
			})
		})
	}
}

// TestRawRequestsShareATransaction of the session, whoever began it.
func TestRawRequestsShareATransaction(t *testing.T) {
	srv := startT(t, "off")
	conn := openRaw(t, srv, "off", session.RawRequire, nil)
	if err := conn.Batch(t.Context(), "BEGIN TRAN"); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Exec(t.Context(), "INSERT dbo.t (id, v) VALUES (@a, N'x'), (@a + 1, N'y'); UPDATE dbo.t SET v = N'z' WHERE id = @a", "@a int", int64(7)); n != 3 || err != nil {
		t.Errorf("Exec: %d, %v", n, err)
	}
	if got := value(t, conn, "SELECT @@TRANCOUNT", ""); got != int64(1) {
		t.Errorf("%v transactions", got)
	}
	if err := conn.Batch(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if got := countT(t, srv); got != "0" {
		t.Errorf("%s rows after the rollback", got)
	}
}

// TestRawEnvironment says what auto is.
func TestRawEnvironment(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	for env, want := range map[string]bool{"": true, "off": false, "require": true} {
		t.Setenv(session.RawEnv, env)
		raw, why := open(t, srv, nil).Raw(t.Context())
		if raw != want {
			t.Errorf("%s=%q: %v, %v", session.RawEnv, env, raw, why)
		}
		if raw, _ := open(t, srv, func(c *session.Config) { c.RawTDS = session.RawRequire }).Raw(t.Context()); !raw {
			t.Errorf("%s=%q has changed require", session.RawEnv, env)
		}
	}
	t.Setenv(session.RawEnv, "maybe")
	if _, err := session.Open(t.Context(), session.Config{ConnectionString: srv.ConnString(), Dial: srv.DialContext}); err == nil || !strings.Contains(err.Error(), session.RawEnv) {
		t.Errorf("Open: %v", err)
	}
}
