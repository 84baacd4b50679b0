package bulkload

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/sqltype"
)

// Target is a table to load into.
type Target struct {
	Name    catalog.Name
	Columns []TargetColumn // all of them, in the table's order
}

// TargetColumn is a column of a Target.
type TargetColumn struct {
	Name string
	Type sqltype.Type
	// Err says why the type has no mapping; Type is then not set.
	Err             error
	Identity        bool
	Computed        bool
	RowVersion      bool
	Hidden          bool
	GeneratedAlways bool // a period column
	ColumnSet       bool // of a table with sparse columns
	HasDefault      bool
	collation       collation
}

// collation is what the server says about the collation of a text column.
type collation struct {
	codePage, lcid, style, version int
}

// Writable tells whether rows may carry a value for the column.
func (c *TargetColumn) Writable() bool { return c.reason() == "" }

// reason says why rows may not carry a value, "" if they may.
func (c *TargetColumn) reason() string {
	switch {
	case c.Computed:
		return "it is computed by the server"
	case c.RowVersion:
		return "it is a rowversion, which the server numbers"
	case c.GeneratedAlways:
		return "it is GENERATED ALWAYS, which the server fills"
	case c.Hidden:
		return "it is hidden"
	case c.ColumnSet:
		return "it is a column set; name the sparse columns themselves"
	}
	return ""
}

// Column finds a column by its exact name, or, if there is none, by a name that
// differs in case only. It returns -1 for no column and for several.
func (t *Target) Column(name string) int {
	found := -1
	for i := range t.Columns {
		switch {
		case t.Columns[i].Name == name:
			return i
		case strings.EqualFold(t.Columns[i].Name, name):
			if found >= 0 {
				found = len(t.Columns)
				continue
			}
			found = i
		}
	}
	if found == len(t.Columns) {
		return -1
	}
	return found
}

// LoadTarget describes a table, in one query. It returns an error for a table that
// does not exist or is not visible.
func LoadTarget(ctx context.Context, q catalog.Querier, name catalog.Name) (t *Target, err error) {
	defer func() {
		if err != nil {
			t, err = nil, fmt.Errorf("describing table %s: %w", name, err)
		}
	}()
	rows, err := q.Query(ctx, sqlTarget, declTarget, name.Quoted())
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	t = &Target{Name: name}
	row := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(row)
		if err == io.EOF { //nolint:errorlint // the end of the rows is io.EOF itself
			break
		}
		if err != nil {
			return nil, err
		}
		c := cells{row: row}
		t.Columns = append(t.Columns, c.column())
		if c.err != nil {
			return nil, c.err
		}
	}
	if len(t.Columns) == 0 {
		return nil, fmt.Errorf("it does not exist, or is not visible to this login")
	}
	return t, nil
}

// cells reads a row of sqlTarget from left to right; NULL is the zero value.
type cells struct {
	row  []driver.Value
	next int
	err  error
}

func (c *cells) column() TargetColumn {
	col := TargetColumn{Name: c.text()}
	name, base := c.text(), c.text()
	length, precision, scale, coll := c.int(), c.int(), c.int(), c.text()
	nullable := c.bool()
	col.Identity, col.Computed, col.Hidden, col.GeneratedAlways, col.ColumnSet = c.bool(), c.bool(), c.bool(), c.bool(), c.bool()
	col.HasDefault = c.bool()
	col.collation = collation{codePage: c.int(), lcid: c.int(), style: c.int(), version: c.int()}
	if c.err == nil && c.next != len(c.row) {
		c.err = fmt.Errorf("%d columns read of %d", c.next, len(c.row))
	}
	col.Type, col.Err = sqltype.FromCatalog(name, base, length, precision, scale, coll)
	col.Type.Nullable = nullable
	col.RowVersion = col.Err == nil && col.Type.Kind() == sqltype.RowVersion
	return col
}

func (c *cells) take() driver.Value {
	if c.next >= len(c.row) {
		c.err = fmt.Errorf("only %d columns", len(c.row))
		return nil
	}
	c.next++
	return c.row[c.next-1]
}

func (c *cells) text() string {
	switch v := c.take().(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		c.err = fmt.Errorf("column %d is a %T, want text", c.next, v)
		return ""
	}
}

func (c *cells) int() int {
	switch v := c.take().(type) {
	case nil:
		return 0
	case int64:
		return int(v)
	case bool:
		if v {
			return 1
		}
		return 0
	default:
		c.err = fmt.Errorf("column %d is a %T, want a number", c.next, v)
		return 0
	}
}

func (c *cells) bool() bool { return c.int() != 0 }
