package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// orderTables are the tables of the order tests: a clustered key, a composite one, a key on a heap, and none. t is the
// number of the statement that wrote the row.
var orderTables = []string{"customers", "orders", "lines", "stock", "visits"}

const orderSchema = `
CREATE TABLE dbo.customers (id int NOT NULL PRIMARY KEY, name nvarchar(40) NULL, t int NOT NULL);
CREATE TABLE dbo.orders (id bigint NOT NULL PRIMARY KEY, total decimal(12,2) NULL, t int NOT NULL);
CREATE TABLE dbo.lines (id int NOT NULL, line int NOT NULL, amount money NULL, t int NOT NULL, PRIMARY KEY (id, line));
CREATE TABLE dbo.stock (id varchar(20) NOT NULL, n int NULL, t int NOT NULL, CONSTRAINT pk_stock PRIMARY KEY NONCLUSTERED (id));
CREATE TABLE dbo.visits (id int NOT NULL, at datetime2(3) NULL, t int NOT NULL);
EXEC sys.sp_cdc_enable_db;
`

// orderShop is a database that a seeded random writer changes.
type orderShop struct {
	srv  *mssqltest.Server
	rng  *rand.Rand
	next int // id of the next row
	stmt int // statements so far
}

func newOrderShop(t *testing.T, seed uint64) *orderShop {
	t.Helper()
	s := &orderShop{srv: mssqltest.Start(t, mssqltest.Config{Database: "shop"}), rng: rand.New(rand.NewPCG(seed, 1)), next: 1}
	script := orderSchema
	for _, table := range orderTables {
		script += fmt.Sprintf("EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'%s', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;\n", table)
	}
	if err := s.srv.Exec(script); err != nil {
		t.Fatal(err)
	}
	return s
}

// connect gives a run its own way to the server, which ends when the run is dead.
func (s *orderShop) connect(t *testing.T, dead *atomic.Bool) (dsn string) {
	t.Helper()
	addr, host := s.srv.Addr(), fmt.Sprintf("order-%p", dead)
	t.Cleanup(session.RegisterInProcess(host, func(ctx context.Context) (net.Conn, error) {
		if dead.Load() {
			return nil, errors.New("this process is dead")
		}
		return s.srv.DialContext(ctx, "tcp", addr)
	}))
	return strings.Replace(s.srv.ConnString(), addr, host, 1)
}

// write commits n random transactions, one in twenty of which is rolled back instead. It stops early with ctx.
func (s *orderShop) write(ctx context.Context, n int) error {
	for range n {
		if ctx.Err() != nil {
			return nil
		}
		var b strings.Builder
		b.WriteString("BEGIN TRANSACTION;\n")
		for range 1 + s.rng.IntN(5) {
			s.stmt++
			b.WriteString(s.statement(orderTables[s.rng.IntN(len(orderTables))]) + ";\n")
		}
		if s.rng.IntN(20) == 0 {
			b.WriteString("ROLLBACK;")
		} else {
			b.WriteString("COMMIT;")
		}
		if err := s.srv.Exec(b.String()); err != nil {
			return fmt.Errorf("writing: %w in\n%s", err, b.String())
		}
	}
	return nil
}

// statement makes a random statement on a table: rows that come, change, go, or get another key; one or many.
func (s *orderShop) statement(table string) string {
	from := 1 + s.rng.IntN(s.next)
	to := from + []int{0, 3, 20, 60}[s.rng.IntN(4)]
	some := fmt.Sprintf("id BETWEEN %d AND %d", from, to)
	if table == "stock" {
		some = fmt.Sprintf("id BETWEEN 'item %08d' AND 'item %08d'", from, to)
	}
	switch s.rng.IntN(10) {
	case 0, 1, 2, 3:
		return s.insert(table, []int{1, 1, 4, 70}[s.rng.IntN(4)])
	case 4, 5, 6:
		return fmt.Sprintf("UPDATE dbo.%s SET t = %d WHERE %s", table, s.stmt, some)
	case 7:
		return fmt.Sprintf("DELETE dbo.%s WHERE %s", table, some)
	}
	shift := map[string]string{"lines": "line = line + 1000", "stock": "id = id + '+'"}[table]
	if shift == "" {
		shift = "id = id + 1000000"
	}
	if table == "stock" {
		some += " AND LEN(id) < 18"
	}
	return fmt.Sprintf("UPDATE dbo.%s SET %s, t = %d WHERE %s", table, shift, s.stmt, some)
}

func (s *orderShop) insert(table string, rows int) string {
	values := make([]string, rows)
	for i := range values {
		id := s.next
		s.next++
		values[i] = map[string]string{
			"customers": fmt.Sprintf("(%d, N'customer №%d', %d)", id, id, s.stmt),
			"orders":    fmt.Sprintf("(%d, %d.25, %d)", id, id, s.stmt),
			"lines":     fmt.Sprintf("(%d, %d, %d.5, %d)", id, i, id, s.stmt),
			"stock":     fmt.Sprintf("('item %08d', %d, %d)", id, i, s.stmt),
			"visits":    fmt.Sprintf("(%d, SYSUTCDATETIME(), %d)", id, s.stmt),
		}[table]
	}
	return fmt.Sprintf("INSERT dbo.%s VALUES %s", table, strings.Join(values, ", "))
}

// orderTruth is the true order of all changes, by lane: each table, and "" over all of them. Changes are named as event_id
// names them.
type orderTruth struct {
	lanes  map[string][]string
	places map[string]int // of a change in its table's lane, or in the lane of all with a global order
	global bool
}

// truth reads the change tables when the capture job has handled all commits. Rows of old images are left out.
func (s *orderShop) truth(ctx context.Context, global bool) (*orderTruth, error) {
	if err := s.srv.Control().CaptureScan(ctx, ""); err != nil {
		return nil, err
	}
	o := &orderTruth{lanes: map[string][]string{}, places: map[string]int{}, global: global}
	for _, table := range orderTables {
		rows, err := s.srv.Query(fmt.Sprintf(`SELECT LOWER(CONVERT(varchar(30), __$start_lsn, 2)), CONVERT(varchar(20), __$command_id),
			LOWER(CONVERT(varchar(30), __$seqval, 2)), CONVERT(varchar(20), __$operation) FROM cdc.dbo_%s_CT
			WHERE __$operation <> 3 ORDER BY __$start_lsn, __$command_id, __$seqval, __$operation`, table))
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			var command uint32
			if _, err := fmt.Sscan(r[1], &command); err != nil {
				return nil, fmt.Errorf("reading the command of a change: %w", err)
			}
			id := fmt.Sprintf("%s-%08x-%s-%s", r[0], command, r[2], r[3])
			if !global {
				o.places[id] = len(o.lanes[table])
				o.lanes[table] = append(o.lanes[table], id)
				continue
			}
			o.lanes[""] = append(o.lanes[""], id)
		}
	}
	if global { // the parts of an id have fixed widths, the operation's single digit at the end: text order is theirs
		slices.Sort(o.lanes[""])
		for i, id := range o.lanes[""] {
			o.places[id] = i
		}
	}
	return o, nil
}

// lane is the lane of a table.
func (o *orderTruth) lane(table string) string {
	if o.global {
		return ""
	}
	return table
}
