package capture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// rig is a stand-in server in a bubble of virtual time, with what a test does to it and what a flow gives out of it.
type rig struct {
	t     *testing.T
	srv   *mssqltest.Server
	ctl   *mssqltest.Control
	cfg   Config
	seen  *recorder
	store *memoryStore
	truth map[string][]string // changes by table, in order, as note has found them

	mu    sync.Mutex
	rng   *rand.Rand
	addrs []string // listeners that connections are spread over
	down  bool
	flows []*running
}

// bubble runs a test in virtual time against a server that is made for it.
func bubble(t *testing.T, server mssqltest.Config, test func(*rig)) {
	t.Helper()
	srv, err := mssqltest.New(server)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		defer srv.Close()
		if err := srv.ListenMemory(); err != nil {
			t.Fatal(err)
		}
		m, err := catalog.NewMatcher(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{
			t: t, srv: srv, ctl: srv.Control(), seen: newRecorder(), store: newMemoryStore(), truth: map[string][]string{},
			rng: rand.New(rand.NewPCG(1, 2)), addrs: []string{srv.Addr()},
		}
		r.cfg = Config{
			Session: session.Config{ConnectionString: srv.ConnString(), Dial: r.dial}, Tables: m, Store: r.store,
			MaxRows: 10, MaxBytes: 1 << 20, Limit: 1000, MaxConnections: 4, PollInterval: 200 * time.Millisecond,
			Heartbeat: 10 * time.Second, Observer: r.seen,
		}
		defer r.stopAll()
		test(r)
	})
}

// dial connects to one of the listeners, chosen at random, or to none while the server is down.
func (r *rig) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	r.mu.Lock()
	addr, down := r.addrs[r.rng.IntN(len(r.addrs))], r.down
	r.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return r.srv.DialContext(ctx, network, addr)
}

// setDown makes the server unreachable, or reachable again.
func (r *rig) setDown(down bool) {
	r.mu.Lock()
	r.down = down
	r.mu.Unlock()
	if down {
		r.ctl.Cut(nil)
	}
}

// replica adds a listener that connections are spread over.
func (r *rig) replica(lag time.Duration) *mssqltest.Replica {
	r.t.Helper()
	rep, err := r.srv.AddReplica("r1", "127.0.0.1:1434")
	if err != nil {
		r.t.Fatal(err)
	}
	rep.SetLag(lag)
	r.mu.Lock()
	r.addrs = append(r.addrs, rep.Addr())
	r.mu.Unlock()
	return rep
}

// exec runs a script, after a tick of the clock: transactions of one instant cannot be told apart by cleanup.
func (r *rig) exec(format string, args ...any) {
	r.t.Helper()
	pass(10 * time.Millisecond)
	if err := r.srv.Exec(fmt.Sprintf(format, args...)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) query(format string, args ...any) [][]string {
	r.t.Helper()
	rows, err := r.srv.Query(fmt.Sprintf(format, args...))
	if err != nil {
		r.t.Fatal(err)
	}
	return rows
}

// tables makes tables of an id and a value, enabled for CDC.
func (r *rig) tables(names ...string) {
	r.t.Helper()
	r.exec("IF (SELECT is_cdc_enabled FROM sys.databases WHERE database_id = DB_ID()) = 0 EXEC sys.sp_cdc_enable_db")
	for _, n := range names {
		r.table(n, "dbo_"+n)
	}
}

// table makes one table with an instance of that name.
func (r *rig) table(name, instance string) {
	r.t.Helper()
	r.exec("CREATE TABLE dbo.%s (id int NOT NULL PRIMARY KEY, v int NULL)", name)
	r.enable(name, instance)
}

// enable gives a table a capture instance, which the capture job has handled afterwards if it runs.
func (r *rig) enable(table, instance string) {
	r.t.Helper()
	r.exec("EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'%s', @capture_instance = N'%s', @role_name = NULL, @supports_net_changes = 0", table, instance)
	synctest.Wait()
}

func (r *rig) disable(table, instance string) {
	r.t.Helper()
	r.exec("EXEC sys.sp_cdc_disable_table @source_schema = N'dbo', @source_name = N'%s', @capture_instance = N'%s'", table, instance)
}

// insert commits rows from-to of a table, in transactions of size rows.
func (r *rig) insert(table string, from, to, size int) {
	r.t.Helper()
	for from <= to {
		var b strings.Builder
		n := min(size, to-from+1)
		for i := range n {
			sep := ", "
			if i == 0 {
				sep = ""
			}
			fmt.Fprintf(&b, "%s(%d, %d)", sep, from+i, 10*(from+i))
		}
		r.exec("INSERT dbo.%s (id, v) VALUES %s", table, b.String())
		from += n
	}
}

// note adds what the change tables have to the truth, so that later cleanup does not take it out of it. A table's truth
// is extended by what comes after its last change.
func (r *rig) note(tables ...string) {
	r.t.Helper()
	r.scan()
	for _, table := range tables {
		instance := "dbo_" + table
		for _, c := range r.changes(instance, false) {
			if have := r.truth[table]; len(have) == 0 || have[len(have)-1] < c {
				r.truth[table] = append(have, c)
			}
		}
	}
}

// scan waits until the capture job has handled everything.
func (r *rig) scan() {
	r.t.Helper()
	synctest.Wait()
	if err := r.ctl.CaptureScan(r.t.Context(), ""); err != nil {
		r.t.Fatal(err)
	}
}

// changes reads a change table as consumers write changes down.
func (r *rig) changes(instance string, old bool) (out []string) {
	r.t.Helper()
	command := "t.__$command_id"
	if old {
		command = "0"
	}
	for _, row := range r.query(`SELECT CONVERT(varchar(30), t.__$start_lsn, 2), %s, CONVERT(varchar(30), t.__$seqval, 2), t.__$operation, t.id, t.v
		FROM cdc.%s_CT AS t ORDER BY 1, 2, 3, 4`, command, instance) {
		out = append(out, changeText(row[0], row[1], row[2], row[3], row[4], row[5]))
	}
	return out
}

// changeText names a change so that texts sort as changes do, and shows its row.
func changeText(lsn, command, seq, op, id, v string) string {
	return fmt.Sprintf("%s %6s %s %s id=%s v=%s", strings.ToLower(lsn), command, strings.ToLower(seq), op, id, v)
}

// lsns are the commit LSNs of a change table, as cleanup wants them.
func (r *rig) lsns(instance string) (out []string) {
	r.t.Helper()
	for _, row := range r.query("SELECT DISTINCT CONVERT(varchar(30), t.__$start_lsn, 1) FROM cdc.%s_CT AS t ORDER BY 1", instance) {
		out = append(out, row[0])
	}
	return out
}

// cleanup removes what an instance has below an LSN.
func (r *rig) cleanup(instance, below string) {
	r.t.Helper()
	if err := r.ctl.Cleanup("", instance, below, 3); err != nil {
		r.t.Fatal(err)
	}
}

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// until lets time pass until something is so, or fails the test after a bound of virtual time.
func (r *rig) until(bound time.Duration, what string, ok func() bool) {
	r.t.Helper()
	for began, step := time.Now(), 50*time.Millisecond; ; pass(step) {
		if time.Since(began) > 5*time.Second {
			step = time.Second
		}
		synctest.Wait()
		if ok() {
			return
		}
		if time.Since(began) > bound {
			r.t.Fatalf("after %s of virtual time: not %s\n%s", bound, what, r.seen.String())
		}
	}
}

// position is the stored position of a table.
func (r *rig) position(table string) checkpoint.Position { return r.store.get("dbo." + table) }

func (r *rig) stopAll() {
	for _, f := range r.flows {
		f.close()
	}
}
