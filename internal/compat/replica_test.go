package compat

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// DBZ-1642; airbyte#73706 (a geo-replica failed the check of its LSN): a replica whose maximum is below the position is waited for;
// a read-only source takes no positions, so they are elsewhere.
func TestAReplicaThatLagsIsWaitedFor(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		replica, err := r.db.server.AddReplica("r1", "127.0.0.1:1434")
		if err != nil {
			r.t.Fatal(err)
		}
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY)")
		r.enable("t")
		r.sql("INSERT dbo.t VALUES (1)")
		r.scan()
		r.start("")
		r.expect(`dbo.t insert {"id":1}`)
		r.stop() // the position is the primary's
		replica.SetLag(30 * time.Second)
		r.addr = replica.Addr()
		r.sql("INSERT dbo.t VALUES (2)")
		r.scan()
		r.restart()
		if err := r.expectNone(); err != nil {
			t.Error(err)
		}
		r.expect(`dbo.t insert {"id":2}`) // half a minute later
		if n := r.p.log.count("parked"); n > 0 {
			t.Errorf("the table was parked:\n%s", r.p.log)
		}
	})
}

// Two listeners with different lag, connections spread over both, and a switch of the primary in the middle: every change comes once
// and in order.
func TestConnectionsToServersThatLagDifferently(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		replica, err := r.db.server.AddReplica("r1", "127.0.0.1:1434")
		if err != nil {
			r.t.Fatal(err)
		}
		replica.SetLag(3 * time.Second)
		r.sql("CREATE TABLE dbo.a (id int PRIMARY KEY)\nCREATE TABLE dbo.b (id int PRIMARY KEY)")
		r.enable("a")
		r.enable("b")
		r.scan()
		var dials atomic.Int64
		primary := r.db.base.Host
		r.db.dial = func(ctx context.Context, _ string) (net.Conn, error) {
			addr := primary
			if dials.Add(1)%2 == 0 {
				addr = replica.Addr()
			}
			return r.db.server.DialContext(ctx, "tcp", addr)
		}
		r.start("batching: { count: 3 }\n")
		next := map[string]int{}
		write := func(n int) {
			for range n {
				r.sql(fmt.Sprintf("INSERT dbo.a VALUES (%d)\nINSERT dbo.b VALUES (%d)", next["w"], next["w"]))
				next["w"]++
				r.scan()
				r.pass(300 * time.Millisecond)
			}
		}
		check := func() {
			t.Helper()
			for _, m := range r.take(2*next["w"] - len(r.taken)) {
				if want := fmt.Sprintf(`{"id":%d}`, next[m.table]); string(m.body) != want {
					r.t.Fatalf("%s gave %s, want %s", m.table, m.body, want)
				}
				next[m.table]++
			}
		}
		write(20)
		check()
		// The connections are cut now and then, so that they land on the other server.
		for range 5 {
			write(4)
			r.control().Cut(nil)
			r.db.reopen(t)
			write(2)
		}
		check()
		if err := r.control().Promote(replica); err != nil {
			r.t.Fatal(err)
		}
		r.db.base.Host = replica.Addr() // the administrator writes to the new primary
		r.db.reopen(t)
		write(10)
		check()
		if err := r.expectNone(); err != nil {
			t.Error(err)
		}
		if n := r.p.log.count("parked"); n > 0 {
			t.Errorf("a table was parked:\n%s", r.p.log)
		}
	})
}

// A failover that loses what was committed last: what was read of it is in no history any more, and that is told.
func TestAFailoverWithLossIsTold(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		replica, err := r.db.server.AddReplica("r1", "127.0.0.1:1434")
		if err != nil {
			r.t.Fatal(err)
		}
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY)")
		r.enable("t")
		r.sql("INSERT dbo.t VALUES (1)")
		r.scan()
		replica.Freeze()
		r.sql("INSERT dbo.t VALUES (2)\nGO\nINSERT dbo.t VALUES (3)")
		r.scan()
		r.start("")
		r.take(3)
		if err := r.control().Promote(replica); err != nil {
			r.t.Fatal(err)
		}
		r.addr, r.db.base.Host = replica.Addr(), replica.Addr()
		r.db.reopen(t)
		for i := 10; i < 30; i++ {
			r.sql(fmt.Sprintf("INSERT dbo.t VALUES (%d)", i))
		}
		r.scan()
		if err := r.logged("history of the database has forked"); err != nil {
			t.Error(err)
		}
		if err := r.expectNone(); err != nil {
			t.Error(err)
		}
	})
}
