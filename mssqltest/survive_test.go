package mssqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest"
)

// conversation is what a client sends that logs in, queries, calls, begins a transaction and loads rows.
func conversation() []byte {
	batch := func(text string) []byte { return batchMessage(text) }
	var all []byte
	for _, m := range [][]byte{
		prelogin(), login(), batch("CREATE TABLE #t (a int, b varchar(20)); INSERT #t VALUES (1, 'x')"),
		message(tds.PacketTransMgr, (&tds.TransMgrRequest{Type: tds.TMBegin}).Append(nil)),
		batch("UPDATE dbo.accounts SET balance = balance WHERE id = 1; SELECT * FROM dbo.accounts"),
		rpcMessage(tds.RPCCall{ProcID: tds.ProcExecuteSQL, Params: []tds.RPCParam{nvarchar("SELECT @p, balance FROM dbo.accounts WHERE id = @p"), nvarchar("@p int"), number(7, 0)}}),
		batch("INSERT BULK #t (a int)"),
	} {
		all = append(all, m...)
	}
	return all
}

// TestDroppedConnections: clients that vanish in the middle of anything leave neither locks nor transactions nor goroutines.
func TestDroppedConnections(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, accounts)
	rnd := rand.New(rand.NewPCG(3, 4))
	text := conversation()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 32)
	for range 1000 {
		n := rnd.IntN(len(text) + 1)
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			c, err := s.DialContext(context.Background(), "tcp", s.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			var reading sync.WaitGroup
			reading.Go(func() { _, _ = io.CopyN(io.Discard, c, int64(n)) })
			_, _ = c.Write(text[:n])
			_ = c.Close()
			reading.Wait()
		})
	}
	wg.Wait()
	eventually(t, "all is given back", func() bool {
		c := s.Control()
		return len(c.Connections()) == 0 && len(c.Locks()) == 0 && c.OpenTransactions() == 0
	})
	db := open(t, s, s.ConnString("encrypt=disable"))
	if got := scalar[int](t, db, "SELECT SUM(balance) FROM dbo.accounts"); got != 100*accountCount {
		t.Errorf("the accounts hold %d", got)
	}
}

// FuzzConversation feeds a server whatever bytes after a login; it must hang up or answer, and serve the next client.
func FuzzConversation(f *testing.F) {
	text := conversation()
	after := len(prelogin()) + len(login())
	f.Add(text[after:])
	for _, m := range [][]byte{batchMessage("SELECT 1"), rpcMessage(tds.RPCCall{ProcID: tds.ProcPrepare}), message(tds.PacketBulkLoad, []byte{0x81, 1, 0}), message(tds.PacketAttention, nil)} {
		f.Add(m)
	}
	s := mssqltest.Start(f, mssqltest.Config{})
	if err := s.Exec(accounts); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		talk(t, s, prelogin(), login(), b)
		talk(t, s, prelogin(), login(), batchMessage("SELECT 1"))
	})
}

const (
	accountCount = 20
	accounts     = `ALTER DATABASE testdb SET ALLOW_SNAPSHOT_ISOLATION ON
GO
CREATE TABLE dbo.accounts (id int PRIMARY KEY, balance int NOT NULL CHECK (balance >= 0))
INSERT dbo.accounts SELECT value, 100 FROM GENERATE_SERIES(1, 20)
GO
EXEC sys.sp_cdc_enable_db
EXEC sys.sp_cdc_enable_table @source_schema = 'dbo', @source_name = 'accounts', @role_name = NULL
`
)

// bank runs transfers of writers beside readers, for a time or a number of transfers each.
type bank struct {
	t         *testing.T
	s         *mssqltest.Server
	level     sql.IsolationLevel
	transfers int // of each writer
	until     time.Time

	mu   sync.Mutex
	done int
}

// TestTransfersBesideReaders: whatever writers do at the same time, no reader sees money appear or vanish, and the change
// table has each transfer with both of its sides. MSSQLCDC_LONG runs for ten minutes, CI for one.
func TestTransfersBesideReaders(t *testing.T) {
	for name, level := range map[string]sql.IsolationLevel{"snapshot": sql.LevelSnapshot, "serializable": sql.LevelSerializable} {
		t.Run(name, func(t *testing.T) {
			b := &bank{t: t, s: mssqltest.Start(t, mssqltest.Config{CaptureStopped: true}), level: level, transfers: 40}
			switch {
			case os.Getenv("MSSQLCDC_LONG") != "":
				b.until = time.Now().Add(5 * time.Minute)
			case os.Getenv("CI") != "":
				b.until = time.Now().Add(30 * time.Second)
			}
			b.run()
		})
	}
}

func (b *bank) run() {
	execScript(b.t, b.s, accounts)
	db := open(b.t, b.s, b.s.ConnString("encrypt=disable"))
	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() { b.write(db, rand.New(rand.NewPCG(uint64(i), 1))) })
		readers.Go(func() { b.read(stop, db) })
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if b.done == 0 {
		b.t.Fatal("not one transfer")
	}
	if got := scalar[int](b.t, db, "SELECT SUM(balance) FROM dbo.accounts"); got != 100*accountCount {
		b.t.Errorf("the accounts hold %d", got)
	}
	if err := b.s.Control().CaptureScan(within(b.t), "testdb"); err != nil {
		b.t.Fatal(err)
	}
	if got := scalar[int](b.t, db, "SELECT COUNT(*) FROM cdc.dbo_accounts_CT WHERE __$operation = 4"); got != 2*b.done {
		b.t.Errorf("%d new images of %d transfers", got, b.done)
	}
	const broken = `SELECT COUNT(*) FROM (SELECT SUM(CASE __$operation WHEN 4 THEN balance ELSE -balance END) AS s FROM cdc.dbo_accounts_CT GROUP BY __$start_lsn) x WHERE s <> 0`
	if got := scalar[int](b.t, db, broken); got != 0 {
		b.t.Errorf("%d transactions of the change table do not add up to nothing", got)
	}
	eventually(b.t, "all is given back", func() bool { return len(b.s.Control().Locks()) == 0 && b.s.Control().OpenTransactions() == 0 })
}

// write moves money between two accounts, now and then giving up half way.
func (b *bank) write(db *sql.DB, rnd *rand.Rand) {
	for n := 0; ; n++ {
		if b.until.IsZero() && n >= b.transfers || !b.until.IsZero() && time.Now().After(b.until) || b.t.Failed() {
			return
		}
		from, to := 1+rnd.IntN(accountCount), 1+rnd.IntN(accountCount)
		if from == to {
			continue
		}
		err := b.transfer(db, from, to, 1+rnd.IntN(50), rnd.IntN(10) == 0)
		if err != nil && !expected(err) {
			b.t.Errorf("transfer: %v", err)
			return
		}
	}
}

var errGivenUp = errors.New("given up")

func (b *bank) transfer(db *sql.DB, from, to, amount int, giveUp bool) error {
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: b.level})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var have int
	if err := tx.QueryRow("SELECT balance FROM dbo.accounts WHERE id = @p1", from).Scan(&have); err != nil {
		return err
	}
	if have < amount {
		return errGivenUp
	}
	if _, err := tx.Exec("UPDATE dbo.accounts SET balance = balance - @p1 WHERE id = @p2", amount, from); err != nil {
		return err
	}
	if giveUp {
		return errGivenUp
	}
	if _, err := tx.Exec("UPDATE dbo.accounts SET balance = balance + @p1 WHERE id = @p2", amount, to); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	b.mu.Lock()
	b.done++
	b.mu.Unlock()
	return nil
}

// expected are the errors of transactions that meet: deadlocks and update conflicts.
func expected(err error) bool {
	var e mssql.Error
	return errors.Is(err, errGivenUp) || errors.As(err, &e) && (e.Number == 1205 || e.Number == 3960)
}

// read looks at all accounts in one transaction, twice.
func (b *bank) read(stop <-chan struct{}, db *sql.DB) {
	for !b.t.Failed() {
		select {
		case <-stop:
			return
		default:
		}
		err := func() error {
			tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: b.level})
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback() }()
			for range 2 {
				var sum, rows int
				if err := tx.QueryRow("SELECT SUM(balance), COUNT(*) FROM dbo.accounts").Scan(&sum, &rows); err != nil {
					return err
				}
				if sum != 100*accountCount || rows != accountCount {
					return fmt.Errorf("a reader sees %d in %d accounts", sum, rows)
				}
			}
			return nil
		}()
		if err != nil && !expected(err) {
			b.t.Errorf("reader: %v", err)
			return
		}
	}
}
