package checkpoint_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// connSession is a session of the store on a connection.
type connSession struct{ *session.Conn }

func (s connSession) Query(ctx context.Context, text, declaration string, args ...driver.Value) (out [][]driver.Value, err error) {
	rows, err := s.Conn.Query(ctx, text, declaration, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		row := make([]driver.Value, len(rows.Columns()))
		if err := rows.Next(row); err != nil {
			if errors.Is(err, io.EOF) {
				return out, nil
			}
			return nil, err
		}
		out = append(out, row)
	}
}

func openConn(ctx context.Context, s *mssqltest.Server) (connSession, error) {
	c, err := session.Open(ctx, session.Config{ConnectionString: s.ConnString(), Dial: s.DialContext})
	return connSession{c}, err
}

func store(t *testing.T, s *mssqltest.Server, owner string, change ...func(*checkpoint.SQLConfig)) *checkpoint.SQLStore {
	t.Helper()
	cfg := checkpoint.SQLConfig{Table: "[dbo].[mssql_cdc_checkpoint]", Key: "k", Owner: owner,
		Open: func(ctx context.Context) (checkpoint.Session, error) {
			c, err := openConn(ctx, s)
			if err != nil {
				return nil, err
			}
			return c, nil
		}}
	for _, c := range change {
		c(&cfg)
	}
	st, err := checkpoint.NewSQLStore(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func query(t *testing.T, s *mssqltest.Server, text string) [][]driver.Value {
	t.Helper()
	c, err := openConn(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rows, err := c.Query(t.Context(), text, "")
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func load(t *testing.T, st *checkpoint.SQLStore) map[string]checkpoint.Position {
	t.Helper()
	p, err := st.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func closeStore(t *testing.T, st *checkpoint.SQLStore) {
	t.Helper()
	if err := st.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func position(n byte) checkpoint.Position {
	return checkpoint.Position{
		Instance: "dbo_é", LSN: checkpoint.LSN{0, 0, 0x8d, 0x8f, 0, 0x90, 0x9d, 0x81, 0x80, n}, CommandID: 3, SeqVal: checkpoint.LSN{9: n}, Operation: 4,
		Proof: checkpoint.Proof{StartLSN: checkpoint.LSN{9: n}, TranID: []byte{0x80, 0xff}, EndTime: time.Date(2024, 2, 29, 23, 59, 59, 997_000_000, time.UTC)},
	}
}

func equal(a, b map[string]checkpoint.Position) bool {
	return maps.EqualFunc(a, b, checkpoint.Position.Equal)
}

// The T-SQL does what the model in the other tests says, in databases that compare names by other rules, too.
func TestSQLStoreOnAServer(t *testing.T) {
	for _, collation := range []string{"SQL_Latin1_General_CP1_CI_AS", "SQL_Latin1_General_CP1_CS_AS", "Turkish_CI_AS", "Latin1_General_BIN2"} {
		t.Run(collation, func(t *testing.T) {
			s := mssqltest.Start(t, mssqltest.Config{Collation: collation})
			a := store(t, s, "a")
			if got := load(t, a); len(got) != 0 {
				t.Fatalf("Load of a new table = %v", got)
			}
			want := map[string]checkpoint.Position{"[dbo].[T]": position(1), "[dbo].[t]": position(2), "[my schema].[Or'der ]]$1.x]": position(3)}
			if err := a.Save(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			want["[dbo].[t]"] = position(9)
			if err := a.Save(t.Context(), map[string]checkpoint.Position{"[dbo].[t]": position(9)}); err != nil {
				t.Fatal(err)
			}
			if got := load(t, a); !equal(got, want) {
				t.Errorf("Load = %v, want %v", got, want)
			}
			closeStore(t, a)
			b := store(t, s, "b")
			defer closeStore(t, b)
			if got := load(t, b); !equal(got, want) {
				t.Errorf("Load of another process = %v, want %v", got, want)
			}
			if rows := query(t, s, "SELECT epoch FROM dbo.mssql_cdc_checkpoint WHERE source_table = N''"); len(rows) != 1 || rows[0][0] != int64(3) {
				t.Errorf("the lease rows are %v, want one of epoch 3", rows)
			}
		})
	}
}

func TestSQLStoreManyTablesOnAServer(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	a := store(t, s, "a")
	defer closeStore(t, a)
	load(t, a)
	want := map[string]checkpoint.Position{}
	for i := range 300 {
		want[fmt.Sprintf("[dbo].[t%d]", i)] = position(byte(1 + i%200))
	}
	for range 2 {
		if err := a.Save(t.Context(), want); err != nil {
			t.Fatal(err)
		}
	}
	if got := load(t, a); !equal(got, want) {
		t.Errorf("%d positions, want the %d that were saved", len(got), len(want))
	}
}

// An old epoch changes nothing, and leaves no transaction behind.
func TestOldEpochOnAServer(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	a := store(t, s, "a")
	defer closeStore(t, a)
	load(t, a)
	if err := a.Save(t.Context(), map[string]checkpoint.Position{"[dbo].[t]": position(1)}); err != nil {
		t.Fatal(err)
	}
	query(t, s, "UPDATE dbo.mssql_cdc_checkpoint SET owner = N'b', epoch = epoch + 1 WHERE source_table = N''")
	if err := a.Save(t.Context(), map[string]checkpoint.Position{"[dbo].[t]": position(2)}); !errors.Is(err, checkpoint.ErrLeaseLost) {
		t.Errorf("Save with an old epoch: %v, want ErrLeaseLost", err)
	}
	rows := query(t, s, "SELECT position FROM dbo.mssql_cdc_checkpoint WHERE source_table <> N''")
	if len(rows) != 1 || rows[0][0] != position(1).String() {
		t.Errorf("positions are %v", rows)
	}
}

// A standby takes over when the lease of a process that went away has run out by the server's clock.
func TestStandbyOnAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mssqltest.Start(t, mssqltest.Config{})
		a := store(t, s, "gone")
		load(t, a)
		if err := a.Save(t.Context(), map[string]checkpoint.Position{"[dbo].[t]": position(1)}); err != nil {
			t.Fatal(err)
		}
		query(t, s, "UPDATE dbo.mssql_cdc_checkpoint SET owner = N'somebody else' WHERE source_table = N''")
		var told []string
		b := store(t, s, "b", func(c *checkpoint.SQLConfig) {
			c.OnStandby = func(owner string, _ time.Duration) { told = append(told, owner) }
		})
		began := time.Now()
		if got := load(t, b); !equal(got, map[string]checkpoint.Position{"[dbo].[t]": position(1)}) {
			t.Errorf("Load = %v", got)
		}
		if waited := time.Since(began); waited < 20*time.Second || waited > 40*time.Second {
			t.Errorf("the standby waited %v, want about the lease of 30 s", waited)
		}
		if len(told) != 1 || told[0] != "somebody else" {
			t.Errorf("told of %q", told)
		}
		closeStore(t, b)
		closeStore(t, a)
		s.Close()
	})
}

func TestCreatingTheTableIsRefused(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	a := store(t, s, "a", func(c *checkpoint.SQLConfig) { c.Table = "[nowhere].[positions]" })
	defer closeStore(t, a)
	if _, err := a.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "CREATE TABLE [nowhere].[positions] (pipeline") {
		t.Errorf("Load with a schema that does not exist: %v, want an error with the statement", err)
	}
}

// Of processes that start at the same time, one gets the lease.
func TestOneOfManyGetsTheLease(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	const n = 4
	stores := make([]*checkpoint.SQLStore, n)
	got := make(chan error, n)
	for i := range stores {
		stores[i] = store(t, s, fmt.Sprintf("process %d", i))
		go func() {
			_, err := stores[i].Load(ctx)
			got <- err
		}()
	}
	loaded := 0
	for range n {
		switch err := <-got; {
		case err == nil:
			loaded++
		case !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("Load: %v", err)
		}
	}
	if loaded != 1 {
		t.Errorf("%d processes have the lease", loaded)
	}
	for _, st := range stores {
		closeStore(t, st)
	}
}
