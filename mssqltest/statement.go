package mssqltest

import (
	"slices"
	"sync"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/exec"
)

// Statement is what one executed statement cost.
type Statement struct {
	SPID int
	Text string
	// RowsExamined counts the rows that were read from tables and indexes, RowsReturned those that the statement gave.
	RowsExamined, RowsReturned int64
	Duration                   time.Duration
}

// statementLog keeps the statements while somebody wants them.
type statementLog struct {
	mu   sync.Mutex
	on   bool
	list []Statement
}

func (l *statementLog) add(s exec.StatementStats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on {
		l.list = append(l.list, Statement(s))
	}
}

// RecordStatements begins to keep, or forgets, what statements cost.
func (c *Control) RecordStatements(on bool) {
	c.s.stats.mu.Lock()
	defer c.s.stats.mu.Unlock()
	c.s.stats.on, c.s.stats.list = on, nil
}

// Statements are the statements since RecordStatements, of all connections, in the order in which they ended.
func (c *Control) Statements() []Statement {
	c.s.stats.mu.Lock()
	defer c.s.stats.mu.Unlock()
	return slices.Clone(c.s.stats.list)
}
