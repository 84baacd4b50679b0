package mssqlcdc

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/verify"
	"example.com/mssqlcdc/mssqltest"
)

// followRig is a source and a target on servers of their own, in virtual time.
type followRig struct {
	t        *testing.T
	src, dst *mssqltest.Server
	from, to string // connection strings
	log      *cdcLog
	stream   *service.Stream
	done     chan error
}

func onFollow(t *testing.T, source, target string, test func(*testing.T, *followRig)) {
	t.Helper()
	var servers [2]*mssqltest.Server
	for i := range servers {
		srv, err := mssqltest.New(mssqltest.Config{Database: "shop", CaptureDelay: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		servers[i] = srv
	}
	synctest.Test(t, func(t *testing.T) {
		r := &followRig{t: t, src: servers[0], dst: servers[1]}
		for i, srv := range servers {
			defer srv.Close()
			if err := srv.ListenMemory(); err != nil {
				t.Fatal(err)
			}
			host := fmt.Sprintf("follow-%d.invalid", bulkHosts.Add(1))
			defer session.RegisterInProcess(host, func(ctx context.Context) (net.Conn, error) { return srv.DialContext(ctx, "tcp", srv.Addr()) })()
			dsn := strings.Replace(srv.ConnString(), srv.Addr(), host, 1)
			if i == 0 {
				r.from = dsn
			} else {
				r.to = dsn
			}
		}
		r.sql(r.src, source)
		r.sql(r.dst, target)
		defer r.stop()
		test(t, r)
	})
}

func (r *followRig) sql(srv *mssqltest.Server, script string) {
	r.t.Helper()
	if script == "" {
		return
	}
	if err := srv.Exec(script); err != nil {
		r.t.Fatalf("%v\n%s", err, script)
	}
}

// start runs a pipeline from the source to the target, with these fields of its input and its output.
func (r *followRig) start(input, output string) {
	r.t.Helper()
	r.log = &cdcLog{}
	b := service.NewStreamBuilder()
	b.SetLogger(slog.New(r.log))
	yaml := fmt.Sprintf("http: { enabled: false }\ninput:\n  mssql_cdc:\n    connection_string: %q\n%spipeline: { threads: 1 }\noutput:\n  mssql_bulk:\n    connection_string: %q\n%s",
		r.from, fieldLines(input), r.to, fieldLines(output))
	if err := b.SetYAML(yaml); err != nil {
		r.t.Fatalf("%v\n%s", err, yaml)
	}
	stream, err := b.Build()
	if err != nil {
		r.t.Fatal(err)
	}
	r.stream, r.done = stream, make(chan error, 1)
	go func() { r.done <- stream.Run(context.Background()) }()
}

func fieldLines(fields string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(fields), "\n", "\n    ") + "\n"
}

// stop ends the pipeline.
func (r *followRig) stop() {
	r.t.Helper()
	if r.stream == nil {
		return
	}
	if err := r.stream.StopWithin(time.Minute); err != nil {
		r.t.Errorf("stopping the pipeline: %v\n%s", err, r.log)
	}
	r.stream = nil
	if err := <-r.done; err != nil {
		r.t.Errorf("the pipeline: %v\n%s", err, r.log)
	}
	synctest.Wait()
}

// equal waits until the target has what the source has.
func (r *followRig) equal(tables ...string) {
	r.t.Helper()
	conf := verify.Config{Source: session.Config{ConnectionString: r.from}, Target: session.Config{ConnectionString: r.to}, Settle: 2 * time.Minute, List: 10}
	for _, s := range []*session.Config{&conf.Source, &conf.Target} {
		s.Dial = session.InProcess(*s)
	}
	for _, text := range tables {
		name, err := catalog.ParseName(text)
		if err != nil {
			r.t.Fatal(err)
		}
		conf.Tables = append(conf.Tables, verify.Pair{Source: name, Target: name})
	}
	report, err := verify.Run(context.Background(), conf)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, found := range report.Tables {
		if !found.Equal {
			r.t.Fatalf("%s is not what it is at the source: %+v\nlog:\n%s", found.Source, *found, r.log)
		}
	}
}

func (r *followRig) want(srv *mssqltest.Server, query string, want ...string) {
	r.t.Helper()
	rows, err := srv.Query(query)
	if err != nil {
		r.t.Fatal(err)
	}
	got := make([]string, len(rows))
	for i, row := range rows {
		got[i] = strings.Join(row, "|")
	}
	wantTexts(r.t, query, got, want...)
}

// cdcOf enables tables.
func cdcOf(tables ...string) string {
	s := "ALTER DATABASE shop SET ALLOW_SNAPSHOT_ISOLATION ON; EXEC sys.sp_cdc_enable_db;\n"
	for _, t := range tables {
		s += fmt.Sprintf("EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'%s', @role_name = NULL, @supports_net_changes = 0;\n", t)
	}
	return s
}

// A column that is added at the source, with a new capture instance, arrives at the target while changes go on.
func TestFollowSchemaChange(t *testing.T) {
	for _, format := range []string{"json", "arrow"} {
		t.Run(format, func(t *testing.T) {
			const table = "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL);"
			onFollow(t, table+"INSERT dbo.t VALUES (1, N'old'), (2, N'old');"+cdcOf("t"), table, func(t *testing.T, r *followRig) {
				r.start("stream_snapshot: true\nformat: "+format, "mode: apply\non_unknown_field: add_column")
				n := 100
				load := func(column, value string) {
					for range 20 {
						n++
						r.sql(r.src, fmt.Sprintf("INSERT dbo.t (id, v%s) VALUES (%d, N'x'%s); UPDATE dbo.t SET v = N'v%d' WHERE id IN (2, %d); DELETE dbo.t WHERE id = %d;", column, n, value, n, n-1, n-7))
						<-time.After(30 * time.Millisecond) // of the bubble
					}
				}
				load("", "")
				r.sql(r.src, "ALTER TABLE dbo.t ADD c decimal(9,2) NULL;")
				load("", "")
				r.sql(r.src, "EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N't', @capture_instance = N'dbo_t_2', @role_name = NULL, @supports_net_changes = 0;")
				load(", c", ", 1.25")
				r.sql(r.src, "UPDATE dbo.t SET c = 9.75 WHERE id = 1;")
				load(", c", ", 2.50")
				r.equal("dbo.t")
				r.want(r.dst, "SELECT v, c FROM dbo.t WHERE id IN (1, 2) ORDER BY id", "old|9.75", fmt.Sprintf("v%d|NULL", n))
				r.want(r.dst, "SELECT COUNT(*) FROM dbo.t WHERE c IS NOT NULL", fmt.Sprint(rowsWithC(r)))
			})
		})
	}
}

func rowsWithC(r *followRig) string {
	rows, err := r.src.Query("SELECT COUNT(*) FROM dbo.t WHERE c IS NOT NULL")
	if err != nil {
		r.t.Fatal(err)
	}
	return rows[0][0]
}
