package changetable

import (
	"context"
	"database/sql/driver"
	"fmt"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/request"
)

// rowKey is where a row stands in its change table.
type rowKey struct {
	lsn, seq  checkpoint.LSN
	cmd, op   int32
	noCommand bool
}

// fill runs a page statement into the builder. It tells whether there may be
// more rows than it read. Whatever happens, the request is over when it returns.
func (r *Reader) fill(ctx context.Context, s request.Statement, high checkpoint.LSN, maxRows, maxBytes int) (full bool, err error) {
	rows, err := r.conn.Query(ctx, s.Text, s.Decl, s.Args...)
	if err != nil {
		return false, r.explain(err)
	}
	defer func() {
		if closeErr := rows.Close(); err == nil && closeErr != nil {
			err = r.explain(closeErr)
		}
	}()
	proof := make([]driver.Value, len(rows.Columns()))
	var reached checkpoint.LSN
	for {
		more, err := request.Next(rows, proof)
		if err != nil {
			return false, r.explain(err)
		}
		if !more {
			break
		}
		if reached, err = request.LSN(proof[0]); err != nil {
			return false, r.explain(err)
		}
	}
	if !rows.HasNextResultSet() {
		return false, &BehindError{Table: r.plan.table, Want: high, Server: reached}
	}
	source := r.source(rows)
	count := 0
	for rows.HasNextResultSet() {
		if err := rows.NextResultSet(); err != nil {
			return false, r.explain(err)
		}
		if err := source.begin(); err != nil {
			return false, r.explain(err)
		}
		for {
			more, err := source.next()
			if err != nil {
				return false, r.explain(err)
			}
			if !more {
				break
			}
			if err := r.add(source); err != nil {
				return false, err
			}
			count++
			// A before image is not the end of a page: its row's new image follows.
			if maxBytes > 0 && r.builder.Bytes() >= maxBytes && r.keys[len(r.keys)-1].op != Before {
				return true, nil
			}
		}
	}
	return maxRows > 0 && count >= maxRows, nil
}

// add appends one row and notes its key.
func (r *Reader) add(source rowSource) error {
	k, err := source.key()
	if err != nil {
		return r.explain(err)
	}
	if k.lsn.IsZero() {
		return r.explain(fmt.Errorf("a change without an LSN"))
	}
	if err := source.append(); err != nil {
		return &ValueError{Table: r.plan.table, Position: k.position(r.inst.Capture), Err: err}
	}
	r.keys = append(r.keys, k)
	return nil
}

func (k rowKey) position(capture string) checkpoint.Position {
	return checkpoint.Position{Instance: capture, LSN: k.lsn, CommandID: k.cmd, SeqVal: k.seq, Operation: k.op}
}

// keyOf reads the change columns of a row.
func keyOf(row []driver.Value) (k rowKey, err error) {
	if k.lsn, err = request.LSN(row[0]); err != nil {
		return k, err
	}
	if k.seq, err = request.LSN(row[2]); err != nil {
		return k, err
	}
	switch cmd := row[1].(type) {
	case nil:
		k.noCommand = true
	case int64:
		k.cmd = int32(cmd)
	default:
		return k, fmt.Errorf("reading %s: the driver gave a %T", colCommandID, cmd)
	}
	op, ok := row[3].(int64)
	if !ok || op < Delete || op > After {
		return k, fmt.Errorf("reading %s: the server gave %v", colOperation, row[3])
	}
	k.op = int32(op)
	return k, nil
}
