package verify

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var hosts atomic.Int64

// rig is a source and a target on servers of their own.
type rig struct {
	t        *testing.T
	src, dst *mssqltest.Server
	conf     Config
}

func newRig(t *testing.T, source, target string) *rig {
	t.Helper()
	r := &rig{t: t}
	r.src, r.conf.Source = server(t, "shop", source)
	r.dst, r.conf.Target = server(t, "copy", target)
	r.conf.Settle, r.conf.List = 0, DefaultList
	return r
}

func server(t *testing.T, database, script string) (*mssqltest.Server, session.Config) {
	t.Helper()
	srv := mssqltest.Start(t, mssqltest.Config{Database: database})
	host := fmt.Sprintf("verify-%d", hosts.Add(1))
	addr := srv.Addr()
	t.Cleanup(session.RegisterInProcess(host, func(ctx context.Context) (net.Conn, error) { return srv.DialContext(ctx, "tcp", addr) }))
	conf := session.Config{ConnectionString: strings.Replace(srv.ConnString(), addr, host, 1)}
	conf.Dial = session.InProcess(conf)
	if script != "" {
		if err := srv.Exec(script); err != nil {
			t.Fatal(err)
		}
	}
	return srv, conf
}

func (r *rig) tables(pairs ...string) *rig {
	r.t.Helper()
	r.conf.Tables = nil
	for _, p := range pairs {
		from, to, found := strings.Cut(p, "=")
		if !found {
			to = from
		}
		var pair Pair
		var err error
		if pair.Source, err = catalog.ParseName(from); err == nil {
			pair.Target, err = catalog.ParseName(to)
		}
		if err != nil {
			r.t.Fatal(err)
		}
		r.conf.Tables = append(r.conf.Tables, pair)
	}
	return r
}

func (r *rig) exec(srv *mssqltest.Server, script string) {
	r.t.Helper()
	if err := srv.Exec(script); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) run() *Report {
	r.t.Helper()
	report, err := Run(r.t.Context(), r.conf)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

// one is the report on the only table.
func (r *rig) one() *Table {
	r.t.Helper()
	return r.run().Tables[0]
}

// fill makes a script that inserts rows 1 to n in statements of 1000.
func fill(table string, n int, row func(i int) string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if i%1000 == 1 {
			fmt.Fprintf(&b, ";\nINSERT INTO %s VALUES ", table)
		} else {
			b.WriteString(", ")
		}
		b.WriteString(row(i))
	}
	b.WriteString(";")
	return strings.TrimPrefix(b.String(), ";")
}

// text writes a report as the tests compare it.
func (d Difference) text() string {
	s := d.What + " " + d.Key + d.Row
	for _, c := range d.Columns {
		s += fmt.Sprintf(" %s:%s/%s", c.Column, c.Source, c.Target)
	}
	return s
}

func wantRows(t *testing.T, got *Table, want ...string) {
	t.Helper()
	var texts []string
	for _, d := range got.Rows {
		texts = append(texts, d.text())
	}
	if strings.Join(texts, "\n") != strings.Join(want, "\n") {
		t.Errorf("differences:\n%s\nwant:\n%s\n(%+v)", strings.Join(texts, "\n"), strings.Join(want, "\n"), got)
	}
	if got.Error == "" && got.Equal != (len(want) == 0) {
		t.Errorf("equal: %v with %d differences", got.Equal, len(want))
	}
}

const quick = 20 * time.Millisecond
