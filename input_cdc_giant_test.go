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
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// giantEnv makes the test binary the reader of TestGiantTransaction, in a process of its own whose memory is measured.
const giantEnv = "MSSQLCDC_GIANT_READER"

type giantJob struct {
	DSN, Positions string
	Rows           int
}

// One transaction of 200,000 rows of 1 KB (2,000,000 with MSSQLCDC_LONG=1) is read in bounded memory, in order, and without
// the server reading rows for nothing. The line that it logs is printed by:
//
//	go test -run TestGiantTransaction -v .
func TestGiantTransaction(t *testing.T) {
	if job := os.Getenv(giantEnv); job != "" {
		readGiant(t, job)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("peak memory of a process is measured on Linux only")
	}
	rows := 200_000
	if os.Getenv("MSSQLCDC_LONG") != "" {
		rows = 2_000_000
	}
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
	if err := srv.Exec(fmt.Sprintf(`CREATE TABLE dbo.giant (id int NOT NULL PRIMARY KEY, text nvarchar(1000) NOT NULL);
EXEC sys.sp_cdc_enable_db;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'giant', @role_name = NULL, @supports_net_changes = 0;
GO
CREATE TABLE dbo.thousand (n int NOT NULL PRIMARY KEY);
WITH d AS (SELECT n FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS v (n))
INSERT dbo.thousand (n) SELECT a.n + 10 * b.n + 100 * c.n FROM d AS a CROSS JOIN d AS b CROSS JOIN d AS c;
GO
SET NOCOUNT ON;
DECLARE @i int = 0;
BEGIN TRANSACTION;
WHILE @i < %d
BEGIN
 INSERT dbo.giant (id, text) SELECT @i + n, REPLICATE(N'0123456789abcdef', 62) FROM dbo.thousand ORDER BY n;
 SET @i = @i + 1000;
END;
COMMIT TRANSACTION;`, rows)); err != nil {
		t.Fatal(err)
	}
	if err := srv.Control().CaptureScan(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	srv.Control().RecordStatements(true)

	job, err := json.Marshal(giantJob{DSN: srv.ConnString(), Positions: filepath.Join(t.TempDir(), "positions"), Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGiantTransaction$", "-test.v")
	cmd.Env = append(os.Environ(), giantEnv+"="+string(job))
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the reader failed: %v\n%s", err, out)
	}
	var peak int
	if _, after, found := strings.Cut(string(out), "VmHWM:"); !found {
		t.Fatalf("the reader told no peak memory:\n%s", out)
	} else if _, err := fmt.Sscan(after, &peak); err != nil {
		t.Fatal(err)
	}
	peak >>= 10
	var examined, returned int64
	for _, s := range srv.Control().Statements() {
		if strings.Contains(s.Text, "[dbo_giant_CT]") {
			examined += s.RowsExamined
			returned += s.RowsReturned
		}
	}
	t.Logf("%d rows of 1 KB in one transaction: peak memory of the reader %d MiB, rows examined per row returned %.4f, %.1f s", rows, peak, float64(examined)/float64(returned), time.Since(began).Seconds())
	if peak >= 256 && !raceEnabled {
		t.Errorf("the reader's peak memory is %d MiB, not below 256", peak)
	}
	if returned < int64(rows) || float64(examined) > 1.1*float64(returned) {
		t.Errorf("%d rows examined for %d returned of %d", examined, returned, rows)
	}
}

// readGiant streams the transaction through Benthos and checks the ids.
func readGiant(t *testing.T, text string) {
	var job giantJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	b := service.NewStreamBuilder()
	if err := b.SetYAML(fmt.Sprintf("input:\n  mssql_cdc:\n    connection_string: %q\n    checkpoint_file: %q\nlogger: {level: ERROR}\n", job.DSN, job.Positions)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	next := 0
	if err := b.AddBatchConsumerFunc(func(_ context.Context, batch service.MessageBatch) error {
		for _, m := range batch {
			body, err := m.AsBytes()
			if err != nil {
				return err
			}
			var row struct{ ID int }
			if err := json.Unmarshal(body, &row); err != nil {
				return err
			}
			if row.ID != next {
				cancel()
				return fmt.Errorf("row %d comes where %d should", row.ID, next)
			}
			next++
		}
		if next == job.Rows {
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
	if err := s.Run(ctx); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	if next != job.Rows {
		t.Fatalf("%d rows of %d", next, job.Rows)
	}
	// The peak that wait4 gives for a child begins with its parent's memory; this one is the process's own.
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
