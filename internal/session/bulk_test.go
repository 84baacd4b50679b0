package session_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest"
)

// bulkT is a load of (id int, v nvarchar(10)) into dbo.t.
func bulkT() session.BulkLoad {
	return session.BulkLoad{
		Table: "[dbo].[t]",
		Columns: []session.BulkColumn{
			{Meta: tds.ColumnMeta{Flags: tds.ColumnUpdatableUnsure, Info: tds.Nullable(tds.TypeIntN, 4), Name: "id"}, Declaration: "int"},
			{Meta: tds.ColumnMeta{Flags: tds.ColumnUpdatableUnsure | tds.ColumnNullable, Info: tds.CharType(tds.TypeNVarChar, 20, tds.DefaultCollation), Name: "v"}, Declaration: "nvarchar(10)"},
		},
		Hints: session.BulkHints{CheckConstraints: true, FireTriggers: true, KeepNulls: true},
	}
}

const tableT = "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(10) NULL, CONSTRAINT small CHECK (id < 1000000))"

// rowsT are rows with ids from from to to-1.
func rowsT(from, to int) []byte {
	load := bulkT()
	cols := []tds.ColumnMeta{load.Columns[0].Meta, load.Columns[1].Meta}
	var b []byte
	for i := from; i < to; i++ {
		b = tds.AppendRow(b, cols, [][]byte{tds.AppendInt(nil, int64(i), 4), tds.AppendUTF16(nil, fmt.Sprint("v", i%10))})
	}
	return b
}

var encryptions = []struct{ name, setting string }{{"clear", "off"}, {"TLS", "required"}}

func openRaw(t testing.TB, srv *mssqltest.Server, encryption string, mode session.RawMode, dial func(context.Context, string, string) (net.Conn, error)) *session.Conn {
	t.Helper()
	cfg := session.Config{ConnectionString: srv.ConnString("encrypt=disable"), Dial: dial, RawTDS: mode}
	if dial == nil {
		cfg.Dial = srv.DialContext
	}
	if encryption == "required" {
		cfg.ConnectionString = srv.ConnString("encrypt=true", "TrustServerCertificate=true")
	}
	conn, err := session.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func startT(t testing.TB, encryption string) *mssqltest.Server {
	t.Helper()
	srv := mssqltest.Start(t, mssqltest.Config{Encryption: encryption})
	if err := srv.Exec(tableT); err != nil {
		t.Fatal(err)
	}
	return srv
}

func countT(t testing.TB, srv *mssqltest.Server) string {
	t.Helper()
	rows, err := srv.Query("SELECT COUNT(*) FROM dbo.t")
	if err != nil {
		t.Fatal(err)
	}
	return rows[0][0]
}

// loadT loads rows in one go.
func loadT(ctx context.Context, conn *session.Conn, rows ...[]byte) (int64, error) {
	w, err := conn.Bulk(ctx, bulkT())
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		if err := w.Write(r); err != nil {
			return 0, err
		}
	}
	return w.Finish(ctx)
}

func TestBulkLoadsAndTransactionsOnOneConnection(t *testing.T) {
	for _, enc := range encryptions {
		for _, mode := range []session.RawMode{session.RawRequire, session.RawOff} {
			t.Run(enc.name+" "+string(mode), func(t *testing.T) {
				srv := startT(t, enc.setting)
				conn := openRaw(t, srv, enc.setting, mode, nil)
				if raw, why := conn.Raw(t.Context()); raw != (mode == session.RawRequire) || (why == nil) != raw {
					t.Errorf("Raw() = %v, %v", raw, why)
				}
				step := func(text, want string) {
					t.Helper()
					if err := conn.Batch(t.Context(), text); err != nil {
						t.Fatal(err)
					}
					if got := value(t, conn, "SELECT COUNT(*) FROM dbo.t", ""); fmt.Sprint(got) != want {
						t.Errorf("after %s: %v rows, want %s", text, got, want)
					}
				}
				step("BEGIN TRAN", "0")
				if n, err := loadT(t.Context(), conn, rowsT(0, 3000), rowsT(3000, 6000)); n != 6000 || err != nil {
					t.Fatalf("load: %d, %v", n, err)
				}
				step("ROLLBACK", "0")
				step("BEGIN TRAN", "0")
				for i := range 3 {
					if n, err := loadT(t.Context(), conn, rowsT(i*10, i*10+10)); n != 10 || err != nil {
						t.Fatalf("load: %d, %v", n, err)
					}
				}
				step("COMMIT", "30")
				if n, err := loadT(t.Context(), conn, rowsT(100, 105)); n != 5 || err != nil {
					t.Fatalf("load without a transaction: %d, %v", n, err)
				}
				if n, err := loadT(t.Context(), conn); n != 0 || err != nil {
					t.Fatalf("load of no rows: %d, %v", n, err)
				}
				step("SELECT 1", "35")
				if got := value(t, conn, "SELECT @@TRANCOUNT", ""); got != int64(0) {
					t.Errorf("%v transactions are open", got)
				}
			})
		}
	}
}

func TestErrorsOfBulkLoadsAreTheServers(t *testing.T) {
	null := tds.AppendRow(nil, []tds.ColumnMeta{bulkT().Columns[0].Meta, bulkT().Columns[1].Meta}, [][]byte{nil, nil})
	for _, mode := range []session.RawMode{session.RawRequire, session.RawOff} {
		t.Run(string(mode), func(t *testing.T) {
			srv := startT(t, "off")
			if err := srv.Exec("CREATE TABLE dbo.short (id int NOT NULL, v nvarchar(1) NULL)"); err != nil {
				t.Fatal(err)
			}
			conn := openRaw(t, srv, "off", mode, nil)
			for _, tt := range []struct {
				name   string
				number int32
				table  string
				rows   []byte
			}{
				{"duplicate key", 2627, "[dbo].[t]", append(rowsT(0, 10), rowsT(5, 6)...)},
				{"check", 547, "[dbo].[t]", rowsT(999_999, 1_000_001)},
				{"NULL", 515, "[dbo].[t]", null},
				{"too long", 2628, "[dbo].[short]", rowsT(1, 2)},
			} {
				t.Run(tt.name, func(t *testing.T) {
					if mode == session.RawOff && (tt.number == 515 || tt.number == 2628) {
						t.Skip("the driver declares the columns of the table itself, and spoils NULL where it must not be; bulkload sends neither")
					}
					if err := conn.Batch(t.Context(), "BEGIN TRAN"); err != nil {
						t.Fatal(err)
					}
					load := bulkT()
					load.Table = tt.table
					w, err := conn.Bulk(t.Context(), load)
					if err == nil {
						if err = w.Write(tt.rows); err == nil {
							_, err = w.Finish(t.Context())
						}
					}
					var se mssql.Error
					if !errors.As(err, &se) || se.Number != tt.number && !session.HasNumber(err, tt.number) || se.Class == 0 || se.State == 0 || len(se.All) == 0 {
						t.Fatalf("error %#v, want %d of the server", err, tt.number)
					}
					if conn.Broken() {
						t.Fatal("the connection is closed")
					}
					if err := conn.Batch(t.Context(), "IF @@TRANCOUNT > 0 ROLLBACK"); err != nil {
						t.Fatal(err)
					}
					if n, err := loadT(t.Context(), conn, rowsT(500, 501)); n != 1 || err != nil {
						t.Fatalf("the next load: %d, %v", n, err)
					}
					if got := countT(t, srv); got != "1" {
						t.Errorf("%s rows are stored", got)
					}
					if err := srv.Exec("DELETE FROM dbo.t"); err != nil {
						t.Fatal(err)
					}
				})
			}
		})
	}
}

func TestAnUnknownTableIsNamed(t *testing.T) {
	srv := startT(t, "off")
	conn := openRaw(t, srv, "off", session.RawRequire, nil)
	load := bulkT()
	load.Table = "[dbo].[nowhere]"
	if _, err := conn.Bulk(t.Context(), load); !session.HasNumber(err, 208) || !strings.Contains(err.Error(), "[dbo].[nowhere]") {
		t.Errorf("Bulk: %v", err)
	}
	if n, err := loadT(t.Context(), conn, rowsT(1, 2)); n != 1 || err != nil {
		t.Errorf("the next load: %d, %v", n, err)
	}
}

func TestALoadIsWithdrawnAtAnyMoment(t *testing.T) {
	const attempts = 60
	for _, enc := range encryptions {
		t.Run(enc.name, func(t *testing.T) {
			srv := startT(t, enc.setting)
			rng := rand.New(rand.NewPCG(1, 2))
			conn := openRaw(t, srv, enc.setting, session.RawRequire, nil)
			rows := rowsT(0, 2000)
			kept, stored := 0, 0
			for range attempts {
				if conn.Broken() {
					conn = openRaw(t, srv, enc.setting, session.RawRequire, nil)
				}
				ctx, cancel := context.WithCancel(t.Context())
				timer := time.AfterFunc(time.Duration(rng.IntN(6000))*time.Microsecond, cancel)
				n, err := loadT(ctx, conn, rows, nil, nil, nil)
				timer.Stop()
				cancel()
				switch {
				case err == nil && n == 2000:
					stored++
				case !errors.Is(err, context.Canceled):
					t.Fatalf("load: %d, %v", n, err)
				}
				want := "0"
				if err == nil {
					want = "2000"
				}
				if !conn.Broken() {
					kept++
					if got := fmt.Sprint(value(t, conn, "SELECT COUNT(*) FROM dbo.t", "")); got != want {
						t.Fatalf("%s rows are stored after %v, want %s", got, err, want)
					}
				}
				if err := srv.Exec("DELETE FROM dbo.t"); err != nil {
					t.Fatal(err)
				}
			}
			if kept < attempts/2 {
				t.Errorf("only %d of %d connections were kept", kept, attempts)
			}
			t.Logf("%d connections of %d kept, %d loads stored", kept, attempts, stored)
		})
	}
}

func TestAbortKeepsTheConnection(t *testing.T) {
	for _, enc := range encryptions {
		t.Run(enc.name, func(t *testing.T) {
			srv := startT(t, enc.setting)
			conn := openRaw(t, srv, enc.setting, session.RawRequire, nil)
			for _, rows := range [][]byte{nil, rowsT(0, 1), rowsT(0, 30_000)} {
				w, err := conn.Bulk(t.Context(), bulkT())
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Write(rows); err != nil {
					t.Fatal(err)
				}
				if err := w.Abort(t.Context()); err != nil || conn.Broken() {
					t.Fatalf("Abort: %v, broken %v", err, conn.Broken())
				}
				if err := w.Write(rows); err == nil {
					t.Error("a withdrawn load takes rows")
				}
				if _, err := w.Finish(t.Context()); err == nil {
					t.Error("a withdrawn load can be finished")
				}
				if got := value(t, conn, "SELECT COUNT(*) FROM dbo.t", ""); got != int64(0) {
					t.Errorf("%v rows are stored", got)
				}
			}
		})
	}
}

// tap is a socket whose writes a test sees, and which it can stop.
type tap struct {
	net.Conn
	write func(n int) error
}

func (c *tap) Write(p []byte) (int, error) {
	if err := c.write(len(p)); err != nil {
		_ = c.Conn.Close()
		return 0, err
	}
	return c.Conn.Write(p)
}

func tapped(srv *mssqltest.Server, write func(int) error) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := srv.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &tap{Conn: c, write: write}, nil
	}
}

func TestPacketsAreWrittenTogetherInClearAndAloneInTLS(t *testing.T) {
	for _, enc := range encryptions {
		t.Run(enc.name, func(t *testing.T) {
			srv := startT(t, enc.setting)
			var most, writes atomic.Int64
			conn := openRaw(t, srv, enc.setting, session.RawRequire, tapped(srv, func(n int) error {
				writes.Add(1)
				most.Store(max(most.Load(), int64(n)))
				return nil
			}))
			rows := rowsT(0, 20_000)
			most.Store(0)
			writes.Store(0)
			if _, err := loadT(t.Context(), conn, rows); err != nil {
				t.Fatal(err)
			}
			low, high := int64(60<<10), int64(64<<10)
			if enc.setting != "off" {
				low, high = tds.DefaultPacketSize, tds.DefaultPacketSize+64 // a record's own bytes
			}
			if m := most.Load(); m < low || m > high {
				t.Errorf("the largest write has %d bytes, want %d to %d", m, low, high)
			}
			if n := writes.Load(); n > int64(len(rows))/(low-100)+8 {
				t.Errorf("%d writes for %d bytes", n, len(rows))
			}
		})
	}
}

func TestAConnectionCutAtAnyPacket(t *testing.T) {
	for _, enc := range encryptions {
		t.Run(enc.name, func(t *testing.T) {
			srv := startT(t, enc.setting)
			cut := errors.New("cut")
			rows := rowsT(0, 12_000) // more than three writes in clear
			for at := int64(1); ; at++ {
				var armed atomic.Bool
				var left atomic.Int64
				left.Store(at)
				conn := openRaw(t, srv, enc.setting, session.RawRequire, tapped(srv, func(int) error {
					if armed.Load() && left.Add(-1) == 0 {
						return cut
					}
					return nil
				}))
				armed.Store(true)
				n, err := loadT(t.Context(), conn, rows)
				if err == nil {
					if n != 12_000 || left.Load() <= 0 {
						t.Errorf("cut at write %d: %d rows", at, n)
					}
					if at < 5 {
						t.Errorf("only %d writes were made", at)
					}
					return
				}
				if !session.IsNetwork(err) && !errors.Is(err, cut) || !conn.Broken() {
					t.Fatalf("cut at write %d: %v, broken %v", at, err, conn.Broken())
				}
				if _, err := conn.Query(t.Context(), "SELECT 1", ""); !errors.Is(err, session.ErrClosed) {
					t.Fatalf("cut at write %d: the next request: %v", at, err)
				}
				if got := countT(t, srv); got != "0" {
					t.Fatalf("cut at write %d: %s rows are stored", at, got)
				}
			}
		})
	}
}

func TestALoadAgainstAServerThatStopsIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind string
	}{{"rows unanswered", "bulk"}, {"statement unanswered", "batch"}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, err := mssqltest.New(mssqltest.Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer srv.Close()
				if err := srv.ListenMemory(); err != nil {
					t.Fatal(err)
				}
				if err := srv.Exec(tableT); err != nil {
					t.Fatal(err)
				}
				dsn := "sqlserver://sa:Passw0rd!@127.0.0.1:1433?database=testdb&encrypt=disable"
				conn, err := session.Open(t.Context(), session.Config{ConnectionString: dsn, Dial: srv.DialContext, RawTDS: session.RawRequire})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				for _, kind := range []string{tt.kind, "attention"} {
					srv.Control().Add(mssqltest.Rule{Kind: kind, Drop: true})
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				_, err = loadT(ctx, conn, rowsT(0, 10))
				if !errors.Is(err, context.DeadlineExceeded) || !conn.Broken() {
					t.Errorf("load: %v, broken %v", err, conn.Broken())
				}
				if took := time.Since(start); took != time.Minute+2*time.Second {
					t.Errorf("the load took %s, want its bound and two seconds", took)
				}
			})
		})
	}
}

func TestAServerThatHasEnoughEndsTheLoad(t *testing.T) {
	srv := startT(t, "off")
	conn := openRaw(t, srv, "off", session.RawRequire, nil)
	w, err := conn.Bulk(t.Context(), bulkT())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rowsT(0, 30_000)); err != nil {
		t.Fatal(err)
	}
	srv.Control().Cut(func(mssqltest.Event) bool { return true })
	for i := 1; ; i++ {
		if err = w.Write(rowsT(i*30_000, i*30_000+5000)); err != nil {
			break
		}
	}
	if !session.IsNetwork(err) || !conn.Broken() {
		t.Errorf("Write: %v, broken %v", err, conn.Broken())
	}
}

func TestBulkStatement(t *testing.T) {
	load := bulkT()
	load.Columns[0].Meta.Name = "a]b"
	load.Hints = session.BulkHints{CheckConstraints: true, FireTriggers: true, KeepNulls: true, TabLock: true, KilobytesPerBatch: 5, RowsPerBatch: 6, Order: []string{"[a]]b] ASC", "[v] DESC"}}
	want := "INSERT BULK [dbo].[t] ([a]]b] int, [v] nvarchar(10)) WITH (CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS, KILOBYTES_PER_BATCH = 5, ROWS_PER_BATCH = 6, ORDER([a]]b] ASC, [v] DESC), TABLOCK)"
	if got := load.Statement(); got != want {
		t.Errorf("Statement:\n%s, want\n%s", got, want)
	}
	load.Hints = session.BulkHints{}
	if got := load.Statement(); strings.Contains(got, "WITH") {
		t.Errorf("Statement without hints: %s", got)
	}
}

func TestRawModes(t *testing.T) {
	if _, err := session.ParseRawMode("sometimes"); err == nil {
		t.Error("ParseRawMode accepts anything")
	}
	t.Setenv(session.RawEnv, "")
	srv := startT(t, "off")
	// A server whose raw answer is not the driver's: the probe's statement fails.
	srv.Control().Add(mssqltest.Rule{Kind: "batch", Text: "0x0102", Error: 50000})
	_, err := session.Open(t.Context(), session.Config{ConnectionString: srv.ConnString("encrypt=disable"), Dial: srv.DialContext, RawTDS: session.RawRequire})
	if err == nil || !strings.Contains(err.Error(), "probing the connection") {
		t.Errorf("Open with require: %v", err)
	}
	conn := openRaw(t, srv, "off", session.RawAuto, nil)
	if n, err := loadT(t.Context(), conn, rowsT(0, 3)); n != 3 || err != nil {
		t.Errorf("load through the driver: %d, %v", n, err)
	}
	if raw, why := conn.Raw(t.Context()); raw || why == nil {
		t.Errorf("Raw() = %v, %v", raw, why)
	}
}
