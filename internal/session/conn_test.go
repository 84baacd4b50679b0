package session

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// silent is a server that reads and never answers.
func silent(t *testing.T) (dial func(context.Context, string, string) (net.Conn, error), stop func()) {
	t.Helper()
	var servers []net.Conn
	done := make(chan struct{})
	running := 0
	dial = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		servers = append(servers, server)
		running++
		go func() {
			_, _ = io.Copy(io.Discard, server) // ends when either side closes
			done <- struct{}{}
		}()
		return client, nil
	}
	return dial, func() {
		for _, s := range servers {
			_ = s.Close()
		}
		for range running {
			<-done
		}
	}
}

func TestOpenIsBoundedByItsContextAgainstASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := silent(t)
		defer stop()
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := Open(ctx, Config{ConnectionString: "sqlserver://u:hunter2@192.0.2.1", Dial: dial})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Open: %v, want a deadline", err)
		}
		if took := time.Since(start); took != 500*time.Millisecond {
			t.Errorf("Open took %s", took)
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open shows the password: %v", err)
		}
	})
}

func TestOpenHasABoundOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := silent(t)
		defer stop()
		start := time.Now()
		_, err := Open(context.Background(), Config{ConnectionString: "sqlserver://u:p@192.0.2.1", Dial: dial})
		if !IsTransient(err) || time.Since(start) != defaultConnectTimeout {
			t.Errorf("Open: %v after %s, want a transient error after %s", err, time.Since(start), defaultConnectTimeout)
		}
	})
}

func TestOpenStopsWhenItIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := silent(t)
		defer stop()
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		_, err := Open(ctx, Config{ConnectionString: "sqlserver://u:p@somewhere", Dial: dial})
		if !errors.Is(err, context.Canceled) || IsTransient(err) {
			t.Errorf("Open: %v, want a cancellation", err)
		}
	})
}

func TestOpenNamesTheServerItCannotReach(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no way") }
	_, err := Open(context.Background(), Config{ConnectionString: `server=host\inst,1500;user id=u;password=pw`, Dial: dial})
	if err == nil || !strings.Contains(err.Error(), `connecting to host\inst,1500`) {
		t.Errorf("Open: %v", err)
	}
}
