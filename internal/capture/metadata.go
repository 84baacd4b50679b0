package capture

import (
	"context"
	"fmt"
	"time"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// metadata is the connection that watches the database: the watermark, the capture instances, and which tables have changes.
// It has one user at a time, the coordinator after the start.
type metadata struct {
	open   func(context.Context) (*session.Conn, error)
	conn   *session.Conn
	opened int // how many connections there were: the number of the present one
}

// use runs fn on the connection, opened when needed. A connection that fails is given up: the next use opens a new one,
// which may be on another server.
func (m *metadata) use(ctx context.Context, fn func(*session.Conn) error) error {
	if m.conn == nil || m.conn.Broken() {
		_ = m.close() // a broken connection has nothing to say
		c, err := m.open(ctx)
		if err != nil {
			return err
		}
		m.conn = c
		m.opened++
	}
	return m.run(fn)
}

// on runs fn on the connection of that number, and on no other: a newer one may be on a server with another history.
func (m *metadata) on(number int, fn func(*session.Conn) error) error {
	if m.conn == nil || m.conn.Broken() || m.opened != number {
		return fmt.Errorf("looking at the database: %w", session.ErrClosed)
	}
	return m.run(fn)
}

// ask runs fn on the present connection, and keeps that when the server refuses: what is asked would only help.
func (m *metadata) ask(fn func(*session.Conn) error) error {
	if m.conn == nil || m.conn.Broken() {
		return fmt.Errorf("looking at the database: %w", session.ErrClosed)
	}
	return fn(m.conn)
}

func (m *metadata) run(fn func(*session.Conn) error) error {
	err := fn(m.conn)
	if err != nil {
		_ = m.close() // the error of the request is the one to tell
	}
	return err
}

// database reads the properties of the database, and refuses one that has no CDC.
func (m *metadata) database(ctx context.Context) (db *catalog.Database, err error) {
	err = m.use(ctx, func(c *session.Conn) error {
		db, err = catalog.LoadDatabase(ctx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !db.CDCEnabled {
		return nil, fmt.Errorf("checking database %s: change data capture is not enabled; enable it with: USE %s; EXEC sys.sp_cdc_enable_db", db.Name, catalog.Quote(db.Name))
	}
	return db, nil
}

// state reads the watermark and the capture instances.
func (m *metadata) state(ctx context.Context) (s *catalog.State, err error) {
	err = m.use(ctx, func(c *session.Conn) error {
		s, err = catalog.LoadState(ctx, c)
		return err
	})
	return s, err
}

// retention is how long cleanup leaves changes, 0 when the login may not know.
func (m *metadata) retention(ctx context.Context) (d time.Duration) {
	_ = m.ask(func(c *session.Conn) error { // what cannot be known is 0
		jobs, err := catalog.LoadJobs(ctx, c)
		if err == nil && jobs != nil {
			d = jobs.Retention
		}
		return err
	})
	return d
}

func (m *metadata) close() error {
	if m.conn == nil {
		return nil
	}
	c := m.conn
	m.conn = nil
	return c.Close()
}
