package mssqlcdc

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// A tombstone follows each delete of a table with a key, with the delete's key and event_id and no body.
func TestCDCTombstones(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY, v int NULL")
		r.table("heap", "id int NOT NULL, v int NULL")
		run := r.start("tombstones: true\nordering: global")
		r.sql("INSERT dbo.k VALUES (1, 1), (2, 2); INSERT dbo.heap VALUES (1, 1); UPDATE dbo.k SET v = 3; UPDATE dbo.k SET id = 9 WHERE id = 2; DELETE dbo.heap; DELETE dbo.k WHERE id = 1")
		all := run.take(11)
		wantTexts(t, "operations", operations(all), "insert", "insert", "insert", "update", "update", "delete", "delete", "insert", "delete", "delete", "delete")
		for i, m := range all {
			if stone := i == 6 || i == 10; m.null != stone {
				t.Fatalf("message %d, %v: without a body is %v, want %v", i, m, m.null, stone)
			}
			if !m.null {
				continue
			}
			before := all[i-1]
			if m.text("key") != before.text("key") || m.text("event_id") != before.text("event_id") || m.text("key") == "" {
				t.Errorf("the tombstone of %v has key %v and event_id %v", before, m.meta["key"], m.meta["event_id"])
			}
			if m.keys() != eightKeys {
				t.Errorf("a tombstone has the metadata %s", m.keys())
			}
		}
		run.nothing(cdcQuiet)
	})
}

func TestCDCWithoutTombstones(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY")
		run := r.start("")
		r.sql("INSERT dbo.k VALUES (1); DELETE dbo.k")
		wantTexts(t, "operations", operations(run.take(2)), "insert", "delete")
		run.nothing(cdcQuiet)
	})
}

// A missing body is still missing behind a pipeline, so that an output that passes the bytes on writes a null.
func TestCDCTombstonesGoThroughAPipeline(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY")
		r.sql("INSERT dbo.k VALUES (1); DELETE dbo.k")
		b := service.NewStreamBuilder()
		b.SetLogger(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
		if err := b.SetYAML("input:\n  mssql_cdc:\n    connection_string: '" + r.dsn() + "'\n    checkpoint_file: '" + r.file + "'\n    tombstones: true\n" +
			"pipeline: {threads: 1, processors: [{mutation: 'meta seen = \"yes\"'}]}\n"); err != nil {
			t.Fatal(err)
		}
		var came []*cdcMessage
		if err := b.AddBatchConsumerFunc(func(_ context.Context, batch service.MessageBatch) error {
			came = append(came, newCDCMessages(t, batch)...)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		s, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- s.Run(context.Background()) }()
		pass(cdcQuiet)
		if err := s.StopWithin(cdcBound); err != nil {
			t.Error(err)
		}
		<-ended
		synctest.Wait()
		if nulls := column(came, func(m *cdcMessage) bool { return m.null }); !slices.Equal(nulls, []bool{false, false, true}) {
			t.Errorf("without a body behind the pipeline: %v, want only the third", nulls)
		}
		for _, m := range came {
			if m.text("seen") != "yes" {
				t.Errorf("%v did not pass the pipeline", m)
			}
		}
	})
}
