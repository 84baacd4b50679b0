package catalog

import (
	"context"
	"database/sql/driver"
	"fmt"

	"example.com/mssqlcdc/internal/sqltype"
)

// Source is what a snapshot of a captured table has to know beyond its capture
// instance.
type Source struct {
	Name Name
	// Rows is about how many rows the table has, by the server's own count.
	Rows int64
	// Snapshot tells whether the database allows SNAPSHOT isolation.
	Snapshot bool
	// Unmask tells whether the login sees masked columns in clear.
	Unmask bool
	// Policies are the enabled security policies that filter rows, quoted.
	Policies []string
	// Indexes are the enabled unique indexes without a filter, by index id.
	Indexes []UniqueIndex
}

// UniqueIndex is a unique index of a table, with its key columns in key order.
type UniqueIndex struct {
	ID      int
	Primary bool
	Columns []IndexColumn
}

// IndexColumn is a key column of an index of the source table. Its type is that
// of the source: a rowversion is one, and NULL is in the type.
type IndexColumn struct {
	Name       string
	Type       sqltype.Type
	Descending bool
	Masked     bool
	// Err says why the type has no mapping; Type is then not set.
	Err error
}

// LoadSource describes a source table, in one round trip. It returns an error
// for a table that does not exist or is not visible.
func LoadSource(ctx context.Context, q Querier, id int32, name Name) (*Source, error) {
	s := &Source{Name: name}
	found := false
	args := []driver.Value{int64(id), name.Quoted()}
	err := query(ctx, q, sqlSourceTable+sqlSourcePolicies+sqlSourceIndexes, declSource, args,
		func(c *cells) {
			found = c.int() > 0
			s.Rows, s.Snapshot = c.int(), c.int() == 1
			onDatabase, onTable := c.bool(), c.bool()
			s.Unmask = onDatabase || onTable
		},
		func(c *cells) {
			s.Policies = append(s.Policies, Name{Schema: c.text(), Object: c.text()}.Quoted())
		},
		s.addIndexColumn,
	)
	if err == nil && !found {
		err = fmt.Errorf("it does not exist, or is not visible to this login")
	}
	if err != nil {
		return nil, fmt.Errorf("describing table %s: %w", name, err)
	}
	return s, nil
}

func (s *Source) addIndexColumn(c *cells) {
	id, primary := int(c.int()), c.bool()
	col := IndexColumn{Name: c.text(), Descending: c.bool()}
	nullable := c.bool()
	col.Masked = c.bool()
	name, base := c.text(), c.text()
	length, precision, scale, collation := int(c.int()), int(c.int()), int(c.int()), c.text()
	if c.err != nil {
		return
	}
	if n := len(s.Indexes); n == 0 || s.Indexes[n-1].ID != id {
		s.Indexes = append(s.Indexes, UniqueIndex{ID: id, Primary: primary})
	}
	col.Type, col.Err = sqltype.FromCatalog(name, base, length, precision, scale, collation)
	col.Type.Nullable = nullable
	index := &s.Indexes[len(s.Indexes)-1]
	index.Columns = append(index.Columns, col)
}
