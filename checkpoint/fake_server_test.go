package checkpoint

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"time"
)

// serverError is an error with a number, as the driver has it.
type serverError int32

func (e serverError) Error() string         { return fmt.Sprintf("server error %d", int32(e)) }
func (e serverError) SQLErrorNumber() int32 { return int32(e) }

type leaseRow struct {
	owner   string
	epoch   int64
	expires time.Time
}

// fakeServer executes the store's statements by what they mean. It is the model that the T-SQL has to agree with.
type fakeServer struct {
	mu        sync.Mutex
	exists    bool
	columns   []string // of a table that is not the store's
	leases    map[string]*leaseRow
	positions map[string]map[string]string
	opened    int
	closed    int
	saves     []int // positions of each save's statement
	// fail, if it is set, is asked before each statement of an owner.
	fail func(owner, text string) error
}

func newFakeServer() *fakeServer {
	return &fakeServer{leases: map[string]*leaseRow{}, positions: map[string]map[string]string{}}
}

type fakeSession struct {
	s     *fakeServer
	owner string
}

func (f *fakeServer) open(owner string) func(context.Context) (Session, error) {
	return func(context.Context) (Session, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.opened++
		return &fakeSession{f, owner}, nil
	}
}

func (c *fakeSession) Close() error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.closed++
	return nil
}

func (c *fakeSession) Query(ctx context.Context, text, declaration string, args ...driver.Value) ([][]driver.Value, error) {
	if n := strings.Count(declaration, "@"); n != len(args) {
		return nil, fmt.Errorf("%d parameters and %d arguments", n, len(args))
	}
	f := c.s
	f.mu.Lock()
	fail := f.fail
	f.mu.Unlock()
	if fail != nil {
		if err := fail(c.owner, text); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	text = strings.ReplaceAll(text, testTable, "{table}")
	if text == sqlColumns {
		columns := f.columns
		if columns == nil && f.exists {
			columns = ourColumns
		}
		var rows [][]driver.Value
		for _, c := range columns {
			rows = append(rows, []driver.Value{c})
		}
		return rows, nil
	}
	if text == sqlCreateTable {
		if f.exists {
			return nil, serverError(errDuplicateName)
		}
		f.exists = true
		return nil, nil
	}
	if !f.exists {
		return nil, serverError(208)
	}
	key := args[0].(string)
	lease := f.leases[key]
	ours := func() bool { return lease != nil && lease.owner == args[1] && lease.epoch == args[2] }
	ms := func(v driver.Value) time.Time { return time.Now().Add(time.Duration(v.(int64)) * time.Millisecond) }
	switch {
	case text == sqlMakeLease:
		if lease == nil {
			f.leases[key] = &leaseRow{expires: time.Now()}
		}
	case text == sqlAcquire:
		if lease.owner == args[1] || args[3] == int64(1) || !lease.expires.After(time.Now()) {
			*lease = leaseRow{args[1].(string), lease.epoch + 1, ms(args[2])}
			return [][]driver.Value{{lease.epoch}}, nil
		}
	case text == sqlHolder:
		return [][]driver.Value{{lease.owner, time.Until(lease.expires).Milliseconds()}}, nil
	case text == sqlRenew:
		if ours() {
			lease.expires = ms(args[3])
			return [][]driver.Value{{lease.epoch}}, nil
		}
	case text == sqlRelease:
		if ours() {
			lease.owner, lease.expires = "", time.Now()
		}
	case text == sqlLoad:
		var rows [][]driver.Value
		for table, text := range f.positions[key] {
			rows = append(rows, []driver.Value{table, text})
		}
		return rows, nil
	case strings.HasPrefix(text, sqlSaveBegin):
		if !strings.Contains(text, "DELETE FROM") {
			f.saves = append(f.saves, (len(args)-4)/2)
		}
		if !ours() {
			return [][]driver.Value{{int64(0)}}, nil
		}
		lease.expires = ms(args[3])
		if strings.Contains(text, "DELETE FROM") {
			for _, table := range args[4:] {
				delete(f.positions[key], table.(string))
			}
			return [][]driver.Value{{int64(1)}}, nil
		}
		if f.positions[key] == nil {
			f.positions[key] = map[string]string{}
		}
		for i := 4; i < len(args); i += 2 {
			f.positions[key][args[i].(string)] = args[i+1].(string)
		}
		return [][]driver.Value{{int64(1)}}, nil
	default:
		return nil, fmt.Errorf("an unknown statement: %s", text)
	}
	return nil, nil
}
