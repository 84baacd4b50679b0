//go:build unix

package measure

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain is also the process that the tests measure.
func TestMain(m *testing.M) {
	if size := os.Getenv("MEASURE_TEST_MIB"); size != "" {
		child(size)
		return
	}
	goleak.VerifyTestMain(m)
}

// child touches so many MiB, works until 50 ms of processor time are used, and says how far it got.
func child(size string) {
	mib, err := strconv.Atoi(size)
	if err != nil {
		os.Exit(3)
	}
	b := make([]byte, mib<<20)
	for Self().User < 50*time.Millisecond {
		for i := 0; i < len(b); i += 512 {
			b[i]++
		}
	}
	os.Stdout.WriteString("touched " + size)
}

func self(t *testing.T, env string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "MEASURE_TEST_MIB="+env)
	return cmd
}

func TestAChildIsMeasuredByItself(t *testing.T) {
	if raced {
		t.Skip("the race detector takes memory of its own")
	}
	ballast := make([]byte, 200<<20) // which the child must not be charged with
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1
	}
	out, u, err := Run(self(t, "64"))
	if err != nil || out != "touched 64" {
		t.Fatalf("%q, %v", out, err)
	}
	if u.PeakRSS < 64<<20 || u.PeakRSS > 150<<20 {
		t.Errorf("a peak of %d MiB, want 64 and what a process has anyway", u.PeakRSS>>20)
	}
	if u.User < 40*time.Millisecond || u.Wall <= 0 || u.CPU() < u.User {
		t.Errorf("usage %+v", u)
	}
	if ballast[0] != 1 {
		t.Error("the ballast is gone")
	}
}

func TestAChildThatFailsSaysWhy(t *testing.T) {
	_, _, err := Run(exec.Command("sh", "-c", "echo no such table >&2; exit 4"))
	if err == nil || !strings.Contains(err.Error(), "no such table") || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("error %v", err)
	}
	if _, _, err := Run(exec.Command("/no/such/program")); err == nil {
		t.Error("a program that is not there has run")
	}
}

func TestWhatIsUsedBetweenTwoMoments(t *testing.T) {
	start := Self()
	n := 0
	for Self().Since(start).CPU() < 20*time.Millisecond {
		for range 1000 {
			n++
		}
	}
	u := Self().Since(start)
	if u.User <= 0 || u.Wall <= 0 || u.PeakRSS <= 0 || n == 0 {
		t.Errorf("usage %+v", u)
	}
	if got := (Usage{User: 3 * time.Microsecond, Sys: time.Microsecond, Wall: time.Second}); got.CPUPerRow(8) != 500 || got.RowsPerSecond(8) != 8 {
		t.Errorf("%v ns a row, %v rows/s", got.CPUPerRow(8), got.RowsPerSecond(8))
	}
}
