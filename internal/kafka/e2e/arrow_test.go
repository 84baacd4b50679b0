package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/mssqlcdc/mssqltest"
)

// kinds has a column of each kind of type.
const kinds = `CREATE TABLE dbo.kinds (
  id int NOT NULL PRIMARY KEY, flag bit NULL, tiny tinyint NULL, small smallint NULL, big bigint NULL, price decimal(38,10) NULL, cash money NULL, half real NULL, whole float NULL,
  day date NULL, at time(7) NULL, old datetime NULL, moment datetime2(7) NULL, zoned datetimeoffset(7) NULL, code varchar(20) NULL, name nvarchar(200) NULL, long nvarchar(max) NULL,
  bytes varbinary(2000) NULL, guid uniqueidentifier NULL, doc xml NULL);
`

const fillKinds = `INSERT dbo.kinds VALUES
 (1, 1, 255, -32768, 9223372036854775807, 9999999999999999999999999999.9999999999, -922337203685477.5808, 0.1, 1.7976931348623157E308,
  '9999-12-31', '23:59:59.9999999', '1753-01-01T00:00:00.000', '2026-03-01T01:02:03.1234567', '2026-03-01T01:02:03.1234567+13:45', 'plain', N'naïve ☂ 𝄞', REPLICATE(N'ä', 9000),
  0x00FF10, '6F9619FF-8B86-D011-B42D-00C04FC964FF', N'<a>1</a>'),
 (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
 (3, 0, 0, 0, -1, 0, 0, -0.5, 0, '0001-01-01', '00:00:00', '2026-03-01T00:00:00.997', '1900-01-01T00:00:00', '1999-12-31T23:59:59.9999999-08:00', '', N'', N'', 0x, '00000000-0000-0000-0000-000000000000', N'<b/>');
`

// widen adds rows of 1.4 KB until several records are as large as records of Arrow get.
const widen = `DECLARE @i int = 10;
WHILE @i < 3010
BEGIN
  INSERT dbo.kinds (id, name, bytes) VALUES (@i, N'row', CAST(REPLICATE('x', 1400) AS varbinary(2000)));
  SET @i = @i + 1;
END
UPDATE dbo.kinds SET name = N'changed', moment = '2200-01-01T00:00:00.0000001' WHERE id IN (1, 2, 500);
DELETE dbo.kinds WHERE id IN (3, 600);
`

// TestArrowThroughKafka moves a table with every kind of type as Arrow through a broker: the values must be equal, and every record must
// fit what brokers and our output take by default, which is 1 MiB.
func TestArrowThroughKafka(t *testing.T) {
	for _, tt := range []struct {
		name   string
		broker func(t *testing.T) string
	}{
		{"a broker in this process", func(t *testing.T) string {
			c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "arrow"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			return c.ListenAddrs()[0]
		}},
		{"a real broker", func(t *testing.T) string {
			if !long() && os.Getenv("CI") != "true" {
				t.Skip("set CI=true")
			}
			b := realBroker(t)
			createTopic(t, b.addr(), "arrow", 1)
			return b.addr()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { arrowThrough(t, tt.broker(t)) })
	}
}

func arrowThrough(t *testing.T, broker string) {
	source := sqlServer(t, "shop", kinds+`EXEC sys.sp_cdc_enable_db;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'kinds', @role_name = NULL, @supports_net_changes = 0;
`)
	target := sqlServer(t, "target", kinds)
	for _, script := range []string{fillKinds, widen} {
		if err := source.Exec(script); err != nil {
			t.Fatal(err)
		}
	}
	if err := source.Control().CaptureScan(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	stream(t, fmt.Sprintf(`
input:
  mssql_cdc:
    connection_string: '%s'
    checkpoint_file: '%s'
    format: arrow
    batching: { count: 5000, period: 1s }
pipeline:
  threads: 1
output:
  redpanda:
    seed_brokers: ['%s']
    topic: arrow
    key: ${! @database_schema }.${! @table }
    metadata: { include_patterns: ['^(table|rows)$'] }
    compression: none
    max_in_flight: 1
`, source.ConnString(), filepath.Join(t.TempDir(), "positions.json"), broker))
	stream(t, fmt.Sprintf(`
input:
  redpanda:
    seed_brokers: ['%s']
    topics: [arrow]
    consumer_group: arrow
    max_yield_batch_bytes: 4MB
pipeline:
  threads: 1
output:
  mssql_bulk:
    connection_string: '%s'
    table: dbo.${! @table }
    mode: apply
    max_in_flight: 1
`, broker, target.ConnString()))
	want := rowsOfKinds(t, source)
	if len(want) != 3001 {
		t.Fatalf("the source has %d rows", len(want))
	}
	until(t, "both tables have the same rows", func() bool { return slices.Equal(rowsOfKinds(t, target), want) })
	largest := 0
	for _, r := range records(t, broker, "arrow", 5) {
		largest = max(largest, len(r.Value))
	}
	if largest < 800_000 || largest > 900_000 {
		t.Errorf("the largest record has %d bytes, want nearly 900,000", largest)
	}
}

func rowsOfKinds(t *testing.T, srv *mssqltest.Server) []string {
	t.Helper()
	return query(t, srv, `SELECT id, flag, tiny, small, big, price, cash, half, whole, day, at, old, moment, zoned, code, name, long, bytes, guid, CAST(doc AS nvarchar(max)) FROM dbo.kinds ORDER BY id`)
}

// records reads at least n records of a topic.
func records(t *testing.T, broker, topic string, n int) (out []*kgo.Record) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.DisableClientMetrics(), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	for len(out) < n && ctx.Err() == nil {
		out = append(out, cl.PollFetches(ctx).Records()...)
	}
	return out
}
