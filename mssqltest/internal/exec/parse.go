package exec

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/sqlc-dev/teesql/ast"
	"github.com/sqlc-dev/teesql/parser"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// batch is a parsed and verified batch. It is shared between sessions and never changed.
type batch struct {
	text  string
	src   string // what was parsed: text with rewritten expressions, in which spans count
	stmts []ast.Statement
	// mends are the clauses that were cut out before parsing, by the offset of their statement.
	mends map[int]*mend
	lines lineIndex
}

// maxParsed bounds the cache of parsed batches, maxParsedText what is worth keeping.
const (
	maxParsed     = 512
	maxParsedText = 64 << 10
)

// parseCache keeps parsed batches by text. When it is full it starts again: texts that matter come back at once.
type parseCache struct {
	mu sync.Mutex
	m  map[string]*batch
}

func (c *parseCache) get(text string) (*batch, error) {
	c.mu.Lock()
	b := c.m[text]
	c.mu.Unlock()
	if b != nil {
		return b, nil
	}
	b, err := parseBatch(text)
	if err != nil {
		return nil, err
	}
	if len(text) <= maxParsedText {
		c.mu.Lock()
		if c.m == nil || len(c.m) >= maxParsed {
			c.m = make(map[string]*batch)
		}
		c.m[text] = b
		c.mu.Unlock()
	}
	return b, nil
}

// parseBatch parses and verifies one batch; its errors are syntax errors (102, 105, 113, 156).
func parseBatch(text string) (*batch, error) {
	toks, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	b := &batch{text: text, src: rewrite(text, toks), mends: map[int]*mend{}}
	b.lines = newLineIndex(b.src)
	if len(toks) == 0 {
		return b, nil
	}
	if b.src != text {
		if toks, err = tokenize(b.src); err != nil {
			return nil, err
		}
	}
	mended, err := b.mend(toks)
	if err != nil {
		return nil, err
	}
	script, perr := parseText(mended)
	if perr != nil {
		return nil, syntaxError(perr, toks, b.lines)
	}
	if len(script.Batches) > 1 {
		return nil, sqlerr.New(102, "GO")
	}
	if mended != b.src {
		if toks, err = tokenize(mended); err != nil {
			return nil, err
		}
	}
	for _, bt := range script.Batches {
		b.stmts = append(b.stmts, bt.Statements...)
	}
	v := verifier{toks: toks, lines: b.lines}
	if err := v.batch(b.stmts); err != nil {
		return nil, err
	}
	return b, nil
}

// parseText calls teesql, which may panic on a text that no one has tried before.
func parseText(text string) (script *ast.Script, err error) {
	defer func() {
		if p := recover(); p != nil {
			script, err = nil, fmt.Errorf("parsing: %v", p)
		}
	}()
	return parser.Parse(context.Background(), strings.NewReader(text))
}

// syntaxError turns teesql's message into 102 or 156. teesql says which token it saw, seldom where; the line is that of
// the last place where the token stands.
func syntaxError(perr error, toks []token, lines lineIndex) error {
	msg := perr.Error()
	near := ""
	for _, sep := range []string{"unexpected token in expression: ", "unexpected token: ", ", got "} {
		if i := strings.LastIndex(msg, sep); i >= 0 {
			near = strings.TrimSpace(msg[i+len(sep):])
			break
		}
	}
	if near == "" {
		near = toks[len(toks)-1].text
	}
	e := near102(near)
	for i := len(toks) - 1; i >= 0; i-- {
		if toks[i].text == near {
			e.Line = lines.line(toks[i].pos)
			break
		}
	}
	return e
}

// near102 makes 156 for a reserved word and 102 for anything else.
func near102(near string) *sqlerr.Error {
	if reserved[strings.ToUpper(near)] {
		return sqlerr.New(156, near)
	}
	return sqlerr.New(102, near)
}

// reserved are the words that SQL Server calls keywords in error 156.
var reserved = wordSet(`ADD ALL ALTER AND ANY AS ASC AUTHORIZATION BACKUP BEGIN BETWEEN BREAK BROWSE BULK BY CASCADE CASE CHECK
CHECKPOINT CLOSE CLUSTERED COALESCE COLLATE COLUMN COMMIT COMPUTE CONSTRAINT CONTAINS CONTAINSTABLE CONTINUE CONVERT CREATE CROSS
CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE DBCC DEALLOCATE DECLARE DEFAULT DELETE DENY DESC
DISTINCT DISTRIBUTED DOUBLE DROP ELSE END ERRLVL ESCAPE EXCEPT EXEC EXECUTE EXISTS EXIT EXTERNAL FETCH FILE FILLFACTOR FOR FOREIGN
FREETEXT FROM FULL FUNCTION GOTO GRANT GROUP HAVING HOLDLOCK IDENTITY IDENTITY_INSERT IDENTITYCOL IF IN INDEX INNER INSERT INTERSECT
INTO IS JOIN KEY KILL LEFT LIKE LINENO MERGE NATIONAL NOCHECK NONCLUSTERED NOT NULL NULLIF OF OFF OFFSETS ON OPEN OPENQUERY OPENROWSET
OPENXML OPTION OR ORDER OUTER OVER PERCENT PIVOT PLAN PRIMARY PRINT PROC PROCEDURE PUBLIC RAISERROR READ READTEXT RECONFIGURE
REFERENCES REPLICATION RESTORE RESTRICT RETURN REVERT REVOKE RIGHT ROLLBACK ROWCOUNT ROWGUIDCOL RULE SAVE SCHEMA SELECT SESSION_USER
SET SETUSER SHUTDOWN SOME STATISTICS SYSTEM_USER TABLE TABLESAMPLE TEXTSIZE THEN TO TOP TRAN TRANSACTION TRIGGER TRUNCATE TSEQUAL
UNION UNIQUE UNPIVOT UPDATE UPDATETEXT USE USER VALUES VARYING VIEW WAITFOR WHEN WHERE WHILE WITH WRITETEXT`)

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}
