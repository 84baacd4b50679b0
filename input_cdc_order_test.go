package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// orderBound is how long a run of an order test may take; it ends as soon as everything has come.
const orderBound = 2 * time.Minute

// orderRun is a pipeline whose input is watched.
type orderRun struct {
	log    *orderLog
	output *moodyOutput
	stream *service.Stream
	ended  chan error
	dead   atomic.Bool // the process is cut off from the server
}

// orderConfig is what varies between runs.
type orderConfig struct {
	ordering    string
	maxInFlight int
	late        bool   // the output takes eight batches at a time and answers some of them late
	gather      bool   // the output gathers larger batches, for a short time
	store       string // more fields: where positions are kept
}

func (c orderConfig) global() bool { return c.ordering == "global" }

func (c orderConfig) String() string {
	name := fmt.Sprintf("%s max_in_flight=%d", c.ordering, c.maxInFlight)
	if c.late {
		name += " late answers"
	}
	if c.gather {
		name += " gathered"
	}
	return name
}

// startOrderRun runs the real component through Benthos with the pipeline settings that docs/delivery.md asks for.
func startOrderRun(t *testing.T, shop *orderShop, c orderConfig, seed uint64) *orderRun {
	t.Helper()
	r := &orderRun{log: &orderLog{}, output: newMoodyOutput(seed, c.late), ended: make(chan error, 1)}
	outputs, policy := 1, service.BatchPolicy{}
	if c.late {
		outputs = 8
	}
	if c.gather {
		policy = service.BatchPolicy{Count: 100, Period: "20ms"}
	}
	env := service.GlobalEnvironment().Clone()
	err := errors.Join(
		env.RegisterBatchInput("watched", cdcSpec(), func(conf *service.ParsedConfig, mgr *service.Resources) (service.BatchInput, error) {
			in, err := newCDCInput(conf, mgr)
			return watchedInput{in, r.log}, err
		}),
		env.RegisterBatchOutput("moody", service.NewConfigSpec(), func(*service.ParsedConfig, *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
			return r.output, policy, outputs, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	b := env.NewStreamBuilder()
	b.SetLogger(slog.New(expectedRefusals{slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})}))
	if err := b.SetYAML(fmt.Sprintf(`
input:
  watched:
    connection_string: %s
    ordering: %s
    max_in_flight: %d
    poll_interval: 5ms
    batching: {count: 25}
    metadata: [seqval, command_id]
%s
pipeline: {threads: 1}
output: {moody: {}}
`, shop.connect(t, &r.dead), c.ordering, c.maxInFlight, c.store)); err != nil {
		t.Fatal(err)
	}
	if r.stream, err = b.Build(); err != nil {
		t.Fatal(err)
	}
	go func() { r.ended <- r.stream.Run(context.Background()) }()
	return r
}

// wait looks at the log until done says so.
func (r *orderRun) wait(t *testing.T, what string, done func() (bool, error)) {
	t.Helper()
	deadline := time.NewTimer(orderBound)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if err != nil {
			t.Error(err)
		}
		if ok || err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Errorf("waited %s for %s", orderBound, what)
			return
		case err := <-r.ended:
			r.ended <- err
			t.Errorf("the pipeline ended while waiting for %s: %v", what, err)
			return
		}
	}
}

func (r *orderRun) stop(t *testing.T) {
	t.Helper()
	if err := r.stream.StopWithin(10 * time.Second); err != nil {
		t.Errorf("stopping: %v", err)
	}
	<-r.ended
}

// judge applies the rules to the log so far.
func (r *orderRun) judge(truth *orderTruth, c orderConfig, start map[string]int) (*orderVerdict, error) {
	events, err := r.log.snapshot()
	if err != nil {
		return nil, err
	}
	return judgeOrder(events, truth, c.maxInFlight, start)
}

// TestOrderWithRefusals changes five tables at random while mssql_cdc streams them to an output that refuses one batch in
// twenty, and verifies the position of every change: rules at the border of the component (judgeOrder) and what came to the
// output (judgeArrival). With MSSQLCDC_LONG=1 it takes many more seeds and transactions. What it did is printed by
//
//	go test -count=1 -v -run TestOrderWithRefusals .
func TestOrderWithRefusals(t *testing.T) {
	seeds, transactions := uint64(1), 120
	if os.Getenv("MSSQLCDC_LONG") != "" {
		seeds, transactions = 20, 400
	}
	for _, c := range []orderConfig{
		{ordering: "table"}, {ordering: "table", maxInFlight: 1}, {ordering: "table", late: true}, {ordering: "table", maxInFlight: 3, late: true},
		{ordering: "global"}, {ordering: "global", maxInFlight: 1}, {ordering: "global", late: true}, {ordering: "global", maxInFlight: 3, late: true},
		{ordering: "global", gather: true},
	} {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s seed=%d", c, seed), func(t *testing.T) {
				t.Parallel()
				c := c
				c.store = "    checkpoint_file: " + filepath.Join(t.TempDir(), "positions.json")
				shop := newOrderShop(t, seed)
				r := startOrderRun(t, shop, c, seed)
				defer r.stop(t)
				if err := shop.write(t.Context(), transactions); err != nil {
					t.Fatal(err)
				}
				truth, err := shop.truth(t.Context(), c.global())
				if err != nil {
					t.Fatal(err)
				}
				var v *orderVerdict
				r.wait(t, "every change", func() (done bool, err error) {
					if v, err = r.judge(truth, c, nil); err != nil {
						return false, err
					}
					return v.complete(truth), nil
				})
				if t.Failed() {
					return
				}
				if v.refusals < 4 || v.returns < 4 {
					t.Errorf("only %d refusals and %d returns: the test shows nothing", v.refusals, v.returns)
				}
				if !c.late {
					if err := judgeArrival(r.output.all(), truth, c.maxInFlight == 1); err != nil {
						t.Error(err)
					}
				}
				t.Logf("%d changes in %d batches, %d refused, went back %d times: in order", len(truth.places), v.batches, v.refusals, v.returns)
			})
		}
	}
}
