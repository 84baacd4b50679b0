package storage

import (
	"sync"
	"testing"
)

// Of transactions that create a name at the same moment one has it, and the others get error 2714.
func TestOneOfManyGetsAName(t *testing.T) {
	const rounds, n = 200, 4
	d := newTestDB(t)
	for range rounds {
		var all sync.WaitGroup
		start, errs := make(chan struct{}), make(chan error, n)
		for range n {
			all.Go(func() {
				tx := d.begin(ReadCommitted)
				<-start
				_, err := tx.CreateTable(d.db, tableDef("u"))
				if err != nil {
					tx.Rollback()
				} else if _, commitErr := tx.Commit(); commitErr != nil {
					err = commitErr
				}
				errs <- err
			})
		}
		close(start)
		all.Wait()
		created := 0
		for range n {
			if err := <-errs; err == nil {
				created++
			} else {
				wantNumber(t, err, 2714)
			}
		}
		if created != 1 {
			t.Fatalf("%d transactions created the table", created)
		}
		tx := d.begin(ReadCommitted)
		u := d.db.Object("dbo", "u").(*Table)
		if err := tx.DropTable(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		d.commit(tx)
	}
	wantNoLocks(t, d.in)
}
