package main

import (
	"context"
	"database/sql"
	"errors"

	mssql "github.com/microsoft/go-mssqldb"
)

// connection is one connection of the driver.
type connection struct {
	db   *sql.DB
	conn *sql.Conn
}

func connect(ctx context.Context, dsn string) (c connection, err error) {
	if c.db, err = sql.Open("sqlserver", dsn); err == nil {
		c.conn, err = c.db.Conn(ctx)
	}
	return c, err
}

func (c connection) close() error { return errors.Join(c.conn.Close(), c.db.Close()) }

// within runs f in a transaction.
func (c connection) within(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := c.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// copyIn fills a temporary table with the driver's CopyIn and merges it.
type copyIn struct{ connection }

func openCopyIn(ctx context.Context, dsn string) (writer, error) {
	c, err := connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	_, err = c.conn.ExecContext(ctx, "CREATE TABLE #t (id bigint NOT NULL PRIMARY KEY, amount bigint NOT NULL, name nvarchar(40) NOT NULL, ratio float NOT NULL, state nvarchar(20) NOT NULL)")
	return copyIn{c}, err
}

const mergeTable = `MERGE dbo.t WITH (HOLDLOCK) AS t USING #t AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET amount = s.amount, name = s.name, ratio = s.ratio, state = s.state
WHEN NOT MATCHED THEN INSERT (id, amount, name, ratio, state) VALUES (s.id, s.amount, s.name, s.ratio, s.state);
TRUNCATE TABLE #t`

func (c copyIn) write(ctx context.Context, from, to int) error {
	return c.within(ctx, func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, mssql.CopyIn("#t", mssql.BulkOptions{}, columns...))
		if err != nil {
			return err
		}
		for id := from; id < to; id++ {
			if _, err := stmt.ExecContext(ctx, int64(id), int64(id), name(id), ratio(id), states[id%len(states)]); err != nil {
				return err
			}
		}
		if _, err := stmt.ExecContext(ctx); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, mergeTable)
		return err
	})
}

// rowWise runs a prepared MERGE for each row.
type rowWise struct{ connection }

func openRowWise(ctx context.Context, dsn string) (writer, error) {
	c, err := connect(ctx, dsn)
	return rowWise{c}, err
}

const mergeRow = `MERGE dbo.t WITH (HOLDLOCK) AS t USING (VALUES (@p1, @p2, @p3, @p4, @p5)) AS s (id, amount, name, ratio, state) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET amount = s.amount, name = s.name, ratio = s.ratio, state = s.state
WHEN NOT MATCHED THEN INSERT (id, amount, name, ratio, state) VALUES (s.id, s.amount, s.name, s.ratio, s.state);`

func (c rowWise) write(ctx context.Context, from, to int) error {
	return c.within(ctx, func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, mergeRow)
		if err != nil {
			return err
		}
		for id := from; id < to; id++ {
			if _, err := stmt.ExecContext(ctx, int64(id), int64(id), name(id), ratio(id), states[id%len(states)]); err != nil {
				return errors.Join(err, stmt.Close())
			}
		}
		return stmt.Close()
	})
}
