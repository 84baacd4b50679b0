package mssqlcdc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOrderOverRestarts stops the pipeline in the middle of random transactions, when some batches are out whose
// acknowledgements never get through, and starts it again with the same positions. Stopped in order, every lane goes on with
// the first change that was not acknowledged; killed, with what was saved last, a little before. Nothing is lost, and what
// is repeated comes in order. What it did is printed by
//
//	go test -count=1 -v -run TestOrderOverRestarts .
func TestOrderOverRestarts(t *testing.T) {
	seeds, long := uint64(1), os.Getenv("MSSQLCDC_LONG") != ""
	if long {
		seeds = 20
	}
	for _, store := range []string{"file", "file, killed", "table", "table, killed"} {
		for _, c := range []orderConfig{{ordering: "table"}, {ordering: "table", maxInFlight: 1}, {ordering: "global", late: true}, {ordering: "global", maxInFlight: 1}} {
			if !long && c.maxInFlight == 1 && store != "file" {
				continue
			}
			for seed := range seeds {
				t.Run(fmt.Sprintf("%s %s seed=%d", store, c, seed), func(t *testing.T) {
					t.Parallel()
					restart(t, c, store, seed)
				})
			}
		}
	}
}

func restart(t *testing.T, c orderConfig, store string, seed uint64) {
	file := filepath.Join(t.TempDir(), "positions.json")
	c.store = "    checkpoint_file: " + file
	kind, _, killed := strings.Cut(store, ", ")
	if kind == "table" {
		c.store = ""
	}
	shop := newOrderShop(t, seed)
	write := func(n int) {
		t.Helper()
		if err := shop.write(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	write(40)
	first := startOrderRun(t, shop, c, seed)
	first.wait(t, "some batches", func() (bool, error) { return len(first.output.all()) >= 15, nil })
	saved := func() (n int) { // positions
		if kind == "file" {
			text, _ := os.ReadFile(file) // not there before the first save
			return bytes.Count(text, []byte("0x"))
		}
		rows, err := shop.srv.Query("SELECT COUNT(*) FROM dbo.mssql_cdc_checkpoint WHERE position LIKE N'%0x%'")
		if err != nil {
			t.Error(err)
			return 0
		}
		_, _ = fmt.Sscan(rows[0][0], &n)
		return n
	}
	if killed { // only what was saved counts, and that happens once a second
		first.wait(t, "saved positions", func() (bool, error) { return saved() > 0, nil })
	}
	write(20)
	first.log.cut()
	write(20)
	first.wait(t, "a batch without an acknowledgement", func() (bool, error) { return first.log.cutOff() > 0, nil })
	if killed {
		first.kill(t, shop, file)
	} else {
		first.stop(t)
	}
	write(20)
	second := startOrderRun(t, shop, c, seed+1000)
	defer second.stop(t)
	write(20)
	truth, err := shop.truth(t.Context(), c.global())
	if err != nil {
		t.Fatal(err)
	}
	before, err := first.judge(truth, c, nil)
	if err != nil {
		t.Fatalf("before the restart: %v", err)
	}
	start := map[string]int{}
	acknowledged := 0
	for lane := range truth.lanes {
		start[lane] = before.prefix(lane)
		acknowledged += start[lane]
	}
	var after *orderVerdict
	second.wait(t, "the rest of the changes", func() (done bool, err error) {
		if after, err = second.judge(truth, c, start); err != nil {
			return false, fmt.Errorf("after the restart: %w", err)
		}
		return after.complete(truth), nil
	})
	if t.Failed() {
		return
	}
	repeated := 0
	for lane, at := range after.first {
		switch {
		case at != start[lane] && !killed:
			t.Errorf("lane %q was acknowledged up to %d, and went on at %d", lane, start[lane], at)
		case at > 0 && !before.boundary(lane, at):
			t.Errorf("lane %q went on at %d, which was not the end of a batch", lane, at)
		}
		if l := before.lines[lane]; l != nil {
			repeated += l.reached - at
		}
	}
	t.Logf("%d of %d changes were acknowledged before the restart, %d came again", acknowledged, len(truth.places), repeated)
}

// kill ends a run as a process that dies does: nothing is saved any more, and the lease of the table runs out later, which
// the test does not wait for.
func (r *orderRun) kill(t *testing.T, shop *orderShop, file string) {
	t.Helper()
	saved, fileErr := os.ReadFile(file)
	r.dead.Store(true)
	shop.srv.Control().Cut(nil)
	_ = r.stream.StopWithin(10 * time.Second) // a dead process says nothing
	<-r.ended
	if fileErr == nil {
		if err := os.WriteFile(file, saved, 0o600); err != nil {
			t.Error(err)
		}
		return
	}
	if err := shop.srv.Exec("UPDATE dbo.mssql_cdc_checkpoint SET expires_at = DATEADD(second, -1, SYSUTCDATETIME()) WHERE source_table = N''"); err != nil {
		t.Error(err)
	}
}

// boundary says that a batch of the lane ended before that place.
func (v *orderVerdict) boundary(lane string, place int) bool {
	l := v.lines[lane]
	if l == nil {
		return place == v.start[lane]
	}
	for _, g := range l.batches {
		if g.to == place || g.from == place {
			return true
		}
	}
	return false
}
