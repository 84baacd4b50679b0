package exec

import (
	"context"
	"fmt"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// tempScope is the temporary tables of a session by the name that statements use; those of an inner procedure come
// after those of its callers and end with it.
type tempScope struct{ tables []tempTable }

type tempTable struct {
	name  string
	table *storage.Table
}

// find gives the newest temporary table of a name.
func (t *tempScope) find(name string) *storage.Table {
	for i := len(t.tables) - 1; i >= 0; i-- {
		if strings.EqualFold(t.tables[i].name, name) {
			return t.tables[i].table
		}
	}
	return nil
}

func (t *tempScope) add(name string, table *storage.Table) {
	t.tables = append(t.tables, tempTable{name, table})
}

func (t *tempScope) remove(table *storage.Table) {
	for i, x := range t.tables {
		if x.table == table {
			t.tables = append(t.tables[:i:i], t.tables[i+1:]...)
			return
		}
	}
}

// push remembers where an inner scope begins.
func (t *tempScope) push() int { return len(t.tables) }

// pop drops the tables of the inner scope.
func (t *tempScope) pop(at int) {
	for len(t.tables) > at {
		x := t.tables[len(t.tables)-1]
		t.tables = t.tables[:len(t.tables)-1]
		dropQuietly(x.table)
	}
}

// TempTable finds a temporary table of the session, nil if there is none.
func (s *Session) TempTable(name string) *storage.Table { return s.temp.find(name) }

func (s *Session) dropTempTables() { s.temp.pop(0) }

// dropQuietly removes a temporary table in a transaction of its own; one that a rolled back transaction made is gone
// already.
func dropQuietly(t *storage.Table) {
	db := t.Database()
	if db.ObjectByID(t.ID()) == nil {
		return
	}
	tx := db.Instance().Begin(storage.TxOptions{})
	if err := tx.DropTable(context.Background(), t); err != nil {
		tx.Rollback()
		return
	}
	if _, err := tx.Commit(); err != nil {
		tx.Rollback()
	}
}

// tempName is the name of a temporary table in tempdb: that of the statement, filled up with a number.
func (s *Session) tempName(name string) string {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.in.temps++
	suffix := fmt.Sprintf("%012X", s.in.temps)
	pad := max(128-len(name)-len(suffix), 0)
	return name + strings.Repeat("_", pad) + suffix
}
