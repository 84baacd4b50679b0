package e2e

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/mssqlcdc/mssqltest"
)

const logTable = `CREATE TABLE dbo.log (n bigint IDENTITY PRIMARY KEY, k int NOT NULL, seq int NOT NULL)`

func writerYAML(brokers, dsn string) string {
	return fmt.Sprintf(`
input:
  redpanda:
    seed_brokers: ['%s']
    topics: [events]
    consumer_group: writers
    session_timeout: 10s
    max_yield_batch_bytes: 2KB
    commit_period: 100ms
pipeline:
  threads: 1
output:
  mssql_bulk:
    connection_string: '%s'
    table: dbo.log
    max_in_flight: 1
`, brokers, dsn)
}

// TestOrderByKeyThroughRebalances has four writers of one group load 12 partitions into a table, while the group is rebalanced
// again and again: every event must get there, and the events of a key in their order.
func TestOrderByKeyThroughRebalances(t *testing.T) {
	rebalances, keys, events := 5, 60, 60
	if long() {
		rebalances, events = 20, 400
	}
	srv := sqlServer(t, "target", logTable)
	c, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(12, "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	yaml := writerYAML(c.ListenAddrs()[0], srv.ConnString())
	var stops []func()
	for range 4 {
		stops = append(stops, stream(t, yaml))
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	random := rand.New(rand.NewPCG(1, 2))
	produce := func(first, last int) { // events first to last of every key
		for seq := first; seq < last; seq++ {
			for _, k := range random.Perm(keys) {
				body := fmt.Sprintf(`{"k":%d,"seq":%d}`, k, seq)
				cl.Produce(t.Context(), &kgo.Record{Topic: "events", Key: []byte(strconv.Itoa(k)), Value: []byte(body)}, nil)
			}
		}
		if err := cl.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stored := func() int {
		n, _ := strconv.Atoi(query(t, srv, "SELECT COUNT(*) FROM dbo.log")[0])
		return n
	}
	part := events / (rebalances + 1)
	done := 0
	for i := range rebalances {
		before := stored()
		produce(done, done+part)
		done += part
		until(t, "the writers are at work", func() bool { return stored() > before })
		w := i % len(stops) // one leaves while it is loading, and a new one joins
		stops[w]()
		stops[w] = stream(t, yaml)
	}
	produce(done, events)
	until(t, "every event is there", func() bool {
		return query(t, srv, "SELECT COUNT(*) FROM (SELECT DISTINCT k, seq FROM dbo.log) AS d")[0] == strconv.Itoa(keys*events)
	})
	for _, stop := range stops {
		stop()
	}
	checkOrder(t, srv, keys, events)
}

// checkOrder looks at the events of each key in the order in which they were stored. A batch that comes again after a rebalance
// begins anew at an earlier event and goes on from there, so each event is the next one or an earlier one, never a later one.
func checkOrder(t *testing.T, srv *mssqltest.Server, keys, events int) {
	t.Helper()
	rows, err := srv.Query("SELECT k, seq FROM dbo.log ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	again := 0
	for _, row := range rows {
		seq, _ := strconv.Atoi(row[1])
		next, known := at[row[0]]
		if !known {
			next = 0
		}
		switch {
		case seq > next:
			t.Fatalf("key %s: event %d came where %d was due", row[0], seq, next)
		case seq < next:
			again++
		}
		at[row[0]] = seq + 1
	}
	for k := range keys {
		if at[strconv.Itoa(k)] != events {
			t.Errorf("key %d ends with event %d of %d", k, at[strconv.Itoa(k)]-1, events)
		}
	}
	t.Logf("%d events, %d of them came again", len(rows), again)
	if again > 0 {
		t.Error("members that leave in order have committed everything, so nothing should come again")
	}
}
