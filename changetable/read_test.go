package changetable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
)

// drawChanges draws transactions of several commands with inserts, deletes and
// updates of several rows, in the order of the change table.
func drawChanges(t *rapid.T) (rows []change, last int) {
	last = 1
	id := 0
	for range rapid.IntRange(0, 6).Draw(t, "transactions") {
		last += rapid.IntRange(1, 3).Draw(t, "step")
		for cmd := range rapid.IntRange(1, 4).Draw(t, "commands") {
			update := rapid.Bool().Draw(t, "update")
			for seq := range rapid.IntRange(1, 5).Draw(t, "rows") {
				ops := []int{Insert}
				if update {
					ops = []int{Before, After}
				}
				for _, op := range ops {
					id++
					rows = append(rows, change{lsn: last, cmd: cmd + 1, seq: seq + 1, op: op, id: id, text: "v", mask: []byte{3}})
				}
			}
		}
	}
	return rows, last
}

func readAllPages(t *rapid.T, r *Reader, from checkpoint.Position, high int, limits Limits) (pages []*Page, got []int) {
	for {
		p, err := r.Read(context.Background(), from, lsn(high), limits)
		if err != nil {
			t.Fatalf("Read after %s: %v", from, err)
		}
		pages = append(pages, p)
		got = append(got, ids(p)...)
		if p.AtHigh {
			return pages, got
		}
		if p.Rows == 0 {
			t.Fatalf("Read after %s: an empty page that is not at the watermark", from)
		}
		if p.Next.Compare(from) <= 0 {
			t.Fatalf("Read after %s goes on at %s", from, p.Next)
		}
		from = p.Next
	}
}

func idsOf(rows []change) (out []int) {
	for _, c := range rows {
		out = append(out, c.id)
	}
	return out
}

func TestPagesGiveEveryChangeOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, last := drawChanges(t)
		f := &fake{rows: rows, start: 2, max: last + rapid.IntRange(0, 2).Draw(t, "idle")}
		whole := rapid.Bool().Draw(t, "old change table")
		var mode func(*catalog.Instance)
		if whole {
			mode = func(i *catalog.Instance) {
				i.HasCommandID, i.Order = false, []string{colStartLSN, colSeqVal, colOperation}
			}
			for i := range f.rows {
				f.rows[i].noCommand = true
			}
		}
		r := newTestReader(t, f, mode)
		limits := Limits{Rows: rapid.IntRange(1, 8).Draw(t, "limit"), Bytes: rapid.SampledFrom([]int{1, 200, 1 << 20}).Draw(t, "bytes")}
		pages, got := readAllPages(t, r, begin(), f.max, limits)
		if diff := cmp.Diff(idsOf(rows), got); diff != "" {
			t.Fatalf("limits %+v: %s", limits, diff)
		}
		for _, p := range pages {
			if p.Rows > 0 && p.Operation(p.Rows-1) == Before {
				t.Fatalf("a page ends between the rows of an update: %v", ids(p))
			}
			if whole && !p.Next.Done {
				t.Fatalf("a page of an old change table ends inside of a transaction: %s", p.Next)
			}
			if !whole && limits.Bytes > 1000 && p.Rows > max(limits.Rows, minRows) {
				t.Fatalf("a page has %d rows with limit %d", p.Rows, limits.Rows)
			}
			for row := range p.Rows {
				if c := p.Commit(row); c.LSN != p.LSN(row) || c.End.IsZero() {
					t.Fatalf("row %d of LSN %s has commit %+v", row, p.LSN(row), c)
				}
				checkResume(t, f, r, rows, p, row, limits)
			}
			p.Release()
		}
		if n := pages[len(pages)-1].Next; n.LSN != lsn(f.max) || !n.Done || n.Proof.StartLSN != lsn(f.max) {
			t.Fatalf("the last page goes on at %s", n)
		}
	})
}

// checkResume reads again from the position of a row: what comes is everything
// after it, and of what is before it at most the update or the transaction that
// the row is inside of.
func checkResume(t *rapid.T, f *fake, r *Reader, rows []change, p *Page, row int, limits Limits) {
	pos := p.Position(row)
	if !pos.Done && pos.Operation == Before {
		t.Fatalf("the position of row %d is between the rows of an update: %s", row, pos)
	}
	id := ids(p)[row]
	_, again := readAllPages(t, r, pos, f.max, limits)
	want := idsOf(rows)
	at := slices.Index(want, id)
	if !slices.Equal(again, want[len(want)-len(again):]) {
		t.Fatalf("reading again from %s gives %v, which is no tail of %v", pos, again, want)
	}
	missing := len(want) - at - 1 - len(again)
	if missing > 0 {
		t.Fatalf("reading again from %s loses %d changes after %d", pos, missing, id)
	}
	for _, c := range rows[len(rows)-len(again) : at+1] {
		if c.lsn != rows[at].lsn {
			t.Fatalf("the position of change %d, %s, repeats transaction %d", id, pos, c.lsn)
		}
		if !r.plan.whole && (rows[at].op != Before || c.id != id) {
			t.Fatalf("the position of change %d, %s, repeats change %d", id, pos, c.id)
		}
	}
}

func TestPagingReadsEachRowOnce(t *testing.T) {
	const n = 20000
	f := &fake{start: 2, max: 2}
	for i := range n {
		f.rows = append(f.rows, change{lsn: 2, cmd: 1 + i/7000, seq: i, op: Insert, id: i, text: "some text", mask: []byte{3}})
	}
	r := newTestReader(t, f, nil)
	from := begin()
	rows, pages := 0, 0
	for {
		p, err := r.Read(context.Background(), from, lsn(2), Limits{Rows: 1000})
		if err != nil {
			t.Fatal(err)
		}
		rows += p.Rows
		pages++
		from = p.Next
		p.Release()
		if p.AtHigh {
			break
		}
	}
	if rows != n {
		t.Errorf("read %d rows, want %d", rows, n)
	}
	// One row proves the server, and three come with every page.
	if extra := f.returned - n - 4*pages; extra != 0 {
		t.Errorf("the server sent %d rows more than the pages hold", extra)
	}
	for _, text := range f.texts {
		if strings.Contains(text, " OR ") {
			t.Fatalf("a condition with OR reads a transaction from its beginning:\n%s", text)
		}
	}
}

func TestByteLimitCutsAndThenAsksForLess(t *testing.T) {
	f := &fake{start: 2, max: 2}
	for i := range 600 {
		f.rows = append(f.rows, change{lsn: 2, cmd: 1, seq: i, op: Insert, id: i, text: strings.Repeat("x", 1000), mask: []byte{3}})
	}
	r := newTestReader(t, f, nil)
	from := begin()
	for i := range 3 {
		p, err := r.Read(context.Background(), from, lsn(2), Limits{Rows: 1000, Bytes: 20_000})
		if err != nil {
			t.Fatal(err)
		}
		if p.Bytes > 22_000 || p.Rows < 15 || p.AtHigh {
			t.Errorf("page %d: %d rows, %d bytes, at the watermark %v", i, p.Rows, p.Bytes, p.AtHigh)
		}
		from = p.Next
		p.Release()
	}
	if f.closed > 1 {
		t.Errorf("%d requests were given up before their end, want the first only", f.closed)
	}
}

func TestReadRefusesAServerThatIsBehind(t *testing.T) {
	f := &fake{start: 2, max: 4, rows: []change{{lsn: 3, cmd: 1, seq: 1, op: Insert, id: 1}}}
	_, err := newTestReader(t, f, nil).Read(context.Background(), begin(), lsn(5), Limits{})
	var behind *BehindError
	if !errors.As(err, &behind) || behind.Want != lsn(5) || behind.Server != lsn(4) || behind.Table != "dbo.t" {
		t.Fatalf("Read: %v", err)
	}
}

func TestCleanupBetweenCheckAndReadIsAGap(t *testing.T) {
	f := &fake{start: 2, max: 5, rows: []change{{lsn: 3, cmd: 1, seq: 1, op: Insert, id: 1}, {lsn: 5, cmd: 1, seq: 1, op: Insert, id: 2}}}
	f.before = func(n int, _ string) error {
		if n == 0 { // cleanup raises start_lsn, then deletes, before the page is read
			f.start, f.rows = 4, f.rows[1:]
		}
		return nil
	}
	_, err := newTestReader(t, f, nil).Read(context.Background(), begin(), lsn(5), Limits{})
	var gap *GapError
	if !errors.As(err, &gap) || gap.Start != lsn(4) || gap.Position != lsn(1) {
		t.Fatalf("Read: %v", err)
	}
	for _, want := range []string{"dbo.t", lsn(4).String(), lsn(1).String(), "sp_cdc_change_job"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

func TestCleanupUpToThePositionIsNoGap(t *testing.T) {
	f := &fake{start: 4, max: 5, rows: []change{{lsn: 5, cmd: 1, seq: 1, op: Insert, id: 2}}}
	r := newTestReader(t, f, nil)
	for _, tt := range []struct {
		name string
		from checkpoint.Position
		gap  bool
	}{
		{"done right below the start", checkpoint.Position{LSN: lsn(3), Done: true}, false},
		{"done two below", checkpoint.Position{LSN: lsn(2), Done: true}, true},
		{"inside of a transaction below", checkpoint.Position{LSN: lsn(3), CommandID: 1, SeqVal: lsn(1), Operation: 2}, true},
		{"inside of the first transaction", checkpoint.Position{LSN: lsn(4), CommandID: 1, SeqVal: lsn(1), Operation: 2}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := r.Read(context.Background(), tt.from, lsn(5), Limits{})
			var gap *GapError
			if errors.As(err, &gap) != tt.gap {
				t.Fatalf("Read after %s: %v, want a gap: %v", tt.from, err, tt.gap)
			}
			if err == nil {
				p.Release()
			}
		})
	}
}

func TestRowsThatMovedAreReadAgain(t *testing.T) {
	f := &fake{start: 2, max: 3, rows: []change{{lsn: 3, cmd: 1, seq: 1, op: Insert, id: 1}}}
	f.before = func(n int, _ string) error {
		if n < rereads {
			return sqlError(601)
		}
		return nil
	}
	p, err := newTestReader(t, f, nil).Read(context.Background(), begin(), lsn(3), Limits{})
	if err != nil || p.Rows != 1 {
		t.Fatalf("Read: %+v, %v", p, err)
	}
	p.Release()
}

func TestAFailedReadGivesNothingAndCanBeRepeated(t *testing.T) {
	f := &fake{start: 2, max: 3, rows: []change{{lsn: 3, cmd: 1, seq: 1, op: Insert, id: 1}, {lsn: 3, cmd: 1, seq: 2, op: Insert, id: 2}}}
	f.before = func(n int, _ string) error {
		if n == 1 {
			return sqlError(1205) // after the page, when it is checked
		}
		return nil
	}
	r := newTestReader(t, f, nil)
	if p, err := r.Read(context.Background(), begin(), lsn(3), Limits{}); err == nil {
		t.Fatalf("Read: %+v", p)
	}
	p, err := r.Read(context.Background(), begin(), lsn(3), Limits{})
	if err != nil || !slices.Equal(ids(p), []int{1, 2}) {
		t.Fatalf("Read again: %v, %v", p, err)
	}
	p.Release()
}

func TestSnapshotIsolationThatWasTurnedOffIsNotNeeded(t *testing.T) {
	f := &fake{start: 2, max: 3, rows: []change{{lsn: 3, cmd: 1, seq: 1, op: Insert, id: 1}}}
	f.before = func(_ int, text string) error {
		if strings.Contains(text, "LEVEL SNAPSHOT") {
			return sqlError(3952)
		}
		return nil
	}
	r := newTestReader(t, f, nil)
	r.opts.Isolation = Snapshot
	p, err := r.Read(context.Background(), begin(), lsn(3), Limits{})
	if err != nil || p.Rows != 1 {
		t.Fatalf("Read: %v", err)
	}
	p.Release()
	if last := f.texts[1]; !strings.Contains(last, "WITH (NOLOCK)") {
		t.Errorf("the second attempt is not with NOLOCK:\n%s", last)
	}
}

func TestTheServersErrorsSayWhatTheyMean(t *testing.T) {
	for _, tt := range []struct {
		number int32
		as     any
	}{
		{208, new(*InstanceGoneError)},
		{22920, new(*InstanceGoneError)},
		{229, new(*PermissionError)},
	} {
		t.Run(fmt.Sprint(tt.number), func(t *testing.T) {
			f := &fake{start: 2, max: 3, before: func(int, string) error { return sqlError(tt.number) }}
			_, err := newTestReader(t, f, nil).Read(context.Background(), begin(), lsn(3), Limits{})
			if !errors.As(err, tt.as) || !strings.Contains(err.Error(), "dbo.t") {
				t.Errorf("Read: %v", err)
			}
		})
	}
	f := &fake{start: 2, max: 3, gone: true}
	_, err := newTestReader(t, f, nil).Read(context.Background(), begin(), lsn(3), Limits{})
	var gone *InstanceGoneError
	if !errors.As(err, &gone) {
		t.Errorf("Read of a disabled instance: %v", err)
	}
}

func TestSuspectTextIsReadAgainExactly(t *testing.T) {
	row := change{lsn: 3, cmd: 1, seq: 1, op: Insert, id: 1, text: "a\uFFFDb", mask: []byte{3}}
	for _, tt := range []struct {
		name  string
		exact []byte
		ok    bool
	}{
		{"a replacement character that is there", []byte{'a', 0, 0xfd, 0xff, 'b', 0}, true},
		{"a lone surrogate", []byte{'a', 0, 0x00, 0xd8, 'b', 0}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{start: 2, max: 3, rows: []change{row}, exact: tt.exact}
			p, err := newTestReader(t, f, nil).Read(context.Background(), begin(), lsn(3), Limits{})
			var value *ValueError
			if errors.As(err, &value) == tt.ok {
				t.Fatalf("Read: %v, want a value error: %v", err, !tt.ok)
			}
			if tt.ok {
				p.Release()
				return
			}
			for _, want := range []string{"dbo.t", "column text", "U+D800", lsn(3).String()} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not name %s: %v", want, err)
				}
			}
		})
	}
}

func TestReadRefusesPositionsThatAreNotItsOwn(t *testing.T) {
	r := newTestReader(t, &fake{start: 2, max: 9}, nil)
	old := newTestReader(t, &fake{start: 2, max: 9}, func(i *catalog.Instance) {
		i.HasCommandID = false
		i.Order = []string{colStartLSN, colSeqVal, colOperation}
	})
	for _, tt := range []struct {
		name string
		r    *Reader
		from checkpoint.Position
	}{
		{"inside of a transaction of another instance", r, checkpoint.Position{Instance: "v2", LSN: lsn(3), CommandID: 1, SeqVal: lsn(1), Operation: 2}},
		{"none", r, checkpoint.Position{}},
		{"above the watermark", r, checkpoint.Position{LSN: lsn(10), Done: true}},
		{"inside of a transaction that cannot be split", old, checkpoint.Position{LSN: lsn(3), SeqVal: lsn(1), Operation: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if p, err := tt.r.Read(context.Background(), tt.from, lsn(9), Limits{}); err == nil {
				t.Errorf("Read after %s gave %+v", tt.from, p)
			}
		})
	}
}

func TestAnInstanceGoesOnWhereAnotherEnded(t *testing.T) {
	f := &fake{start: 4, max: 5, rows: []change{{lsn: 5, cmd: 1, seq: 1, op: Insert, id: 1}}}
	p, err := newTestReader(t, f, nil).Read(context.Background(), checkpoint.Position{Instance: "v1", LSN: lsn(4), Done: true}, lsn(5), Limits{})
	if err != nil || p.Rows != 1 || p.Next.Instance != "dbo_t" {
		t.Fatalf("Read: %+v, %v", p, err)
	}
	p.Release()
}

func TestEarliest(t *testing.T) {
	r := newTestReader(t, &fake{start: 256, max: 300}, nil)
	pos, err := r.Earliest(context.Background())
	if err != nil || pos.LSN.Next() != lsn(256) || !pos.Done || pos.Instance != "dbo_t" {
		t.Errorf("Earliest = %s, %v", pos, err)
	}
	if _, err := newTestReader(t, &fake{}, nil).Earliest(context.Background()); !errors.Is(err, ErrNotStarted) {
		t.Errorf("Earliest of an instance that was not handled: %v", err)
	}
}

func TestCommitTimesAreInstants(t *testing.T) {
	loc, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	r := newTestReader(t, &fake{start: 2, max: 3, rows: []change{{lsn: 3, cmd: 1, seq: 1, op: Insert, id: 1}}}, nil)
	r.opts.Location = loc
	p, err := r.Read(context.Background(), begin(), lsn(3), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	c := p.Commit(0)
	if want := epoch.Add(3*time.Second - 9*time.Hour); !c.End.Equal(want) {
		t.Errorf("commit time %s, want %s", c.End, want)
	}
	if !c.Proof().EndTime.Equal(epoch.Add(3 * time.Second)) {
		t.Errorf("the proof has %s, not the server's wall clock", c.Proof().EndTime)
	}
}
