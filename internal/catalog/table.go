package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"example.com/mssqlcdc/internal/sqltype"
)

// ErrNoTable is returned when a table does not exist, or the login may not see it.
var ErrNoTable = errors.New("it does not exist, or is not visible to this login")

const (
	// sqlTableColumns describes the table whose quoted name is @name, which need not be captured.
	sqlTableColumns = `SELECT t.object_id, s.name, t.name, c.name, c.is_computed, c.is_nullable, c.is_masked, c.is_identity,
 ty.name, bt.name, CAST(c.max_length AS int), CAST(c.precision AS int), CAST(c.scale AS int), c.collation_name
FROM sys.tables AS t
 JOIN sys.schemas AS s ON s.schema_id = t.schema_id
 JOIN sys.columns AS c ON c.object_id = t.object_id
 LEFT JOIN sys.types AS ty ON ty.user_type_id = c.user_type_id
 LEFT JOIN sys.types AS bt ON bt.user_type_id = c.system_type_id
WHERE t.object_id = OBJECT_ID(@name) ORDER BY c.column_id`

	// sqlUserTables lists the tables of a database but those of CDC itself.
	sqlUserTables = `SELECT s.name, t.name, t.is_tracked_by_cdc FROM sys.tables AS t
 JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE t.is_ms_shipped = 0 AND s.name <> N'cdc' ORDER BY s.name, t.name`
)

// UserTable is a table of a database.
type UserTable struct {
	Name     Name
	Captured bool
}

// UserTables lists the tables that the login may see.
func UserTables(ctx context.Context, q Querier) (out []UserTable, _ error) {
	err := query(ctx, q, sqlUserTables, "", nil, func(c *cells) {
		out = append(out, UserTable{Name{Schema: c.text(), Object: c.text()}, c.bool()})
	})
	if err != nil {
		return nil, fmt.Errorf("listing the tables: %w", err)
	}
	return out, nil
}

// LoadTable describes a table that need not be captured, in the form of an instance without a name: its columns and where they
// are. The types are nullable always, as those of an instance.
func LoadTable(ctx context.Context, q Querier, name Name) (*Instance, error) {
	var i *Instance
	var typeErr error
	err := query(ctx, q, sqlTableColumns, declName, []driver.Value{name.Quoted()}, func(c *cells) {
		id, found := int32(c.int()), Name{Schema: c.text(), Object: c.text()}
		if i == nil {
			i = &Instance{SourceID: id, Source: found}
		}
		col := Column{Name: c.text(), Ordinal: len(i.Columns) + 1, Computed: c.bool(), NotNull: !c.bool(), Masked: c.bool(), Identity: c.bool()}
		typeName, base := c.text(), c.text()
		length, precision, scale, collation := int(c.int()), int(c.int()), int(c.int()), c.text()
		if c.err != nil {
			return
		}
		t, err := sqltype.FromCatalog(typeName, base, length, precision, scale, collation)
		if err != nil && typeErr == nil {
			typeErr = fmt.Errorf("column %s: %w", col.Name, err)
		}
		t.Nullable = true
		col.Type, col.LOB = t, err == nil && t.IsLOB()
		i.Columns = append(i.Columns, col)
	})
	switch {
	case err == nil && i == nil:
		err = ErrNoTable
	case err == nil:
		err = typeErr
	}
	if err != nil {
		return nil, fmt.Errorf("describing table %s: %w", name, err)
	}
	return i, nil
}
