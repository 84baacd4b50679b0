package mssqlcdc

import (
	"encoding/json"
	"fmt"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/merge"
)

// bulkMode is what messages do to a table.
type bulkMode struct {
	keyed      bool // upsert and apply
	apply      bool
	keyColumns []string
	operation  *service.InterpolatedString
	onMissing  string

	deleteMissing bool // at the end of a snapshot
}

// mode reads the fields of the mode.
func (p *cdcParser) mode(c *bulkConfig) {
	mode := p.text(bulkFieldMode)
	c.mode.keyed, c.mode.apply = mode != "insert", mode == "apply"
	c.mode.keyColumns = field(p, p.conf.FieldStringList, bulkFieldKeyColumns)
	c.mode.operation = field(p, p.conf.FieldInterpolatedString, bulkFieldOperation)
	c.mode.onMissing = p.text(bulkFieldOnMissing)
	c.mode.deleteMissing = p.text(bulkFieldOnSnapshotEnd) == "delete_missing"
	if p.err == nil && c.mode.deleteMissing && !c.mode.apply {
		p.err = fmt.Errorf("on_snapshot_end: delete_missing needs mode apply, and the mode is %s", mode)
	}
	if p.err == nil && mode != "insert" && mode != "upsert" && mode != "apply" {
		p.err = fmt.Errorf("mode must be insert, upsert or apply, and is %q", mode)
	}
	if p.err == nil && c.mode.keyed && c.inFlight > 1 {
		p.err = fmt.Errorf("max_in_flight must be 1 with mode %s: batches that are loaded at the same time land in any order, and the older one could win", mode)
	}
}

// rights is how many of SELECT, INSERT, UPDATE and DELETE the mode needs.
func (m *bulkMode) rights() int {
	switch {
	case m.apply:
		return 4
	case m.keyed:
		return 3
	}
	return 2
}

// missing is what the server does with an update without a row.
func (m *bulkMode) missing() merge.Missing {
	if m.onMissing == "ignore" {
		return merge.MissingIgnore
	}
	return merge.MissingError
}

// op is the operation of a row in a stage. complete tells that the row has every column.
func (m *bulkMode) op(name string, complete bool) (merge.Op, error) {
	switch name {
	case "read", "insert", "upsert":
		return merge.OpUpsert, nil
	case "update", "update_after":
		if complete && m.onMissing == "insert_if_complete" {
			return merge.OpUpsert, nil
		}
		return merge.OpUpdate, nil
	case "delete":
		return merge.OpDelete, nil
	case "update_before", "snapshot_begin", "snapshot_end", "incremental_begin", "incremental_end":
		return merge.OpSkip, nil
	case "", "null":
		return 0, fmt.Errorf("it has no operation; mode apply takes it from the field operation, by default the metadata operation, which a broker in between must be told to keep")
	}
	return 0, fmt.Errorf("the operation %q is not one of read, insert, update, update_after, upsert, delete and update_before", name)
}

// operationOf is the operation of a message.
func (l *bulkLanding) operationOf(i int) (string, error) {
	m := &l.out.cfg.mode
	if !m.apply {
		return "upsert", nil
	}
	name, err := l.batch.TryInterpolatedString(i, m.operation)
	if err != nil {
		return "", fmt.Errorf("operation: %w", err)
	}
	return name, nil
}

// unchangedOf lists the columns that a message does not know, whatever its body says of them.
func unchangedOf(m *service.Message) ([]string, error) {
	v, ok := m.MetaGetMut("unchanged_columns")
	if !ok || v == nil {
		return nil, nil
	}
	switch v := v.(type) {
	case []string:
		return v, nil
	case []any:
		return textsOf(v)
	case string: // as brokers carry it
		if v == "" {
			return nil, nil
		}
		var list []any
		if err := json.Unmarshal([]byte(v), &list); err != nil {
			return nil, fmt.Errorf("reading the metadata unchanged_columns: %w", err)
		}
		return textsOf(list)
	}
	return nil, fmt.Errorf("reading the metadata unchanged_columns: it is a %T and not a list", v)
}

func textsOf(list []any) (out []string, err error) {
	for _, v := range list {
		name, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("reading the metadata unchanged_columns: %v is not a column's name", v)
		}
		out = append(out, name)
	}
	return out, nil
}
