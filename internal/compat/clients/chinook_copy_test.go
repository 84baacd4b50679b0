package clients

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// tableCopy is an output that keeps a copy of tables by applying their changes in the order in which they come.
type tableCopy struct {
	mu      sync.Mutex
	rows    map[string]map[string]string // by table and key
	counts  map[string]int               // by operation
	changes int
	err     error // the first change that does not fit the copy
}

func (*tableCopy) Connect(context.Context) error { return nil }
func (*tableCopy) Close(context.Context) error   { return nil }

func (c *tableCopy) WriteBatch(_ context.Context, batch service.MessageBatch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range batch {
		if err := c.apply(m); err != nil && c.err == nil {
			c.err = err
		}
		c.changes++
	}
	return nil
}

func (c *tableCopy) apply(m *service.Message) error {
	meta := func(name string) string { v, _ := m.MetaGet(name); return v }
	table, key, op := meta("table"), meta("key"), meta("operation")
	body, err := m.AsBytes()
	if err != nil {
		return err
	}
	row, err := canonical(body)
	if err != nil {
		return fmt.Errorf("reading a change of %s: %w", table, err)
	}
	rows := c.rows[table]
	old, there := rows[key]
	c.counts[op]++
	switch {
	case rows == nil || key == "" || there == (op == "insert"):
		return fmt.Errorf("%s of %s %s: the row is there: %v (event %s)", op, table, key, there, meta("event_id"))
	case op == "delete" && old != row:
		return fmt.Errorf("delete of %s %s has %s, the copy %s", table, key, row, old)
	case op == "delete":
		delete(rows, key)
	default:
		rows[key] = row
	}
	return nil
}

// progress is how many changes have been applied, and the first that could not be.
func (c *tableCopy) progress() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes, c.err
}

// canonical is a JSON object with its names sorted and its numbers as they are written.
func canonical(body []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var row map[string]any
	if err := d.Decode(&row); err != nil {
		return "", err
	}
	out, err := json.Marshal(row)
	return string(out), err
}

// readTables reads the rows of tables through go-mssqldb alone, in the form that docs/types.md gives to the types that
// Chinook has, by key.
func readTables(ctx context.Context, db *sql.DB, keys map[string][]string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	for table, key := range keys {
		rows, err := db.QueryContext(ctx, "SELECT * FROM dbo."+table)
		if err != nil {
			return nil, err
		}
		out[table], err = readRows(rows, key)
		if err = errors.Join(err, rows.Close()); err != nil {
			return nil, fmt.Errorf("reading %s: %w", table, err)
		}
	}
	return out, nil
}

func readRows(rows *sql.Rows, key []string) (map[string]string, error) {
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	cells, targets := make([]any, len(types)), make([]any, len(types))
	for i := range cells {
		targets[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		row := map[string]any{}
		for i, t := range types {
			switch v := cells[i].(type) {
			case nil, int64, string:
				row[t.Name()] = v
			case []byte: // numeric
				row[t.Name()] = string(v)
			case time.Time: // datetime
				row[t.Name()] = v.Format("2006-01-02T15:04:05.000")
			default:
				return nil, fmt.Errorf("column %s has a %T", t.Name(), v)
			}
		}
		var k []string
		for _, name := range key {
			k = append(k, fmt.Sprintf("%q:%v", name, row[name]))
		}
		text, err := json.Marshal(row)
		if err != nil {
			return nil, err
		}
		out["{"+strings.Join(k, ",")+"}"] = string(text)
	}
	return out, rows.Err()
}
