package catalog

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"example.com/mssqlcdc/checkpoint"
)

// Transaction is a row of cdc.lsn_time_mapping. Its times are the server's wall
// clock, labelled UTC; ToUTC gives the instants.
type Transaction struct {
	LSN   checkpoint.LSN
	Begin time.Time
	End   time.Time
	ID    []byte // 0x00 for the dummy rows of an idle database
}

// Proof is what a position keeps of the transaction, to recognise the history.
func (t Transaction) Proof() checkpoint.Proof {
	return checkpoint.Proof{StartLSN: t.LSN, TranID: t.ID, EndTime: t.End}
}

func transaction(c *cells) Transaction {
	return Transaction{LSN: c.lsn(), Begin: c.clock(), End: c.clock(), ID: c.bytes()}
}

// Transactions lists the transactions from one LSN to another, both included.
func Transactions(ctx context.Context, q Querier, from, to checkpoint.LSN) ([]Transaction, error) {
	var out []Transaction
	err := query(ctx, q, sqlMappingRange, declRange, []driver.Value{from[:], to[:]}, func(c *cells) {
		out = append(out, transaction(c))
	})
	if err != nil {
		return nil, fmt.Errorf("reading cdc.lsn_time_mapping: %w", err)
	}
	return out, nil
}

// AtOrBelow finds the newest transaction that is not above an LSN.
func AtOrBelow(ctx context.Context, q Querier, lsn checkpoint.LSN) (t Transaction, found bool, err error) {
	err = query(ctx, q, sqlMappingAtOrBelow, declTo, []driver.Value{lsn[:]}, func(c *cells) {
		t, found = transaction(c), true
	})
	if err != nil {
		return Transaction{}, false, fmt.Errorf("reading cdc.lsn_time_mapping: %w", err)
	}
	return t, found, nil
}

// FirstAt finds the first transaction that was committed at a time or later.
func FirstAt(ctx context.Context, q Querier, at time.Time, loc *time.Location) (t Transaction, found bool, err error) {
	text := at.In(loc).Format("2006-01-02T15:04:05.000")
	err = query(ctx, q, sqlFirstAtTime, declTime, []driver.Value{text}, func(c *cells) {
		t, found = transaction(c), true
	})
	if err != nil {
		return Transaction{}, false, fmt.Errorf("reading cdc.lsn_time_mapping: %w", err)
	}
	return t, found, nil
}

// Window cuts (from, to] after at most n transactions. It returns the high end
// of the cut and how many transactions it holds; with none, the high end is to.
func Window(ctx context.Context, q Querier, from, to checkpoint.LSN, n int) (high checkpoint.LSN, count int, err error) {
	err = query(ctx, q, sqlWindow, declWindow, []driver.Value{int64(n), from[:], to[:]}, func(c *cells) {
		high, count = c.lsn(), int(c.int())
	})
	if err != nil {
		return checkpoint.LSN{}, 0, fmt.Errorf("cutting the window by cdc.lsn_time_mapping: %w", err)
	}
	if count < n {
		return to, count, nil
	}
	return high, count, nil
}
