package catalog

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
)

// Rights are what the login may do in the database.
type Rights struct {
	// Denied names the tables of the schema cdc that the login may not read.
	Denied []string
	// Unmask tells whether masked columns are read in clear.
	Unmask bool
	// ViewState tells whether the dynamic management views may be read.
	ViewState bool
	Login     string
	User      string
}

// LoadRights asks the server what the login may do. It reads no user data.
func LoadRights(ctx context.Context, q Querier) (*Rights, error) {
	var r *Rights
	err := query(ctx, q, sqlMetadataRights, "", nil, func(c *cells) {
		r = &Rights{}
		for _, table := range []string{"cdc.lsn_time_mapping", "cdc.change_tables", "cdc.captured_columns", "cdc.index_columns", "cdc.ddl_history"} {
			if !c.bool() {
				r.Denied = append(r.Denied, table)
			}
		}
		r.Unmask, r.ViewState = c.bool(), c.bool()
		r.Login, r.User = c.text(), c.text()
	})
	if err == nil && r == nil {
		err = fmt.Errorf("the server gave no answer")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the rights of the login: %w", err)
	}
	return r, nil
}

// MayInsert tells whether the login may INSERT into a table.
func MayInsert(ctx context.Context, q Querier, table Name) (bool, error) {
	ok := false
	err := query(ctx, q, sqlInsertRight, declName, []driver.Value{table.Quoted()}, func(c *cells) { ok = c.bool() })
	if err != nil {
		return false, fmt.Errorf("reading the rights on %s: %w", table, err)
	}
	return ok, nil
}

// MayRead tells whether the login may SELECT from a table.
func MayRead(ctx context.Context, q Querier, table Name) (bool, error) {
	ok := false
	err := query(ctx, q, sqlTableRight, declName, []driver.Value{table.Quoted()}, func(c *cells) { ok = c.bool() })
	if err != nil {
		return false, fmt.Errorf("reading the rights on %s: %w", table, err)
	}
	return ok, nil
}

// RowRights are the rights on the rows of a table.
var RowRights = []string{"SELECT", "INSERT", "UPDATE", "DELETE"}

// MissingRights tells which rights the login does not have on a table, of those that are named.
func MissingRights(ctx context.Context, q Querier, table Name, rights []string) (missing []string, _ error) {
	err := query(ctx, q, sqlRowRights, declName, []driver.Value{table.Quoted()}, func(c *cells) {
		for _, right := range RowRights {
			if null := c.null(); !c.bool() && !null && slices.Contains(rights, right) {
				missing = append(missing, right)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the rights on %s: %w", table, err)
	}
	return missing, nil
}
