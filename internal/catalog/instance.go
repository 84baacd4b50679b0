package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/sqltype"
)

// ErrNoInstance is returned when a capture instance does not exist, or the
// login may not see it.
var ErrNoInstance = errors.New("capture instance does not exist")

// Instance is a row of cdc.change_tables. Columns, Key, Order and HasCommandID
// are filled by LoadInstance only.
type Instance struct {
	Capture  string // name of the capture instance
	ObjectID int32  // of the change table
	SourceID int32
	// Source is the table whose changes are captured. It is empty when the login
	// may not see it.
	Source      Name
	ChangeTable Name
	// StartLSN is the low end of what is retained; zero while the capture job
	// has not handled the instance yet.
	StartLSN        checkpoint.LSN
	EndLSN          checkpoint.LSN
	DropPending     bool
	PartitionSwitch bool
	NetChanges      bool
	Role            string // gating role, or ""
	Index           string // index that the key was taken from, or ""
	CreateDate      time.Time

	Columns []Column
	// Key are the names of the key columns, all of them captured; empty when
	// the table has no usable key.
	Key []string
	// Order are the key columns of the change table's clustered index.
	Order        []string
	HasCommandID bool
}

// Started tells whether the capture job has established the low end.
func (i *Instance) Started() bool { return !i.StartLSN.IsZero() }

// Column is a captured column.
type Column struct {
	Name    string
	Ordinal int // 1-based position in the update mask
	// Type is nullable always: every column of a change table is.
	Type sqltype.Type
	// NotNull tells that the source's column cannot be NULL.
	NotNull bool
	// Computed columns are captured as NULL always.
	Computed bool
	Masked   bool
	Identity bool
	// Dropped tells that the source has the column no more.
	Dropped bool
	// LOB types may be left out of the log when they did not change.
	LOB bool
	// Legacy is text, ntext or image: never there in a delete or before image.
	Legacy bool
}

func instance(c *cells) Instance {
	i := Instance{
		Capture: c.text(), ObjectID: int32(c.int()), SourceID: int32(c.int()), StartLSN: c.lsn(), EndLSN: c.lsn(),
		DropPending: c.bool(), PartitionSwitch: c.bool(), CreateDate: c.clock(), NetChanges: c.bool(),
		Role: c.text(), Index: c.text(),
	}
	i.Source = Name{Schema: c.text(), Object: c.text()}
	i.ChangeTable = Name{Schema: "cdc", Object: c.text()}
	return i
}

// LoadInstance describes one capture instance in full, in one round trip.
func LoadInstance(ctx context.Context, q Querier, capture string) (*Instance, error) {
	var (
		found   *Instance
		columns []Column
		typeErr error
		key     []string
		keys    []sourceKey
		order   []string
		desc    bool
		command bool
	)
	text := sqlInstancesOne + sqlCapturedColumns + sqlCaptureKey + sqlSourceKeys + sqlClusteredIndex + sqlHasCommandID
	err := query(ctx, q, text, declInstance, []driver.Value{capture},
		func(c *cells) { i := instance(c); found = &i },
		func(c *cells) {
			col, err := column(c)
			if err != nil && typeErr == nil {
				typeErr = err
			}
			columns = append(columns, col)
		},
		func(c *cells) { key = append(key, c.text()) },
		func(c *cells) { keys = addKeyColumn(keys, int(c.int()), c.bool(), c.text(), c.bool()) },
		func(c *cells) { order = append(order, c.text()); desc = c.bool() || desc },
		func(c *cells) { command = c.int() > 0 },
	)
	switch {
	case err != nil:
		return nil, fmt.Errorf("describing capture instance %s: %w", capture, err)
	case found == nil:
		return nil, fmt.Errorf("describing capture instance %s: %w", capture, ErrNoInstance)
	case typeErr != nil:
		return nil, fmt.Errorf("describing capture instance %s: %w", capture, typeErr)
	case found.ChangeTable.Object == "":
		return nil, fmt.Errorf("describing capture instance %s: its change table is not visible to this login", capture)
	case len(columns) == 0:
		return nil, fmt.Errorf("describing capture instance %s: it has no captured columns, or they are not visible to this login", capture)
	case desc:
		return nil, fmt.Errorf("describing capture instance %s: the clustered index of %s is descending", capture, found.ChangeTable)
	}
	found.Columns, found.Order, found.HasCommandID = columns, order, command
	found.Key = chooseKey(columns, key, keys)
	return found, nil
}

func column(c *cells) (Column, error) {
	col := Column{Name: c.text(), Ordinal: int(c.int())}
	declared := strings.ToLower(c.text())
	col.Computed = c.bool()
	name, base := c.text(), c.text()
	length, precision, scale, collation := int(c.int()), int(c.int()), int(c.int()), c.text()
	nullable := c.null() // the source's column is not visible, or was dropped
	nullable = c.bool() || nullable
	col.Masked = c.bool()
	col.Computed = c.bool() || col.Computed
	col.Identity = c.bool()
	col.Dropped = c.text() == ""
	if c.err != nil {
		return col, nil
	}
	if name == "" {
		return col, fmt.Errorf("column %s: the change table has no such column, or it is not visible to this login", col.Name)
	}
	// A rowversion is stored in the change table as the binary(8) that it is.
	if declared == "timestamp" || declared == "rowversion" {
		name, base = "timestamp", "timestamp"
	}
	t, err := sqltype.FromCatalog(name, base, length, precision, scale, collation)
	if err != nil {
		return col, fmt.Errorf("column %s: %w", col.Name, err)
	}
	t.Nullable = true
	col.Type, col.NotNull = t, !nullable
	col.LOB = t.IsLOB()
	switch t.Name {
	case "text", "ntext", "image":
		col.Legacy = true
	}
	return col, nil
}

// sourceKey is a unique index of the source table.
type sourceKey struct {
	index    int
	primary  bool
	columns  []string
	nullable bool
}

func addKeyColumn(keys []sourceKey, index int, primary bool, name string, nullable bool) []sourceKey {
	if len(keys) == 0 || keys[len(keys)-1].index != index {
		keys = append(keys, sourceKey{index: index, primary: primary})
	}
	k := &keys[len(keys)-1]
	k.columns = append(k.columns, name)
	k.nullable = k.nullable || nullable
	return keys
}

// chooseKey takes the key that the instance was enabled with, else the source's
// primary key, else the narrowest unique index over columns that cannot be
// NULL. A key with a column that is not captured, or is always NULL in the
// change table, is of no use.
func chooseKey(columns []Column, enabled []string, source []sourceKey) []string {
	captured := make(map[string]bool, len(columns))
	for _, c := range columns {
		captured[c.Name] = !c.Computed
	}
	usable := func(names []string) bool {
		for _, n := range names {
			if !captured[n] {
				return false
			}
		}
		return len(names) > 0
	}
	if usable(enabled) {
		return enabled
	}
	var best *sourceKey
	for i := range source {
		k := &source[i]
		if k.nullable || !usable(k.columns) {
			continue
		}
		if best == nil || k.primary && !best.primary || k.primary == best.primary && len(k.columns) < len(best.columns) {
			best = k
		}
	}
	if best == nil {
		return nil
	}
	return best.columns
}
