package mssqlcdc

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// pipeline runs a whole configuration until its input has ended.
func (r *bulkRig) pipeline(yaml string) *cdcLog {
	r.t.Helper()
	log := &cdcLog{}
	b := service.NewStreamBuilder()
	b.SetLogger(slog.New(log))
	if err := b.SetYAML(yaml); err != nil {
		r.t.Fatal(err)
	}
	stream, err := b.Build()
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*cdcBound)
	defer cancel()
	if err := stream.Run(ctx); err != nil {
		r.t.Fatalf("%v\n%s", err, log)
	}
	synctest.Wait()
	return log
}

// A refused row goes to the other output of a fallback by itself, when the batch was made before.
func TestBulkFallback(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, v tinyint); CREATE TABLE dbo.rejected (id int, why nvarchar(max))")
		r.pipeline(fmt.Sprintf(`
input:
  generate:
    count: 20
    interval: ""
    batch_size: 10
    mapping: |
      root.id = counter()
      root.v = if count("fallback") == 7 { 300 } else { 1 }
pipeline: { threads: 1 }
output:
  fallback:
    - mssql_bulk: { connection_string: %[1]q, table: t }
    - mssql_bulk: { connection_string: %[1]q, table: rejected }
      processors:
        - mapping: |
            root.id = this.id
            root.why = @fallback_error
`, r.dsn()))
		r.want("SELECT COUNT(*) FROM dbo.t", "19")
		got := r.rows("SELECT id, why FROM dbo.rejected")
		if len(got) != 1 || !strings.HasPrefix(got[0], "7|") || !strings.Contains(got[0], "column v (tinyint): 300") {
			t.Errorf("rejected: %q", got)
		}
	})
}

// Batches stay in order over a table that is taken away for a while: the identity numbers the rows as they came.
func TestBulkOrderOverATableThatIsAway(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (n int IDENTITY, id int)")
		remove := r.ctl.Add(mssqltest.Rule{Kind: "rpc", Text: "INSERT INTO [dbo].[t]", Skip: 3, Times: 4, Error: 229, Class: 14, ErrorMessage: "The INSERT permission was denied"})
		defer remove()
		log := r.pipeline(fmt.Sprintf(`
input:
  generate:
    count: 100
    interval: ""
    batch_size: 10
    mapping: root.id = counter()
pipeline: { threads: 1 }
output:
  mssql_bulk: { connection_string: %q, table: t }
`, r.dsn()))
		r.want("SELECT COUNT(*), SUM(CASE WHEN n = id THEN 1 ELSE 0 END) FROM dbo.t", "100|100")
		if log.count("this batch waits until that is mended") == 0 {
			t.Errorf("the log does not say that the output waits:\n%s", log)
		}
	})
}

// The tls block is what the connection is verified by.
func TestBulkTLS(t *testing.T) {
	onBulk(t, mssqltest.Config{Encryption: "required"}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int, s nvarchar(max))")
		dsn := strings.Replace(r.dsn(), "certificate=", "ignored=", 1)
		roots := "table: t\nconnection_string: " + dsn + "&hostnameincertificate=localhost\ntls:\n  enabled: true\n  root_cas: |\n    " + indent(r.srv.CA(), "    ")
		r.start(roots).lands(`{"id":1,"s":"`+strings.Repeat("x", stagedBytes)+`"}`, `{"id":2}`)
		r.want("SELECT id FROM dbo.t ORDER BY id", "1", "2")
		if err := r.make(strings.Replace(roots, "enabled: true", "enabled: false", 1)).output.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "authority") {
			t.Errorf("without the tls block: %v", err)
		}
	})
}
