package sqlerr

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	e := New(1205, 57)
	want := "Transaction (Process ID 57) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction."
	if e.Number != 1205 || e.Class != 13 || e.State != 51 || e.Message != want || !e.EndsBatch || !e.DoomsTran {
		t.Errorf("New(1205) = %+v", e)
	}
	if e := New(547, "INSERT", "CHECK", "c", "d", "dbo.t", ""); e.State != 1 && e.State != 0 {
		t.Errorf("state of 547: %d", e.State)
	}
	if e := New(1); e.Number != 50000 || !strings.Contains(e.Message, "no text for error 1") {
		t.Errorf("New(1) = %+v", e)
	}
	if e := Newf(4321, 16, "about %s", "it"); e.Number != 4321 || e.Class != 16 || e.Message != "about it" {
		t.Errorf("Newf = %+v", e)
	}
}

func TestIs(t *testing.T) {
	wrapped := fmt.Errorf("running: %w", New(208, "t"))
	if !Is(wrapped, 208) || Is(wrapped, 207) || Is(errors.New("x"), 208) || Is(nil, 208) {
		t.Error("Is does not see through a wrapped error")
	}
}

// TestMessages holds the table to what a client may see: a severity, a text, verbs that fmt knows.
func TestMessages(t *testing.T) {
	for n := range messages {
		class, text, ok := Text(n)
		if !ok || !Has(n) || text == "" || class > 25 {
			t.Errorf("message %d: %d %q %t", n, class, text, ok)
		}
		rest := text
		for {
			i := strings.IndexByte(rest, '%')
			if i < 0 {
				break
			}
			rest = rest[i+1:]
			rest = strings.TrimLeft(rest, "02")
			if rest == "" || !strings.ContainsRune("sdvxX", rune(rest[0])) {
				t.Errorf("message %d has an unknown verb: %q", n, text)
				break
			}
		}
	}
	// The numbers that public clients branch on.
	for _, n := range []int32{
		102, 207, 208, 229, 262, 297, 300, 313, 515, 547, 916, 1205, 1222, 1505, 2601, 2627, 2628, 2714, 2812, 3902, 3903, 3930, 3952, 3960, 4060, 8114, 8115, 8134, 8152, 18456,
		22830, 22837, 22838, 22840, 22842, 22843, 22850, 22854, 22857, 22858, 22859, 22860, 22863, 22864, 22871, 22891, 22892, 22901, 22902, 22904, 22905, 22906, 22907, 22910, 22911,
		22916, 22920, 22925, 22926, 22927, 22928, 22929, 22930, 22931, 22932, 22938, 22939, 22943, 22957, 22960, 22962, 22963, 22964, 22965, 22969, 22972, 22975, 22976, 50000,
	} {
		if !Has(n) {
			t.Errorf("no text for error %d", n)
		}
	}
}
