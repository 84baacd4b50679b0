package mssqlcdc

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/mssqlcdc/internal/body"
)

// kafkaWorld is where the examples run that need a broker: a world with one.
type kafkaWorld struct {
	*exampleWorld
	t       *testing.T
	brokers []string
}

// brokerExamples runs each example that needs a broker, or writes files, in such a world.
var brokerExamples = map[string]func(w *kafkaWorld){
	"cdc-to-kafka.yaml": func(w *kafkaWorld) {
		stop := w.start("cdc-to-kafka.yaml")
		orders := w.topic("shop.dbo.orders", 4)
		customers := w.topic("shop.dbo.customers", 5)
		stop()
		var have []string
		for _, r := range orders {
			have = append(have, fmt.Sprintf("%s %s %t", r.Key, header(r, "operation"), r.Value == nil))
			if header(r, "event_id") == "" && r.Value != nil || header(r, "table") != "orders" || header(r, "schema") != "" || time.Since(r.Timestamp).Abs() > time.Hour {
				w.t.Errorf("headers %v at %s", r.Headers, r.Timestamp)
			}
		}
		key := `{"id":9007199254740993}`
		wantTexts(w.t, "orders", have, key+" insert false", key+" update false", key+" delete false", key+" delete true")
		if n := len(slices.DeleteFunc(customers, func(r *kgo.Record) bool { return header(r, "table") != "customers" })); n != 5 {
			w.t.Errorf("%d records of customers have their table", n)
		}
	},
	"kafka-to-table.yaml": func(w *kafkaWorld) {
		defer w.start("cdc-to-kafka.yaml")()
		w.topic("shop.dbo.orders", 4)
		bad := &kgo.Record{Topic: "shop.dbo.orders", Key: []byte("bad"), Value: []byte(`{"id":3,"customer_id":1,"total":"a lot","state":"placed"}`), Headers: []kgo.RecordHeader{{Key: "operation", Value: []byte("insert")}}}
		good := &kgo.Record{Topic: "shop.dbo.orders", Key: []byte("good"), Value: []byte(`{"id":4,"customer_id":1,"total":"1.50","state":"placed"}`), Headers: bad.Headers}
		for _, r := range []*kgo.Record{bad, good} {
			r.Partition = 1 // one batch
		}
		w.produce(bad, good)
		w.exec("INSERT dbo.orders (id, customer_id, total, state) VALUES (2, 1, 7, 'placed'); UPDATE dbo.orders SET state = 'paid' WHERE id = 2;")
		defer w.start("kafka-to-table.yaml")()
		w.table("SELECT id, total, state FROM copy.orders ORDER BY id", "2|7.00|paid", "4|1.50|placed")
		dead := w.topic("shop.dead_letters", 1)
		if string(dead[0].Key) != "bad" || string(dead[0].Value) != string(bad.Value) || !strings.Contains(header(dead[0], "reason"), "total") || header(dead[0], "operation") != "insert" {
			w.t.Errorf("the dead letter is %s with %v", dead[0].Value, dead[0].Headers)
		}
	},
	"kafka-to-table-once.yaml": func(w *kafkaWorld) {
		defer w.start("cdc-to-kafka.yaml")()
		latest := ""
		for _, r := range w.topic("shop.dbo.orders", 4) {
			latest = max(latest, header(r, "event_id"))
		}
		bad := &kgo.Record{Topic: "shop.dbo.orders", Partition: 1, Value: []byte(`{"id":3,"customer_id":1,"total":"a lot","state":"placed"}`), Headers: []kgo.RecordHeader{{Key: "operation", Value: []byte("insert")}, {Key: "event_id", Value: []byte(latest + "-next")}}}
		w.produce(bad)
		w.exec("INSERT dbo.orders (id, customer_id, total, state) VALUES (2, 1, 7, 'placed');")
		stop := w.start("kafka-to-table-once.yaml")
		w.table("SELECT id, total, state FROM copy.orders ORDER BY id", "2|7.00|placed")
		w.table("SELECT COUNT(*) FROM dbo.rejected_orders", "1")
		stop()
		// Everything is read again by another group, and nothing of it is applied: the row that was taken out stays away.
		w.exec("DELETE copy.orders;")
		text, err := os.ReadFile("config/examples/kafka-to-table-once.yaml")
		if err != nil {
			w.t.Fatal(err)
		}
		defer w.startText("again", strings.Replace(string(text), "copy_orders_once", "copy_orders_again", 1))()
		w.exec("INSERT dbo.orders (id, customer_id, total, state) VALUES (5, 1, 1, 'placed');")
		w.table("SELECT id, state FROM copy.orders ORDER BY id", "5|placed")
		w.table("SELECT COUNT(*) FROM dbo.rejected_orders", "1")
	},
	"kafka-to-tables.yaml": func(w *kafkaWorld) {
		defer w.start("cdc-to-kafka.yaml")()
		w.topic("shop.dbo.customers", 5)
		w.topic("shop.dbo.orders", 4)
		w.exec("INSERT dbo.orders (id, customer_id, total, state) VALUES (2, 1, 7, 'placed');")
		defer w.start("kafka-to-tables.yaml")()
		w.table("SELECT id, name, email, notes FROM copy.customers ORDER BY id", "1|Ana Lima|ana@example.com|prefers letters")
		w.table("SELECT id, total, state FROM copy.orders ORDER BY id", "2|7.00|placed")
	},
	"cdc-routing.yaml": func(w *kafkaWorld) {
		defer w.start("cdc-routing.yaml")()
		operations := func(topic string, n int) (out []string) {
			for _, r := range w.topic(topic, n) {
				out = append(out, header(r, "operation"))
			}
			return out
		}
		wantTexts(w.t, "orders.open", operations("orders.open", 1), "insert")
		wantTexts(w.t, "orders.closed", operations("orders.closed", 2), "update", "delete")
		if got := operations("everything.else", 4); len(got) != 4 {
			w.t.Errorf("everything else is %v", got)
		}
	},
	"cdc-arrow-to-kafka.yaml": func(w *kafkaWorld) {
		defer w.start("cdc-arrow-to-kafka.yaml")()
		rows := map[string]int64{}
		for _, r := range w.topic("shop.arrow", 2) {
			records, err := body.ReadArrow(r.Value, nil)
			if err != nil {
				w.t.Fatal(err)
			}
			for _, batch := range records {
				rows[string(r.Key)+" "+header(r, "rows")] += batch.NumRows()
				batch.Release()
			}
		}
		if rows["dbo.orders 3"] != 3 || rows["dbo.customers 4"] != 4 {
			w.t.Errorf("rows by key: %v", rows)
		}
	},
	"kafka-arrow-to-table.yaml": func(w *kafkaWorld) {
		defer w.start("cdc-arrow-to-kafka.yaml")()
		w.topic("shop.arrow", 2)
		w.exec("INSERT dbo.orders (id, customer_id, total, state) VALUES (2, 1, 7, 'placed');")
		defer w.start("kafka-arrow-to-table.yaml")()
		w.table("SELECT id, name, email, notes FROM copy.customers ORDER BY id", "1|Ana Lima|ana@example.com|prefers letters")
		w.table("SELECT id, total, state FROM copy.orders ORDER BY id", "2|7.00|placed")
	},
	"kafka-debezium-to-table.yaml": func(w *kafkaWorld) {
		defer w.start("cdc-debezium.yaml")()
		w.topic("shop.dbo.orders", 4)
		w.exec("INSERT dbo.orders (id, customer_id, total, state) VALUES (2, 1, 7, 'placed'); UPDATE dbo.orders SET state = 'paid' WHERE id = 2;")
		// As Debezium writes with schemas.
		w.produce(&kgo.Record{Topic: "shop.dbo.orders", Value: []byte(`{"schema":{},"payload":{"op":"r","before":null,"after":{"id":3,"customer_id":1,"total":"2.00","state":"old"}}}`)})
		defer w.start("kafka-debezium-to-table.yaml")()
		w.table("SELECT id, total, state FROM copy.orders ORDER BY id", "2|7.00|paid", "3|2.00|old")
	},
	"cdc-snapshot-to-files.yaml": func(w *kafkaWorld) {
		w.exec("INSERT dbo.customers (id, name) VALUES (5, N'Eva'), (4, N'Ole'); INSERT dbo.orders (id, customer_id, total, state) VALUES (2, 1, 7, 'placed');")
		for range 2 { // the second run finds nothing to do
			w.finish("cdc-snapshot-to-files.yaml")
			for name, want := range map[string][]string{
				"dbo.customers.jsonl": {`{"id":1,"name":"Ana Lima","email":"ana@example.com","notes":"prefers letters"}`, `{"id":4,"name":"Ole","email":null,"notes":null}`, `{"id":5,"name":"Eva","email":null,"notes":null}`},
				"dbo.orders.jsonl":    {`{"id":2,"customer_id":1,"total":"7.00","state":"placed"}`},
			} {
				text, err := os.ReadFile(filepath.Join(w.env["OUT_DIR"], name))
				if err != nil {
					w.t.Fatal(err)
				}
				wantTexts(w.t, name, strings.Split(strings.TrimSpace(string(text)), "\n"), want...)
			}
		}
	},
	"cdc-backfill.yaml": func(w *kafkaWorld) {
		w.exec("INSERT dbo.customers (id, name, email) VALUES (5, N'Eva', 'e@example.com'), (4, N'Ole', NULL);")
		w.finish("cdc-backfill.yaml")
		var have []string
		for _, r := range w.topic("shop.dbo.customers", 2) {
			have = append(have, string(r.Key)+" "+header(r, "operation"))
		}
		wantTexts(w.t, "rows", have, `{"id":1} read`, `{"id":5} read`)
	},
}

func TestBrokerExamples(t *testing.T) {
	for name, check := range brokerExamples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(3), kfake.SeedTopics(3, "shop.dbo.orders", "shop.dbo.customers", "shop.arrow"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			w := &kafkaWorld{exampleWorld: newExampleWorld(t), t: t, brokers: c.ListenAddrs()}
			w.env["TARGET_DSN"] = w.env["MSSQL_DSN"]
			w.env["BROKERS"] = strings.Join(c.ListenAddrs(), ",")
			w.env["OUT_DIR"] = filepath.Join(t.TempDir(), "out")
			check(w)
		})
	}
}

// run begins an example; ended gets its end.
func (w *kafkaWorld) run(name string) (s *service.Stream, ended chan error) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("config/examples", name))
	if err != nil {
		w.t.Fatal(err)
	}
	return w.runText(string(text))
}

func (w *kafkaWorld) runText(text string) (s *service.Stream, ended chan error) {
	w.t.Helper()
	b := service.NewStreamBuilder()
	b.SetLogger(slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	b.SetEnvVarLookupFunc(func(name string) (string, bool) {
		v, ok := w.env[name]
		return v, ok
	})
	if err := b.SetYAML(text); err != nil {
		w.t.Fatal(err)
	}
	s, err := b.Build()
	if err != nil {
		w.t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	return s, ended
}

// start runs an example until stop is called.
func (w *kafkaWorld) start(name string) (stop func()) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("config/examples", name))
	if err != nil {
		w.t.Fatal(err)
	}
	return w.startText(name, string(text))
}

func (w *kafkaWorld) startText(name, text string) (stop func()) {
	w.t.Helper()
	s, ended := w.runText(text)
	stop = sync.OnceFunc(func() {
		if err := s.StopWithin(exampleBound); err != nil {
			w.t.Errorf("stopping %s: %v", name, err)
		}
		if err := <-ended; err != nil {
			w.t.Errorf("%s: %v", name, err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

// finish runs an example that ends by itself.
func (w *kafkaWorld) finish(name string) {
	w.t.Helper()
	_, ended := w.run(name)
	select {
	case err := <-ended:
		if err != nil {
			w.t.Fatalf("%s: %v", name, err)
		}
	case <-time.After(exampleBound):
		w.t.Fatalf("%s does not end", name)
	}
}

func (w *kafkaWorld) exec(script string) {
	w.t.Helper()
	if err := w.srv.Exec(script); err != nil {
		w.t.Fatal(err)
	}
	if err := w.srv.Control().CaptureScan(w.t.Context(), "shop"); err != nil {
		w.t.Fatal(err)
	}
}

// table waits until a query has the rows.
func (w *kafkaWorld) table(query string, want ...string) {
	w.t.Helper()
	var have []string
	for began := time.Now(); time.Since(began) < exampleBound && !slices.Equal(have, want); pass(20 * time.Millisecond) {
		rows, err := w.srv.Query(query)
		if err != nil {
			w.t.Fatal(err)
		}
		have = nil
		for _, row := range rows {
			have = append(have, strings.Join(row, "|"))
		}
	}
	wantTexts(w.t, query, have, want...)
}

func (w *kafkaWorld) client(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(w.brokers...), kgo.DisableClientMetrics(), kgo.MetadataMinAge(50*time.Millisecond), kgo.AllowAutoTopicCreation())...)
	if err != nil {
		w.t.Fatal(err)
	}
	return cl
}

func (w *kafkaWorld) produce(records ...*kgo.Record) {
	w.t.Helper()
	cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	if err := cl.ProduceSync(w.t.Context(), records...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// topic waits for n records of a topic, and returns them partition by partition.
func (w *kafkaWorld) topic(name string, n int) []*kgo.Record {
	w.t.Helper()
	cl := w.client(kgo.ConsumeTopics(name), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), exampleBound)
	defer cancel()
	var out []*kgo.Record
	for len(out) < n {
		f := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			w.t.Fatalf("%d of %d records came of topic %s", len(out), n, name)
		}
		out = append(out, f.Records()...)
	}
	slices.SortStableFunc(out, func(a, b *kgo.Record) int { return int(a.Partition - b.Partition) })
	return out
}

func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}
