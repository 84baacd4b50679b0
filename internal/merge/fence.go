package merge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// Fence is the table that keeps how far each lane has come, in the database of the targets.
type Fence struct{ table catalog.Name }

// Lane is an order of rows that are applied one after the other: of a channel, into a table.
type Lane struct{ Target, Channel string }

// Mark is a row of the fence.
type Mark struct {
	Token Token
	Epoch int64 // grows with each writer that takes the lane over
}

// ErrTaken is wrapped when another writer has moved or taken over a lane.
var ErrTaken = errors.New("another writer has taken the lane over")

// The T-SQL of the fence, with the table as {f}. Channels and targets are compared byte by byte. A key of two long names is too wide
// for a clustered index.
const (
	sqlFenceTable = `CREATE TABLE {f} (
  target nvarchar(261) COLLATE Latin1_General_BIN2 NOT NULL,
  channel nvarchar(400) COLLATE Latin1_General_BIN2 NOT NULL,
  token nvarchar(400) COLLATE Latin1_General_BIN2 NOT NULL,
  epoch bigint NOT NULL,
  updated_at datetime2(3) NOT NULL DEFAULT SYSUTCDATETIME(),
  PRIMARY KEY NONCLUSTERED (channel, target))`
	sqlFenceLook = "SELECT TOP (0) target, channel, token, epoch, updated_at FROM {f}"
	sqlFenceRead = "SELECT token, epoch FROM {f} WHERE channel = @channel AND target = @target"
	sqlFenceNew  = "INSERT INTO {f} (target, channel, token, epoch) VALUES (@target, @channel, N'', 1)"
	sqlFenceTake = "UPDATE {f} SET epoch = epoch + 1, updated_at = SYSUTCDATETIME() WHERE channel = @channel AND target = @target AND epoch = @epoch"
	sqlFenceMove = "UPDATE {f} SET token = @token, updated_at = SYSUTCDATETIME() WHERE channel = @channel AND target = @target AND epoch = @epoch AND token = @old"

	declLane = "@target nvarchar(261), @channel nvarchar(400)"
	declTake = declLane + ", @epoch bigint"
	declMove = declTake + ", @token nvarchar(400), @old nvarchar(400)"
)

// NewFence names the table of a fence.
func NewFence(table catalog.Name) *Fence { return &Fence{table: table} }

func (f *Fence) text(statement string) string {
	return strings.ReplaceAll(statement, "{f}", f.table.Quoted())
}

// Ready looks for the table, and makes it if it is not there.
func (f *Fence) Ready(ctx context.Context, conn *session.Conn) error {
	return ready(ctx, conn, f.table, f.text(sqlFenceLook), f.text(sqlFenceTable), "SELECT, INSERT, UPDATE")
}

// ready looks for a table of ours, and makes it if it is not there.
func ready(ctx context.Context, conn *session.Conn, table catalog.Name, look, create, rights string) error {
	_, err := conn.QueryRow(ctx, look, "")
	if err == nil || errors.Is(err, session.ErrNoRows) {
		return nil
	}
	if !session.HasNumber(err, 208) {
		if session.IsDenied(err) {
			return fmt.Errorf("looking at %s: %w (the login needs GRANT %s ON %s)", table, err, rights, table.Quoted())
		}
		return fmt.Errorf("looking at %s: %w", table, err)
	}
	err = conn.Batch(ctx, create)
	if err != nil && !session.HasNumber(err, 2714) { // another process may have been faster
		return fmt.Errorf("making %s, which is not there: %w (let somebody who may run: %s; and GRANT %s ON %s)", table, err, strings.Join(strings.Fields(create), " "), rights, table.Quoted())
	}
	return nil
}

// Read gives the mark of a lane, and false if there is none.
func (f *Fence) Read(ctx context.Context, conn *session.Conn, l Lane) (m Mark, found bool, err error) {
	sets, err := results(ctx, conn, f.text(sqlFenceRead), declLane, l.Target, l.Channel)
	if err != nil {
		return m, false, fmt.Errorf("reading the fence of %s: %w", l.Channel, err)
	}
	row := only(sets, 0)
	if row == nil {
		return m, false, nil
	}
	text, _ := row[0].(string)
	m.Epoch = count(row, 1)
	if text == "" {
		return m, true, nil
	}
	if m.Token, err = ParseToken(text); err != nil {
		return m, false, fmt.Errorf("reading the fence of %s: %w", l.Channel, err)
	}
	return m, true, nil
}

// Take makes the caller the one writer of a lane: a former one can no longer move it.
func (f *Fence) Take(ctx context.Context, conn *session.Conn, l Lane) (Mark, error) {
	for {
		m, found, err := f.Read(ctx, conn, l)
		if err != nil {
			return m, err
		}
		if !found {
			_, err = conn.Exec(ctx, f.text(sqlFenceNew), declLane, l.Target, l.Channel)
			if err == nil {
				return Mark{Epoch: 1}, nil
			}
			if !session.HasNumber(err, 2627) { // somebody was faster
				return m, fmt.Errorf("taking over %s: %w", l.Channel, err)
			}
			continue
		}
		n, err := conn.Exec(ctx, f.text(sqlFenceTake), declTake, l.Target, l.Channel, m.Epoch)
		if err != nil {
			return m, fmt.Errorf("taking over %s: %w", l.Channel, err)
		}
		if n == 1 {
			m.Epoch++
			return m, nil
		}
	}
}

// Move puts the mark of a lane from where the caller knows it to be to a token, in the caller's transaction. Its error wraps
// ErrTaken if it is not there.
func (f *Fence) Move(ctx context.Context, conn *session.Conn, l Lane, from Mark, to Token) error {
	n, err := conn.Exec(ctx, f.text(sqlFenceMove), declMove, l.Target, l.Channel, from.Epoch, to.String(), from.Token.String())
	if err != nil {
		return fmt.Errorf("moving the fence of %s: %w", l.Channel, err)
	}
	if n != 1 {
		return fmt.Errorf("moving the fence of %s: %w", l.Channel, ErrTaken)
	}
	return nil
}
