package progress

import (
	"strings"
	"testing"
	"time"
)

func TestNoDisplayWithoutATerminal(t *testing.T) {
	var out strings.Builder
	defer Install(For(&out, false))()
	if Report("dbo.t", 1, 10, false) || out.Len() > 0 {
		t.Errorf("something that is no terminal got %q", out.String())
	}
}

func TestDisplayDrawsBars(t *testing.T) {
	var out strings.Builder
	d := For(&out, true)
	now := time.Unix(1000, 0)
	d.now = func() time.Time { return now }
	remove := Install(d)
	defer remove()
	step := func(after time.Duration, table string, rows, total int64, finished bool, want string) {
		t.Helper()
		out.Reset()
		now = now.Add(after)
		if !Report(table, rows, total, finished) {
			t.Fatal("there is no display")
		}
		if out.String() != want {
			t.Errorf("after %d of %d rows of %s:\n got  %q\n want %q", rows, total, table, out.String(), want)
		}
	}
	step(0, "dbo.a", 0, 1000, false, "\r\x1b[Kdbo.a [....................] 0% 0 of about 1000 rows")
	step(time.Second, "dbo.a", 250, 1000, false, "\r\x1b[Kdbo.a [#####...............] 25% 250 of about 1000 rows, 250 rows/s, 3s left")
	step(100*time.Millisecond, "dbo.a", 260, 1000, false, "") // not for every page
	step(900*time.Millisecond, "dbo.b", 50, 100, false, "\r\x1b[Kdbo.a [#####...............] 26% 260 of about 1000 rows, 130 rows/s, 6s left  and 1 more")
	step(time.Second, "dbo.a", 1200, 1000, false, "\r\x1b[Kdbo.a [###################.] 99% 1200 of about 1200 rows, 400 rows/s  and 1 more")
	step(time.Second, "dbo.a", 1200, 1000, true, "\r\x1b[Kdbo.a: 1200 rows in 4s, 300 rows/s\n\r\x1b[Kdbo.b [##########..........] 50% 50 of about 100 rows")
	step(time.Second, "dbo.b", 80, 100, true, "\r\x1b[Kdbo.b: 80 rows in 3s, 10 rows/s\n\r\x1b[K") // those of the beginning do not count as speed
	step(0, "dbo.empty", 0, 0, true, "")
	remove()
	if Report("dbo.a", 1, 1, false) {
		t.Error("the display is still there")
	}
}
