package checkpoint

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// query runs a text on the session, opening it first. After a failure the session is closed: what state it is in is not known.
func (s *SQLStore) query(ctx context.Context, text, declaration string, args ...driver.Value) ([][]driver.Value, error) {
	if s.session == nil {
		session, err := s.cfg.Open(ctx)
		if err != nil {
			return nil, err
		}
		s.session = session
	}
	rows, err := s.session.Query(ctx, strings.ReplaceAll(text, "{table}", s.cfg.Table), declaration, args...)
	if err != nil {
		return nil, errors.Join(err, s.closeSession())
	}
	return rows, nil
}

func (s *SQLStore) closeSession() error {
	if s.session == nil {
		return nil
	}
	session := s.session
	s.session = nil
	if err := session.Close(); err != nil {
		return fmt.Errorf("closing the session: %w", err)
	}
	return nil
}

// Numbers of server errors.
const (
	errDuplicateKey  = 2627
	errDuplicateName = 2714
)

// hasNumber reports whether err carries one of these numbers, as mssql.Error does.
func hasNumber(err error, numbers ...int32) bool {
	var e interface{ SQLErrorNumber() int32 }
	return errors.As(err, &e) && slices.Contains(numbers, e.SQLErrorNumber())
}

// ourColumns are the columns of the table that sqlCreateTable makes.
var ourColumns = []string{"pipeline", "source_table", "position", "saved_at", "owner", "epoch", "expires_at"}

// ensureTable finds the table, and makes it if it is missing. A table of another shape is somebody else's.
func (s *SQLStore) ensureTable(ctx context.Context) error {
	found, err := s.findTable(ctx)
	if err != nil || found {
		return err
	}
	if _, err := s.query(ctx, sqlCreateTable, ""); err != nil && !hasNumber(err, errDuplicateName) {
		return fmt.Errorf("creating the checkpoint table %s: %w; an administrator can create it with: %s", s.cfg.Table, err,
			strings.ReplaceAll(sqlCreateTable, "{table}", s.cfg.Table))
	}
	s.found = true
	return nil
}

// findTable looks whether the table is there, and is ours by its shape.
func (s *SQLStore) findTable(ctx context.Context) (bool, error) {
	if s.found {
		return true, nil
	}
	rows, err := s.query(ctx, sqlColumns, declName, s.cfg.Table)
	if err != nil {
		return false, fmt.Errorf("looking for the checkpoint table %s: %w", s.cfg.Table, err)
	}
	if len(rows) == 0 {
		return false, nil
	}
	columns := map[string]bool{}
	for _, row := range rows {
		if name, ok := row[0].(string); ok {
			columns[strings.ToLower(name)] = true
		}
	}
	if columns["cache_key"] && columns["cache_val"] {
		return false, fmt.Errorf("looking for the checkpoint table %s: it is the checkpoint table of Redpanda Connect's input, which is left as it is; "+
			"leave checkpoint_cache_table_name out, or name another table, and take the position over with: mssqlcdc positions import --from connect-table --source-table %s",
			s.cfg.Table, s.cfg.Table)
	}
	for _, name := range ourColumns {
		if !columns[name] {
			return false, fmt.Errorf("looking for the checkpoint table %s: it is not one of mssql_cdc, it has no column %s; name another in checkpoint_cache_table_name", s.cfg.Table, name)
		}
	}
	s.found = true
	return true, nil
}

func (s *SQLStore) readPositions(ctx context.Context) (map[string]Position, error) {
	rows, err := s.query(ctx, sqlLoad, declPipeline, s.cfg.Key)
	if err != nil {
		return nil, err
	}
	positions := make(map[string]Position, len(rows))
	for _, row := range rows {
		if len(row) != 2 {
			return nil, fmt.Errorf("a row has %d columns, not 2", len(row))
		}
		table, ok1 := row[0].(string)
		text, ok2 := row[1].(string)
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("the row of table %v has a %T for its position", row[0], row[1])
		}
		p, err := ParsePosition(text)
		if err != nil {
			return nil, fmt.Errorf("the row of table %s: %w", table, err)
		}
		positions[table] = p
	}
	return positions, nil
}
