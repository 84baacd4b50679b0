package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// redpanda-data/connect PR #4304: two calls of Connect at the same time started two readers, and the input hung.
func TestConnectTwiceStartsOneReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mssqltest.Start(t, mssqltest.Config{})
		if err := srv.Exec("EXEC sys.sp_cdc_enable_db; CREATE TABLE dbo.a (id int PRIMARY KEY); EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = NULL; INSERT dbo.a VALUES (1), (2)"); err != nil {
			t.Fatal(err)
		}
		if err := srv.Control().CaptureScan(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		addr := srv.Addr()
		const host = "connect-twice.invalid"
		defer session.RegisterInProcess(host, func(ctx context.Context) (net.Conn, error) { return srv.DialContext(ctx, "tcp", addr) })()
		conf, err := cdcSpec().ParseYAML(fmt.Sprintf("connection_string: %q\ncheckpoint_file: %q\n",
			strings.Replace(srv.ConnString(), addr, host, 1), filepath.Join(t.TempDir(), "positions.json")), nil)
		if err != nil {
			t.Fatal(err)
		}
		in, err := newCDCInput(conf, service.MockResources())
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- in.Connect(t.Context()) }()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Errorf("Connect: %v", err)
			}
		}
		messages, ack, err := in.ReadBatch(t.Context())
		if err != nil || len(messages) != 2 {
			t.Fatalf("ReadBatch gave %d messages, %v", len(messages), err)
		}
		if err := ack(t.Context(), nil); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if messages, _, err := in.ReadBatch(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second batch came: %d messages, %v", len(messages), err)
		}
		if n := len(srv.Control().Connections()); n > 2 { // one watches, one has read
			t.Errorf("%d connections are open: %+v", n, srv.Control().Connections())
		}
		if err := in.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
