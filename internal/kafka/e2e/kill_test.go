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
// kills the broker, the reader and the writer in turns. In the end both tables have the same rows, and no key ever went back to
// an older version but where a kill made the writer repeat itself.
func TestEverythingIsKilled(t *testing.T) {
	if !long() && os.Getenv("CI") != "true" {
		t.Skip("takes a minute: set CI=true, or MSSQLCDC_LONG=1 for fifty kills")
	}
	kills := 5
	if long() {
		kills = 50
	}
	b := realBroker(t)
	createTopic(t, b.addr(), "items", 4)
	source := sqlServer(t, "shop", enableItems)
	target := sqlServer(t, "target", auditItems)
	reader := newProcess(t, "reader", readerYAML(source.ConnString(), b.addr(), filepath.Join(t.TempDir(), "positions.json")))
	applier := newProcess(t, "applier", applierYAML(target.ConnString(), b.addr(), ""))
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
		switch i % 3 {
		case 0:
			b.kill()
			b.start()
		case 1:
			reader.kill()
			reader.start()
		case 2:
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
	steps, back := versions(t, target)
	t.Logf("%d kills: %d rows are equal; of %d steps in the target %d repeat an older version", kills, len(want), steps, back)
	if back > steps/2 {
		t.Errorf("%d of %d steps go back", back, steps)
	}
}

// change inserts, updates and deletes rows until ctx is over. The versions of a key only grow, over deletes as well.
func change(ctx context.Context, srv *mssqltest.Server) error {
	const keys = 40
	random := rand.New(rand.NewPCG(3, 4))
	there := map[int]bool{}
	for version := 1; ctx.Err() == nil; version++ {
		var b strings.Builder
		b.WriteString("BEGIN TRAN;\n")
		for range 1 + random.IntN(5) {
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

// versions walks through what was done to the target, and counts the steps at which a key went to an older version.
func versions(t *testing.T, srv *mssqltest.Server) (steps, back int) {
	t.Helper()
	at := map[string]int{}
	for _, row := range query(t, srv, "SELECT id, version FROM dbo.audit ORDER BY n") {
		id, text, _ := strings.Cut(row, "|")
		version, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		steps++
		if version < at[id] {
			back++
		}
		at[id] = version
	}
	return steps, back
}
