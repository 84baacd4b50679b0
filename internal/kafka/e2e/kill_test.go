package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

const itemsTable = `CREATE TABLE dbo.items (id int PRIMARY KEY, version int NOT NULL, name nvarchar(100) NULL);
`

const enableItems = itemsTable + `EXEC sys.sp_cdc_enable_db;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'items', @role_name = NULL, @supports_net_changes = 0;
`

// auditItems writes down what is done to the target, in its order.
const auditItems = itemsTable + `CREATE TABLE dbo.audit (n bigint IDENTITY PRIMARY KEY, id int NOT NULL, version int NOT NULL, op char(1) NOT NULL);
GO
CREATE TRIGGER dbo.items_audit ON dbo.items AFTER INSERT, UPDATE, DELETE AS
BEGIN
  INSERT dbo.audit (id, version, op) SELECT id, version, 'w' FROM inserted;
  INSERT dbo.audit (id, version, op) SELECT d.id, d.version, 'd' FROM deleted AS d WHERE d.id NOT IN (SELECT id FROM inserted);
END
GO
`

func readerYAML(dsn, broker, positions string) string {
	return fmt.Sprintf(`
input:
  mssql_cdc:
    connection_string: '%s'
    include: ['dbo\.items']
    checkpoint_file: '%s'
    poll_interval: 50ms
pipeline:
  threads: 1
output:
  redpanda:
    seed_brokers: ['%s']
    topic: items
    key: ${! @key.or("") }
    metadata:
      include_patterns: ['^(operation|key|event_id|unchanged_columns)$']
    max_in_flight: 1
`, dsn, positions, broker)
}

func applierYAML(dsn, broker, more string) string {
	return fmt.Sprintf(`
input:
  redpanda:
    seed_brokers: ['%s']
    topics: [items]
    consumer_group: appliers
    instance_id: applier-1
    session_timeout: 6s
    heartbeat_interval: 1s
    commit_period: 200ms
    max_yield_batch_bytes: 64KB
pipeline:
  threads: 1
output:
  mssql_bulk:
    connection_string: '%s'
    table: dbo.items
    mode: apply
    max_in_flight: 1
%s`, broker, dsn, more)
}

// TestEverythingIsKilled has a table change all the time, its changes go through a broker into another server's table, and
// kills the broker, the reader and the writer in turns. In the end both tables have the same rows. Without a fence the target may
// repeat older versions after a kill. With the broker's offsets as tokens nothing that is read again from the broker is applied
// twice; with the event ids, nothing that the reader writes again either, so that no key ever goes back.
func TestEverythingIsKilled(t *testing.T) {
	if !long() && os.Getenv("CI") != "true" {
		t.Skip("takes a minute: set CI=true, or MSSQLCDC_LONG=1 for fifty kills each")
	}
	all := []string{"broker", "reader", "writer"}
	for _, tt := range []struct {
		name, more string
		kill       []string
		once       bool
		brief      bool // also where time is short
	}{
		{"at least once", "", all, false, false},
		{"once by offset", "    exactly_once: { enabled: true }\n    reject_table: dbo.rejected\n", []string{"broker", "writer"}, true, false},
		{"once by event id", "    exactly_once: { enabled: true, channel: '${! @kafka_topic }/${! @kafka_partition }', offset_token: '${! @event_id }' }\n    reject_table: dbo.rejected\n", all, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kills := 5
			if long() {
				kills = 50
			} else if !tt.brief {
				t.Skip("set MSSQLCDC_LONG=1")
			}
			steps, again := killed(t, tt.more, tt.kill, kills)
			t.Logf("%d kills; of %d writes in the target %d were done before", kills, steps, again)
			if tt.once && again > 0 {
				t.Errorf("%d of %d steps were done before", again, steps)
			}
		})
	}
}

// killed runs it all, and returns what was done to the target.
func killed(t *testing.T, more string, victims []string, kills int) (steps, again int) {
	b := realBroker(t)
	createTopic(t, b.addr(), "items", 4)
	source := sqlServer(t, "shop", enableItems)
	target := sqlServer(t, "target", auditItems)
	reader := newProcess(t, "reader", readerYAML(source.ConnString(), b.addr(), filepath.Join(t.TempDir(), "positions.json")))
	applier := newProcess(t, "applier", applierYAML(target.ConnString(), b.addr(), more))
	reader.start()
	applier.start()

	changing, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- change(changing, source) }()
	random := rand.New(rand.NewPCG(7, uint64(kills)))
	audited := func() int {
		n, _ := strconv.Atoi(query(t, target, "SELECT COUNT(*) FROM dbo.audit")[0])
		return n
	}
	for i := range kills {
		before := audited()
		until(t, "the target changes", func() bool { return audited() > before })
		pass(time.Duration(random.IntN(300)) * time.Millisecond)
		switch victims[i%len(victims)] {
		case "broker":
			b.kill()
			b.start()
		case "reader":
			reader.kill()
			reader.start()
		case "writer":
			applier.kill()
			applier.start()
		}
	}
	before := audited()
	until(t, "the target changes after the last kill", func() bool { return audited() > before })
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	const rows = "SELECT id, version, name FROM dbo.items ORDER BY id"
	want := query(t, source, rows)
	until(t, "both tables are equal", func() bool { return slices.Equal(query(t, target, rows), want) })
	reader.kill()
	applier.kill()
	if len(want) == 0 {
		t.Error("both tables are empty")
	}
	return versions(t, target)
}

// change inserts, updates and deletes rows until ctx is over. The versions of a key only grow, over deletes as well.
func change(ctx context.Context, srv *mssqltest.Server) error {
	const keys = 40
	random := rand.New(rand.NewPCG(3, 4))
	there := map[int]bool{}
	for version := 1; ctx.Err() == nil; {
		var b strings.Builder
		b.WriteString("BEGIN TRAN;\n")
		for range 1 + random.IntN(5) {
			version++
			switch id := random.IntN(keys); {
			case !there[id]:
				there[id] = true
				fmt.Fprintf(&b, "INSERT dbo.items (id, version, name) VALUES (%d, %d, N'item %d');\n", id, version, id)
			case random.IntN(5) == 0:
				delete(there, id)
				fmt.Fprintf(&b, "DELETE dbo.items WHERE id = %d;\n", id)
			default:
				fmt.Fprintf(&b, "UPDATE dbo.items SET version = %d, name = %s WHERE id = %d;\n", version, []string{"NULL", "N'läuft'"}[random.IntN(2)], id)
			}
		}
		b.WriteString("COMMIT;\n")
		if err := srv.Exec(b.String()); err != nil {
			return err
		}
		pass(2 * time.Millisecond)
	}
	return nil
}

// versions walks through what was done to the target, and counts the steps that were done before: a row written with a version
// that its key had or was beyond.
func versions(t *testing.T, srv *mssqltest.Server) (steps, again int) {
	t.Helper()
	at := map[string]int{}
	for _, row := range query(t, srv, "SELECT id, version FROM dbo.audit WHERE op = 'w' ORDER BY n") {
		id, text, _ := strings.Cut(row, "|")
		version, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		steps++
		if version <= at[id] {
			again++
		}
		at[id] = version
	}
	return steps, again
}
