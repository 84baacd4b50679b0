package session_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

func open(t *testing.T, srv *mssqltest.Server, change func(*session.Config)) *session.Conn {
	t.Helper()
	cfg := session.Config{ConnectionString: srv.ConnString(), Dial: srv.DialContext}
	if change != nil {
		change(&cfg)
	}
	conn, err := session.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func value(t *testing.T, conn *session.Conn, text, decl string, args ...driver.Value) driver.Value {
	t.Helper()
	row, err := conn.QueryRow(t.Context(), text, decl, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return row[0]
}

func TestParametersHaveTheDeclaredType(t *testing.T) {
	conn := open(t, mssqltest.Start(t, mssqltest.Config{}), nil)
	for _, tt := range []struct {
		name, text, decl string
		arg              driver.Value
		want             driver.Value
	}{
		{"binary is padded to its length", "SELECT DATALENGTH(@p)", "@p binary(10)", []byte{1, 2}, int64(10)},
		{"binary compares with a column", "SELECT 1 WHERE CAST(0x01020000000000000000 AS binary(10)) = @p", "@p binary(10)", []byte{1, 2, 0, 0, 0, 0, 0, 0, 0, 0}, int64(1)},
		{"varchar is one byte a character", "SELECT DATALENGTH(@p)", "@p varchar(20)", "abc", int64(3)},
		{"nvarchar is two", "SELECT DATALENGTH(@p)", "@p nvarchar(128)", "abc", int64(6)},
		{"int", "SELECT @p + 1", "@p int", int64(41), int64(42)},
		{"NULL", "SELECT CASE WHEN @p IS NULL THEN 1 ELSE 0 END", "@p nvarchar(10)", nil, int64(1)},
		{"empty text", "SELECT DATALENGTH(@p)", "@p nvarchar(10)", "", int64(0)},
		{"a quote in a value", "SELECT @p", "@p nvarchar(20)", "'; DROP --", "'; DROP --"},
		{"datetime", "SELECT DATEPART(millisecond, @p)", "@p datetime", "2026-03-01T12:00:00.003", int64(3)},
		{"long text", "SELECT LEN(@p)", "@p nvarchar(max)", strings.Repeat("x", 10_000), int64(10_000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := value(t, conn, tt.text, tt.decl, tt.arg); got != tt.want {
				t.Errorf("%s with %s = %v: got %v, want %v", tt.text, tt.decl, tt.arg, got, tt.want)
			}
		})
	}
}

func TestSessionsAreSetUpForReading(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	conn := open(t, srv, func(c *session.Config) {
		c.AppName, c.LockTimeout, c.Init = "my reader", 1500*time.Millisecond, []string{"SET DATEFIRST 3"}
	})
	if got := value(t, conn, "SELECT @@LOCK_TIMEOUT", ""); got != int64(1500) {
		t.Errorf("lock timeout %v", got)
	}
	if got := value(t, conn, "SELECT @@DATEFIRST", ""); got != int64(3) {
		t.Errorf("the statement of Init was not run: DATEFIRST is %v", got)
	}
	if got := value(t, conn, "SELECT APP_NAME()", ""); got != "my reader" {
		t.Errorf("application name %v", got)
	}
	// What the first request resets must not take the settings with it.
	if got := value(t, conn, "SELECT @@LOCK_TIMEOUT", ""); got != int64(1500) {
		t.Errorf("lock timeout of the second request %v", got)
	}
}

func TestAStatementOfInitThatFailsIsNamed(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	_, err := session.Open(t.Context(), session.Config{ConnectionString: srv.ConnString(), Dial: srv.DialContext, Init: []string{"SELECT * FROM dbo.nowhere"}})
	if !session.HasNumber(err, 208) || !strings.Contains(err.Error(), "setting the session up") {
		t.Errorf("Open: %v", err)
	}
}

func TestAConnectionGoesOnAfterAnErrorOfTheServer(t *testing.T) {
	conn := open(t, mssqltest.Start(t, mssqltest.Config{}), nil)
	for _, text := range []string{
		"SELECT * FROM dbo.nowhere",
		"SELECT 1; SELECT 1/0",
		"SELECT 1; RAISERROR('x', 16, 1); SELECT 2; SELECT 3; SELECT 4; SELECT 5; SELECT 6; SELECT 7",
		"THIS IS NOT SQL",
	} {
		rows, err := conn.Query(t.Context(), text, "")
		for err == nil {
			row := make([]driver.Value, len(rows.Columns()))
			if err = rows.Next(row); err == io.EOF { //nolint:errorlint // the end of the rows is io.EOF itself
				if !rows.HasNextResultSet() {
					break
				}
				err = rows.NextResultSet()
			}
		}
		if _, ok := session.Number(err); !ok {
			t.Errorf("%s: %v, want an error of the server", text, err)
		}
		if rows != nil {
			_ = rows.Close()
		}
		if got := value(t, conn, "SELECT 42", ""); got != int64(42) {
			t.Errorf("after %s: %v", text, got)
		}
	}
	if _, err := conn.Exec(t.Context(), "SELECT 1/0", ""); !session.HasNumber(err, 8134) {
		t.Errorf("Exec: %v", err)
	}
	if conn.Broken() {
		t.Error("the connection is broken")
	}
}

func TestResultSetsComeInOrder(t *testing.T) {
	conn := open(t, mssqltest.Start(t, mssqltest.Config{}), nil)
	rows, err := conn.Query(t.Context(), "SELECT 1; IF @n > 5 SELECT 2; SELECT TOP (0) 3; SELECT 4", "@n int", int64(1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var got []string
	for {
		row := make([]driver.Value, len(rows.Columns()))
		set := ""
		for rows.Next(row) == nil {
			set += fmt.Sprint(row[0])
		}
		got = append(got, set)
		if !rows.HasNextResultSet() {
			break
		}
		if err := rows.NextResultSet(); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(got, ",") != "1,,4" {
		t.Errorf("result sets %q", got)
	}
}

func TestEncryptedAndVerified(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{Encryption: "auto"})
	ca, err := srv.CAFile()
	if err != nil {
		t.Fatal(err)
	}
	base := "sqlserver://sa:Passw0rd!@127.0.0.1:1433?database=testdb"
	for _, tt := range []struct {
		name, dsn string
		ok        bool
	}{
		{"an authority that nobody knows", base, false},
		{"an authority that is given", base + "&certificate=" + ca, true},
		{"any certificate, as said", base + "&TrustServerCertificate=true", true},
		{"no encryption, as said", base + "&encrypt=disable", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := session.Open(t.Context(), session.Config{ConnectionString: tt.dsn, Dial: srv.DialContext})
			if (err == nil) != tt.ok {
				t.Fatalf("Open: %v", err)
			}
			if err == nil {
				if got := value(t, conn, "SELECT 1", ""); got != int64(1) {
					t.Errorf("got %v", got)
				}
				_ = conn.Close()
			}
		})
	}
	plain := mssqltest.Start(t, mssqltest.Config{Encryption: "off"})
	if _, err := session.Open(t.Context(), session.Config{ConnectionString: base, Dial: plain.DialContext}); err == nil {
		t.Error("a server without encryption was accepted")
	}
}

func TestCancelledQueriesEndAndTheConnectionGoesOn(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	conn := open(t, srv, nil)
	ctx, cancel := context.WithCancel(t.Context())
	remove := srv.Control().Add(mssqltest.Rule{Kind: "statement", Text: "WAITFOR", Before: func(mssqltest.Event) { cancel() }})
	defer remove()
	start := time.Now()
	if _, err := conn.Exec(ctx, "WAITFOR DELAY '00:01:00'", ""); !errors.Is(err, context.Canceled) {
		t.Fatalf("Exec: %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("Exec took %s", took)
	}
	if conn.Broken() {
		t.Fatal("the server has confirmed the cancellation, but the connection is given up")
	}
	if got := value(t, conn, "SELECT 1", ""); got != int64(1) {
		t.Errorf("after the cancellation: %v", got)
	}
}

func TestRowsThatAreClosedEarlyAreCancelled(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	if err := srv.Exec("CREATE TABLE dbo.n (id int PRIMARY KEY, v nvarchar(1000)); DECLARE @i int = 0; WHILE @i < 2000 BEGIN INSERT dbo.n VALUES (@i, REPLICATE(N'x', 500)); SET @i = @i + 1 END"); err != nil {
		t.Fatal(err)
	}
	conn := open(t, srv, nil)
	for range 3 {
		rows, err := conn.Query(t.Context(), "SELECT id, v FROM dbo.n ORDER BY id", "")
		if err != nil {
			t.Fatal(err)
		}
		row := make([]driver.Value, 2)
		if err := rows.Next(row); err != nil || row[0] != int64(0) {
			t.Fatalf("first row %v, %v", row, err)
		}
		if err := rows.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		if got := value(t, conn, "SELECT COUNT(*) FROM dbo.n", ""); got != int64(2000) {
			t.Errorf("afterwards: %v", got)
		}
	}
	if n := srv.Control().OpenRequests(); n != 0 {
		t.Errorf("%d requests are open", n)
	}
}

func TestACutConnectionIsNeverAnEndOfRows(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	if err := srv.Exec("CREATE TABLE dbo.n (id int PRIMARY KEY, v nvarchar(100)); DECLARE @i int = 0; WHILE @i < 300 BEGIN INSERT dbo.n VALUES (@i, REPLICATE(N'x', 50)); SET @i = @i + 1 END"); err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at < 30_000; at += 1009 {
		conn := open(t, srv, nil)
		remove := srv.Control().Add(mssqltest.Rule{Kind: "rpc", Text: "dbo.n", Times: 1, Cut: true, CutAfter: max(at, 1)})
		rows, err := conn.Query(t.Context(), "SELECT id, v FROM dbo.n ORDER BY id", "")
		n := 0
		for row := make([]driver.Value, 2); err == nil; n++ {
			err = rows.Next(row)
		}
		remove()
		if errors.Is(err, io.EOF) {
			t.Errorf("cut after %d bytes: %d rows and an end", at, n-1)
		} else if !session.IsTransient(err) || !conn.Broken() {
			t.Errorf("cut after %d bytes: %v, broken %v", at, err, conn.Broken())
		}
	}
}

func TestErrorsOfTheServerAreTheDriversType(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	conn := open(t, srv, nil)
	defer srv.Control().Add(mssqltest.Rule{Kind: "statement", Text: "SELECT 17", Error: 1205, Class: 13})()
	_, err := conn.QueryRow(t.Context(), "SELECT 17", "")
	var se mssql.Error
	if !errors.As(err, &se) || se.Number != 1205 || !session.IsTransient(err) {
		t.Errorf("QueryRow: %v", err)
	}
	_, err = session.Open(t.Context(), session.Config{ConnectionString: as(t, srv.ConnString(), "sa", "wrong-secret"), Dial: srv.DialContext})
	if !session.HasNumber(err, 18456) || strings.Contains(err.Error(), "wrong-secret") {
		t.Errorf("Open with a wrong password: %v", err)
	}
}

func TestAClosedConnectionSaysSo(t *testing.T) {
	conn := open(t, mssqltest.Start(t, mssqltest.Config{}), nil)
	if err := errors.Join(conn.Close(), conn.Close()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := conn.Query(t.Context(), "SELECT 1", ""); !errors.Is(err, session.ErrClosed) {
		t.Errorf("Query: %v", err)
	}
}

func TestARequestThatIsNeverAnsweredEndsSoonAfterItsContext(t *testing.T) {
	for _, encryption := range []string{"off", "required"} {
		t.Run(encryption, func(t *testing.T) {
			srv, err := mssqltest.New(mssqltest.Config{Encryption: encryption})
			if err != nil {
				t.Fatal(err)
			}
			ca, err := srv.CAFile()
			if encryption != "off" && err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				defer srv.Close()
				if err := srv.ListenMemory(); err != nil {
					t.Fatal(err)
				}
				dsn := "sqlserver://sa:Passw0rd!@127.0.0.1:1433?database=testdb&encrypt=disable"
				if encryption != "off" {
					dsn = "sqlserver://sa:Passw0rd!@127.0.0.1:1433?database=testdb&certificate=" + ca
				}
				conn, err := session.Open(t.Context(), session.Config{ConnectionString: dsn, Dial: srv.DialContext})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				for _, kind := range []string{"rpc", "attention"} {
					srv.Control().Add(mssqltest.Rule{Kind: kind, Drop: true})
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				_, err = conn.QueryRow(ctx, "SELECT 1", "")
				if took := time.Since(start); took < time.Minute || took > time.Minute+3*time.Second {
					t.Errorf("the request took %s", took)
				}
				if !errors.Is(err, context.DeadlineExceeded) || !conn.Broken() {
					t.Errorf("QueryRow: %v, broken %v", err, conn.Broken())
				}
			})
		})
	}
}

// as is a connection string for another login.
func as(t *testing.T, dsn, user, password string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}
