package capture

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/mssqltest"
)

// lostStore is a store whose lease another process has taken.
type lostStore struct{ checkpoint.Store }

func (lostStore) Save(context.Context, map[string]checkpoint.Position) error {
	return fmt.Errorf("saving: %w", checkpoint.ErrLeaseLost)
}

// The lease is found to be lost when the handover of a snapshot is stored. That is no error of the table, on which on_table_error
// would end the input for good instead of leaving it as a standby.
func TestLeaseLostWhileAHandoverIsKept(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.cfg.Snapshots = Snapshots{On: true, ChunkRows: 100, Tables: 1}
		r.cfg.StopOnTableError = true
		r.cfg.Store = lostStore{r.store}
		r.tables("a")
		r.insert("a", 1, 5, 5)
		r.scan()
		f, err := Start(context.Background(), r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		bounded, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for {
			b, err := f.Next(bounded)
			if err == nil {
				b.Ack(nil)
				continue
			}
			if !errors.Is(err, checkpoint.ErrLeaseLost) || errors.Is(err, ErrTable) {
				t.Errorf("the flow ended with: %v", err)
			}
			break
		}
		if s, cause := r.seen.is("a"); s == Parked {
			t.Errorf("a is parked: %v", cause)
		}
		_ = f.Close(context.Background()) // it cannot save
	})
}
