package merge

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"unicode/utf8"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// Rejects is the table of rows that were refused.
type Rejects struct{ table catalog.Name }

// Reject is a refused row. What is empty is NULL.
type Reject struct {
	Target, Operation, Key, EventID, Channel, Token string

	Error string
	Body  []byte
}

const (
	sqlRejectTable = `CREATE TABLE {r} (
  id bigint IDENTITY PRIMARY KEY,
  rejected_at datetime2(3) NOT NULL DEFAULT SYSUTCDATETIME(),
  target nvarchar(261) NULL,
  error nvarchar(max) NOT NULL,
  operation nvarchar(100) NULL,
  [key] nvarchar(max) NULL,
  event_id nvarchar(max) NULL,
  channel nvarchar(400) NULL,
  token nvarchar(max) NULL,
  body nvarchar(max) NULL,
  body_binary varbinary(max) NULL)`
	sqlRejectLook = "SELECT TOP (0) target, error, operation, [key], event_id, channel, token, body, body_binary FROM {r}"
	sqlReject     = `INSERT INTO {r} (target, error, operation, [key], event_id, channel, token, body, body_binary)
VALUES (NULLIF(@target, N''), @error, NULLIF(@operation, N''), NULLIF(@key, N''), NULLIF(@event, N''), NULLIF(@channel, N''), NULLIF(@token, N''),
 CASE WHEN @text = 1 THEN @body END, CASE WHEN @text = 0 THEN @binary END)`
	declReject = "@target nvarchar(261), @error nvarchar(max), @operation nvarchar(100), @key nvarchar(max), @event nvarchar(max), @channel nvarchar(400), @token nvarchar(max), @text bit, @body nvarchar(max), @binary varbinary(max)"
)

// NewRejects names the table.
func NewRejects(table catalog.Name) *Rejects { return &Rejects{table: table} }

func (r *Rejects) text(statement string) string {
	return strings.ReplaceAll(statement, "{r}", r.table.Quoted())
}

// Ready looks for the table, and makes it if it is not there.
func (r *Rejects) Ready(ctx context.Context, conn *session.Conn) error {
	return ready(ctx, conn, r.table, r.text(sqlRejectLook), r.text(sqlRejectTable), "SELECT, INSERT")
}

// Add stores a refused row, in the caller's transaction if there is one.
func (r *Rejects) Add(ctx context.Context, conn *session.Conn, x *Reject) error {
	text, binary, isText := string(x.Body), []byte{}, true
	if !utf8.Valid(x.Body) {
		text, binary, isText = "", x.Body, false
	}
	args := []driver.Value{x.Target, x.Error, cut(x.Operation, 100), x.Key, x.EventID, cut(x.Channel, 400), x.Token, isText, text, binary}
	if _, err := conn.Exec(ctx, r.text(sqlReject), declReject, args...); err != nil {
		return fmt.Errorf("storing a refused row in %s: %w", r.table, err)
	}
	return nil
}

// cut shortens a text to so many bytes, which are at least as many as UTF-16 units.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
