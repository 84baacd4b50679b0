package bulkload_test

import (
	"database/sql/driver"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ways are the ways to load; everything has to come out the same in each.
var ways = []struct {
	name, encryption string
	mode             session.RawMode
}{
	{"raw", "off", session.RawRequire},
	{"raw TLS", "required", session.RawRequire},
	{"driver", "off", session.RawOff},
}

func open(t testing.TB, srv *mssqltest.Server, encryption string, mode session.RawMode) *session.Conn {
	t.Helper()
	cfg := session.Config{ConnectionString: srv.ConnString("encrypt=disable"), Dial: srv.DialContext, RawTDS: mode}
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

func exec(t testing.TB, srv *mssqltest.Server, text string) {
	t.Helper()
	if err := srv.Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func target(t testing.TB, conn *session.Conn, name string) *bulkload.Target {
	t.Helper()
	tg, err := bulkload.LoadTarget(t.Context(), conn, catalog.Name{Schema: "dbo", Object: name})
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

// load plans and loads a batch in a transaction of its own.
func load(t testing.TB, conn *session.Conn, name string, rec arrow.RecordBatch, o bulkload.Options) (bulkload.Result, error) {
	t.Helper()
	p, err := bulkload.NewPlan(target(t, conn, name), rec.Schema(), o)
	if err != nil {
		return bulkload.Result{}, err
	}
	if err := conn.Batch(t.Context(), "BEGIN TRAN"); err != nil {
		t.Fatal(err)
	}
	res, err := p.Load(t.Context(), conn, rec)
	end := "COMMIT"
	if err != nil {
		end = "IF @@TRANCOUNT > 0 ROLLBACK"
	}
	if !conn.Broken() {
		if err := conn.Batch(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	return res, err
}

// texts reads rows as one text each, through the driver.
func texts(t testing.TB, conn *session.Conn, query string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), query, "")
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	var out []string
	for {
		row := make([]driver.Value, len(rows.Columns()))
		err := rows.Next(row)
		if err == io.EOF { //nolint:errorlint // the end of the rows is io.EOF itself
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		cells := make([]string, len(row))
		for i, v := range row {
			if cells[i] = fmt.Sprint(v); v == nil {
				cells[i] = "NULL"
			}
		}
		out = append(out, strings.Join(cells, "|"))
	}
}

// checked is an allocator that has to be empty at the end.
func checked(t testing.TB) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}
