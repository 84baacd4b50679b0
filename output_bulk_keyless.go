package mssqlcdc

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/merge"
)

// checkOperation refuses what a table without a key cannot do, in mode apply, and tells what does nothing.
func (l *bulkLanding) checkOperation(i int) (skip bool, err error) {
	if !l.out.cfg.mode.apply {
		return false, nil
	}
	if l.places != nil && l.places[i].first.Snapshot() {
		return false, errSnapshotOrder
	}
	if records, err := l.arrowOf(i); err != nil || records != nil && arrowChangeColumnsOf(records[0]).operation != nil {
		return false, err // each row has an operation of its own
	}
	name, err := l.operationOf(i)
	if err != nil {
		return false, err
	}
	return l.onlyInserts(name)
}

// onlyInserts refuses an operation that a table without a key cannot do.
func (l *bulkLanding) onlyInserts(name string) (skip bool, err error) {
	op, err := l.out.cfg.mode.op(name, true)
	switch {
	case err != nil:
		return false, err
	case op == merge.OpSkip:
		return true, nil
	case name != "read" && name != "insert" && name != "upsert":
		return false, fmt.Errorf("its operation is %s: %w", name, merge.ErrNoKey)
	}
	return false, nil
}

// checkArrow refuses a record with rows that a table without a key cannot take, in mode apply.
func (l *bulkLanding) checkArrow(i int, rec arrow.RecordBatch) error {
	operation := arrowChangeColumnsOf(rec).operation
	if !l.out.cfg.mode.apply || operation == nil {
		return nil
	}
	for r := range operation.Len() {
		skip, err := l.onlyInserts(operation.Value(r))
		if skip {
			err = fmt.Errorf("its operation is %s: %w", operation.Value(r), merge.ErrNoKey)
		}
		if err != nil {
			return fmt.Errorf("its row %d: %w", r+1, err)
		}
	}
	return nil
}
