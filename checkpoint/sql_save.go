package checkpoint

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"unicode/utf16"

	"example.com/mssqlcdc/internal/crashpoint"
)

// Save keeps the positions in one transaction (of up to 256; positions stand for themselves, so more of them take more). It
// fails with ErrLeaseLost, and saves nothing, when another process has taken the lease.
func (s *SQLStore) Save(ctx context.Context, changed map[string]Position) error {
	return s.change(ctx, "saving", slices.Sorted(maps.Keys(changed)), func(chunk []string) (bool, error) {
		return s.saveChunk(ctx, chunk, changed)
	})
}

// Delete forgets the positions of tables, under the same lease. A table that has none is no error.
func (s *SQLStore) Delete(ctx context.Context, tables ...string) error {
	return s.change(ctx, "deleting", tables, func(chunk []string) (bool, error) {
		args := []driver.Value{s.cfg.Key, s.cfg.Owner, s.epoch, s.cfg.Lease.Milliseconds()}
		for _, table := range chunk {
			args = append(args, table)
		}
		text, declaration := deleteText(len(chunk))
		return s.write(ctx, text, declaration, args)
	})
}

// change makes a change of each chunk of tables, under the lease.
func (s *SQLStore) change(ctx context.Context, what string, tables []string, write func(chunk []string) (bool, error)) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	lost := func() error {
		return fmt.Errorf("%s positions of %s in %s: %w", what, s.cfg.Key, s.cfg.Table, ErrLeaseLost)
	}
	if !s.held {
		return lost()
	}
	for chunk := range slices.Chunk(tables, mostPositions) {
		written, err := write(chunk)
		if err != nil {
			return fmt.Errorf("%s positions of %s in %s: %w", what, s.cfg.Key, s.cfg.Table, err)
		}
		if !written {
			s.lose()
			return lost()
		}
	}
	return nil
}

func (s *SQLStore) saveChunk(ctx context.Context, tables []string, changed map[string]Position) (saved bool, _ error) {
	// The number is rounded up to a power of two by saving the last one again: few texts, few plans in the server's cache.
	n := 1 << bits.Len(uint(len(tables)-1))
	args := make([]driver.Value, 0, 4+2*n)
	args = append(args, s.cfg.Key, s.cfg.Owner, s.epoch, s.cfg.Lease.Milliseconds())
	for i := range n {
		table := tables[min(i, len(tables)-1)]
		if err := checkTable(table); err != nil {
			return false, err
		}
		if len(utf16.Encode([]rune(table))) > 520 {
			return false, fmt.Errorf("the name of table %s is longer than 520 characters", table)
		}
		text, err := changed[table].MarshalJSON()
		if err != nil {
			return false, err
		}
		if len(text) > 4000 {
			return false, fmt.Errorf("the position of table %s is longer than 4000 characters", table)
		}
		args = append(args, table, string(text))
	}
	text, ok := s.texts[n]
	if !ok {
		text[0], text[1] = saveText(n)
		s.texts[n] = text
	}
	return s.write(ctx, text[0], text[1], args)
}

// write runs a change under the lease; it is not written when the lease is another's.
func (s *SQLStore) write(ctx context.Context, text, declaration string, args []driver.Value) (written bool, _ error) {
	crashpoint.Hit(crashpoint.SQLSaving)
	rows, err := s.query(ctx, text, declaration, args...)
	if err != nil {
		return false, err
	}
	crashpoint.Hit(crashpoint.SQLSaved)
	if len(rows) != 1 || len(rows[0]) != 1 {
		return false, errors.New("the statement gave no answer")
	}
	answer, ok := rows[0][0].(int64)
	return ok && answer == 1, nil
}
