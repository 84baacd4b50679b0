package capture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// signalTable makes the table dbo.signals, and has the flow read it.
func (r *rig) signalTable() {
	r.t.Helper()
	r.exec("IF (SELECT is_cdc_enabled FROM sys.databases WHERE database_id = DB_ID()) = 0 EXEC sys.sp_cdc_enable_db")
	r.exec("CREATE TABLE dbo.signals (id varchar(42) NOT NULL PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048) NULL)")
	r.enable("signals", "dbo_signals")
	r.cfg.Signals = catalog.Name{Schema: "dbo", Object: "signals"}
	r.cfg.Snapshots.ChunkRows, r.cfg.Snapshots.Tables = 20, 2
}

// signal writes a signal.
func (r *rig) signal(id, kind, data string) {
	r.t.Helper()
	value := "NULL"
	if data != "" {
		value = "'" + strings.ReplaceAll(data, "'", "''") + "'"
	}
	r.exec("INSERT dbo.signals (id, type, data) VALUES ('%s', '%s', %s)", id, kind, value)
}

// execute asks for a snapshot of tables of the schema dbo.
func (r *rig) execute(id string, tables ...string) {
	r.t.Helper()
	r.signal(id, SignalExecute, fmt.Sprintf(`{"data-collections": ["dbo.%s"]}`, strings.Join(tables, `", "dbo.`)))
}

// copied is a consumer that applies what comes, as it comes, to a copy of each table, and acknowledges it. Values of a key grow in
// the source, so one that goes back is an older one.
type copied struct {
	r     *rig
	flow  *Flow
	store *mortalStore
	done  chan struct{}

	mu     sync.Mutex
	tables map[string]map[int32]int32
	floors map[string]int32 // below which no value of a key may come
	reads  map[string]int   // by table
	read   []string         // "table id" of rows of snapshots, in order
	marks  []string
}

// follow starts a flow that a copied consumes. before is the copy that an earlier flow left, or nil.
func (r *rig) follow(before *copied) *copied {
	r.t.Helper()
	cfg := r.cfg
	c := &copied{r: r, store: &mortalStore{Store: cfg.Store}, done: make(chan struct{}), tables: map[string]map[int32]int32{}, floors: map[string]int32{}, reads: map[string]int{}}
	if before != nil {
		for table, rows := range before.tables {
			c.tables[table] = maps.Clone(rows)
		}
	}
	cfg.Store = c.store
	f, err := Start(r.t.Context(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	c.flow = f
	go func() {
		defer close(c.done)
		for {
			b, err := f.Next(context.Background())
			if err != nil {
				if !errors.Is(err, session.ErrClosed) {
					r.t.Errorf("the flow ended with: %v", err)
				}
				return
			}
			for _, run := range b.Runs {
				c.take(run)
			}
			b.Ack(nil)
		}
	}()
	return c
}

// stop ends the flow; with dead nothing more is saved, as when the process is killed.
func (c *copied) stop(dead bool) {
	c.r.t.Helper()
	if dead {
		c.store.kill()
	}
	if err := c.flow.Close(context.Background()); err != nil && !dead {
		c.r.t.Errorf("closing the flow: %v", err)
	}
	<-c.done
}

func (c *copied) take(run Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	table := run.Table.Name.Object
	if c.tables[table] == nil {
		c.tables[table] = map[int32]int32{}
	}
	if run.Snapshot != nil && run.Snapshot.Mark != "" {
		c.marks = append(c.marks, table+" "+run.Snapshot.Mark)
		return
	}
	var rec arrow.RecordBatch
	if run.Snapshot != nil {
		rec = run.Snapshot.Page.Record
	} else {
		rec = run.Page.Record
	}
	ids, plain := rec.Column(0).(*array.Int32)
	vs := rec.Column(1).(*array.Int32)
	if !plain {
		return // a test that looks at windows alone
	}
	for row := run.From; row < run.To; row++ {
		id, v := ids.Value(row), vs.Value(row)
		key := table + " " + strconv.Itoa(int(id))
		if run.Snapshot != nil {
			c.reads[table]++
			c.read = append(c.read, key)
		} else {
			switch run.Page.Operation(row) {
			case changetable.Before:
				continue
			case changetable.Delete:
				delete(c.tables[table], id)
				c.floors[key] = v + 1
				continue
			}
		}
		if v < c.floors[key] {
			c.r.t.Errorf("%s has %d after %d or its deletion; snapshot %v", key, v, c.floors[key], run.Snapshot != nil)
		}
		c.tables[table][id], c.floors[key] = v, v
	}
}

func (c *copied) count(table string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads[table]
}

func (c *copied) marked() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.marks, ", ")
}

// same tells whether the copy of a table is what the source has, which does not change now.
func (c *copied) same(table string) bool {
	c.r.t.Helper()
	rows := c.r.query("SELECT id, v FROM dbo.%s ORDER BY id", table)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(rows) != len(c.tables[table]) {
		return false
	}
	for _, row := range rows {
		id, _ := strconv.Atoi(row[0])
		v, _ := strconv.Atoi(row[1])
		if got, ok := c.tables[table][int32(id)]; !ok || int(got) != v {
			return false
		}
	}
	return true
}
