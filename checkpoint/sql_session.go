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

func (s *SQLStore) ensureTable(ctx context.Context) error {
	if s.found {
		return nil
	}
	rows, err := s.query(ctx, sqlTableExists, declName, s.cfg.Table)
	if err != nil {
		return fmt.Errorf("looking for the checkpoint table %s: %w", s.cfg.Table, err)
	}
	if len(rows) == 1 && len(rows[0]) == 1 && rows[0][0] != nil {
		s.found = true
		return nil
	}
	if _, err := s.query(ctx, sqlCreateTable, ""); err != nil && !hasNumber(err, errDuplicateName) {
		return fmt.Errorf("creating the checkpoint table %s: %w; an administrator can create it with: %s", s.cfg.Table, err,
			strings.ReplaceAll(sqlCreateTable, "{table}", s.cfg.Table))
	}
	s.found = true
	return nil
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
