package server

import (
	"strings"

	"example.com/mssqlcdc/internal/tds"
)

// batch runs a SQL batch ([MS-TDS] 2.2.6.7 SQLBatch). INSERT BULK makes the next message its rows.
func (c *conn) batch(req *request, s *sink) (after func(), err error) {
	body, err := req.read()
	if err != nil {
		return nil, err
	}
	in, err := tds.ParseSQLBatch(body)
	if err != nil {
		return nil, err
	}
	after, done, err := c.admit(req, s, KindBatch, in.Text)
	if done {
		s.endBatch()
		return after, err
	}
	c.bulk = nil
	if isInsertBulk(in.Text) {
		err = c.insertBulk(req, s, in.Text)
	} else {
		err = c.session.Batch(req.ctx, in.Text, s)
	}
	if err == nil {
		s.endBatch()
	}
	return after, err
}

// isInsertBulk recognises the statement that announces a bulk load; it stands alone in its batch.
func isInsertBulk(text string) bool {
	f := strings.Fields(text[:min(len(text), 256)])
	return len(f) >= 2 && strings.EqualFold(f[0], "insert") && strings.EqualFold(f[1], "bulk")
}
