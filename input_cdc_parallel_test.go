package mssqlcdc

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

const parallelTables = 4

// parallelScript makes the tables p1 to p4 with so many rows each, of about 100 bytes on the wire, and as many changes of each if it
// is told to capture them.
func parallelScript(rows int, captured bool) string {
	var b strings.Builder
	b.WriteString(`CREATE TABLE dbo.thousand (n int NOT NULL PRIMARY KEY);
WITH d AS (SELECT n FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS v (n))
INSERT dbo.thousand (n) SELECT a.n + 10 * b.n + 100 * c.n FROM d AS a CROSS JOIN d AS b CROSS JOIN d AS c;
ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON;
IF (SELECT is_cdc_enabled FROM sys.databases WHERE database_id = DB_ID()) = 0 EXEC sys.sp_cdc_enable_db;
`)
	for i := 1; i <= parallelTables; i++ {
		create := fmt.Sprintf("CREATE TABLE dbo.p%d (id int NOT NULL PRIMARY KEY, text nvarchar(100) NOT NULL);\n", i)
		enable := fmt.Sprintf("EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'p%d', @role_name = NULL, @supports_net_changes = 0;\n", i)
		fill := fmt.Sprintf(`GO
SET NOCOUNT ON;
DECLARE @i int = 0;
WHILE @i < %d
BEGIN
 INSERT dbo.p%d (id, text) SELECT TOP (%d) @i + n, N'0123456789abcdef0123456789abcdef0123456789' FROM dbo.thousand ORDER BY n;
 SET @i = @i + 1000;
END;
GO
`, rows, i, min(rows, 1000))
		if captured {
			b.WriteString(create + enable + fill)
		} else {
			b.WriteString(create + fill + enable)
		}
	}
	return b.String()
}

// A server gives each connection so many bytes a second: with four connections, four tables take a quarter of the time that they
// take with one. Time is virtual, so the machine's speed does not matter.
func TestConnectionsReadAtTheSameTime(t *testing.T) {
	const rows = 3000
	for _, kind := range []string{"snapshot", "changes"} {
		took := map[int]time.Duration{}
		for _, connections := range []int{1, parallelTables} {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.sql(parallelScript(rows, kind == "changes"))
				if err := r.ctl.CaptureScan(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				r.ctl.Throttle(32 << 10)
				began := time.Now()
				run := r.start(fmt.Sprintf("stream_snapshot: %t\nmax_connections: %d\nmax_parallel_snapshot_tables: %[2]d\nsnapshot_max_batch_size: 500", kind == "snapshot", connections))
				for n := map[string]int{}; n["p1"]+n["p2"]+n["p3"]+n["p4"] < parallelTables*rows; {
					for _, m := range run.batch() {
						if m.body != "" {
							n[m.text("table")]++
						}
					}
				}
				took[connections] = time.Since(began)
			})
		}
		ratio := took[1].Seconds() / took[parallelTables].Seconds()
		t.Logf("%s: %s with one connection, %s with four: %.2f times as fast", kind, took[1], took[parallelTables], ratio)
		if ratio < 3.5 || ratio > 4.2 {
			t.Errorf("%s: four connections are %.2f times as fast as one", kind, ratio)
		}
	}
}

// parallelEnv makes the test binary the reader of TestLongParallel, in a process of its own whose memory is measured.
const parallelEnv = "MSSQLCDC_PARALLEL_READER"

type parallelJob struct {
	DSN, Positions    string
	Rows, Connections int
}

// Four tables of a million rows each are read from a server that gives each connection 500,000 bytes a second: four connections
// take about a quarter of the time of one, the reader's memory is bounded, and no transaction of it is ever old. The lines that it
// logs are printed by:
//
//	MSSQLCDC_LONG=1 go test -count=1 -timeout 1h -v -run TestLongParallel .
func TestLongParallel(t *testing.T) {
	if job := os.Getenv(parallelEnv); job != "" {
		readParallel(t, job)
		return
	}
	if os.Getenv("MSSQLCDC_LONG") == "" {
		t.Skip("takes minutes: set MSSQLCDC_LONG=1")
	}
	if runtime.GOOS != "linux" {
		t.Skip("peak memory of a process is measured on Linux only")
	}
	const rows, rate = 1_000_000, 500_000
	srv, err := mssqltest.New(mssqltest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Listen(l); err != nil {
		t.Fatal(err)
	}
	if err := srv.Exec(parallelScript(rows, false)); err != nil {
		t.Fatal(err)
	}
	srv.Control().Throttle(rate)
	took := map[int]time.Duration{}
	for _, connections := range []int{parallelTables, 1} {
		job, err := json.Marshal(parallelJob{DSN: srv.ConnString(), Positions: filepath.Join(t.TempDir(), "positions"), Rows: rows, Connections: connections})
		if err != nil {
			t.Fatal(err)
		}
		oldest, stop := oldestTransaction(t, srv)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLongParallel$", "-test.v", "-test.timeout=1h")
		cmd.Env = append(os.Environ(), parallelEnv+"="+string(job))
		out, err := cmd.CombinedOutput()
		stop()
		if err != nil {
			t.Fatalf("the reader failed: %v\n%s", err, out)
		}
		var peak int
		var seconds float64
		for line := range strings.Lines(string(out)) {
			if after, found := strings.CutPrefix(line, "VmHWM:"); found {
				if _, err := fmt.Sscan(after, &peak); err != nil {
					t.Fatal(err)
				}
			}
			if after, found := strings.CutPrefix(line, "seconds "); found {
				if seconds, err = strconv.ParseFloat(strings.TrimSpace(after), 64); err != nil {
					t.Fatal(err)
				}
			}
		}
		took[connections] = time.Duration(seconds * float64(time.Second))
		age := time.Duration(oldest.Load())
		t.Logf("%d connections: %d rows in %.1f s, peak memory of the reader %d MiB, oldest transaction %s", connections, parallelTables*rows, seconds, peak>>10, age)
		if peak == 0 || peak>>10 >= 256 && !raceEnabled {
			t.Errorf("the reader's peak memory is %d MiB, not below 256", peak>>10)
		}
		if age > 10*time.Second {
			t.Errorf("a transaction was %s old", age)
		}
	}
	ratio := took[1].Seconds() / took[parallelTables].Seconds()
	t.Logf("four connections are %.2f times as fast as one", ratio)
	if ratio < 3 || ratio > 4.5 {
		t.Errorf("four connections are %.2f times as fast as one", ratio)
	}
}

// oldestTransaction watches the server's transactions and keeps the greatest age that one had.
func oldestTransaction(t *testing.T, srv *mssqltest.Server) (oldest *atomic.Int64, stop func()) {
	oldest = &atomic.Int64{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			rows, err := srv.Query("SELECT MAX(DATEDIFF(millisecond, transaction_begin_time, SYSDATETIME())) FROM sys.dm_tran_active_transactions")
			if err != nil {
				t.Error(err)
				return
			}
			if ms, err := strconv.ParseInt(rows[0][0], 10, 64); err == nil { // else there is none
				oldest.Store(max(oldest.Load(), ms*int64(time.Millisecond)))
			}
		}
	}()
	return oldest, func() { cancel(); <-done }
}

// readParallel reads all rows through Benthos, and tells how long that took.
func readParallel(t *testing.T, text string) {
	var job parallelJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	b := service.NewStreamBuilder()
	if err := b.SetYAML(fmt.Sprintf(`
input:
  mssql_cdc:
    connection_string: %q
    checkpoint_file: %q
    stream_snapshot: true
    max_connections: %d
    max_parallel_snapshot_tables: %[3]d
logger: {level: ERROR}
`, job.DSN, job.Positions, job.Connections)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var came atomic.Int64
	want := int64(parallelTables * job.Rows)
	if err := b.AddBatchConsumerFunc(func(_ context.Context, batch service.MessageBatch) error {
		n := 0
		for _, m := range batch {
			if op, _ := m.MetaGet("operation"); op == "read" {
				n++
			}
		}
		if came.Add(int64(n)) >= want {
			cancel()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := s.Run(ctx); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	if came.Load() != want {
		t.Fatalf("%d rows of %d", came.Load(), want)
	}
	fmt.Printf("seconds %.1f\n", time.Since(began).Seconds())
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			fmt.Print(line)
		}
	}
}
