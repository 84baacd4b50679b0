package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/snapshot"
)

const (
	// attempts is how often a page is tried before its error counts.
	attempts = 8
	// pageBytes bounds a page that is held in memory.
	pageBytes = 4 << 20

	sqlPlace = "SELECT CAST(SERVERPROPERTY(N'ServerName') AS nvarchar(128)) + N'/' + DB_NAME()"
)

// side is one of the two servers.
type side struct {
	what string // source or target
	conf session.Config
	conn *session.Conn
}

func (s *side) close() error {
	if s.conn == nil {
		return nil
	}
	conn := s.conn
	s.conn = nil
	return conn.Close()
}

// do runs f on the side's connection, and again on a new one after an error that passes.
func (s *side) do(ctx context.Context, f func(*session.Conn) error) error {
	wait := 100 * time.Millisecond
	for attempt := 1; ; attempt++ {
		err := s.try(ctx, f)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !session.IsTransient(err) || attempt == attempts:
			return fmt.Errorf("%s: %w", s.what, err)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, 5*time.Second)
	}
}

func (s *side) try(ctx context.Context, f func(*session.Conn) error) (err error) {
	if s.conn == nil {
		if s.conn, err = session.Open(ctx, s.conf); err != nil {
			return err
		}
	}
	if err = f(s.conn); err != nil && !session.IsFatal(err) {
		return errors.Join(err, s.close())
	}
	return err
}

// place names the server and the database.
func (s *side) place(ctx context.Context) (place string, err error) {
	err = s.do(ctx, func(c *session.Conn) error {
		row, err := c.QueryRow(ctx, sqlPlace, "")
		if err == nil {
			place = fmt.Sprint(row[0])
		}
		return err
	})
	return place, err
}

// table is a table of one side.
type table struct {
	side    *side
	reader  *snapshot.Reader
	encoder *encoder
	limits  snapshot.Limits
	pause   time.Duration
}

// scan gives the rows after one key and up to another to each, page by page, and tells after each page where it is.
func (t *table) scan(ctx context.Context, after, upto snapshot.Key, each func(*rows) error, progress func(snapshot.Key) error) error {
	for {
		var page *snapshot.Page
		err := t.side.do(ctx, func(c *session.Conn) (err error) {
			t.reader.Use(c)
			page, err = t.reader.Read(ctx, after, upto, checkpoint.LSN{}, t.limits)
			return err
		})
		if err != nil {
			return err
		}
		if err := t.give(page, each); err != nil {
			return err
		}
		after = page.Next
		if progress != nil {
			if err := progress(after); err != nil {
				return err
			}
		}
		if page.Done {
			return nil
		}
		if err := sleep(ctx, t.pause); err != nil {
			return err
		}
	}
}

// all gives every row to each, in one pass where there is no key to go by. begin is called before each attempt.
func (t *table) all(ctx context.Context, begin func(), each func(*rows) error) error {
	if !t.reader.Keyless() {
		begin()
		return t.scan(ctx, snapshot.Key{}, snapshot.Key{}, each, nil)
	}
	return t.side.do(ctx, func(c *session.Conn) error {
		begin()
		t.reader.Use(c)
		_, err := t.reader.ReadAll(ctx, nil, t.limits, func(p *snapshot.Page) error { return t.give(p, each) })
		return err
	})
}

func (t *table) give(page *snapshot.Page, each func(*rows) error) error {
	defer page.Release()
	if page.Rows == 0 {
		return nil
	}
	r, err := t.encoder.bind(page.Record)
	if err != nil {
		return err
	}
	return each(r)
}

// bound gives the key that ends the next chunk; the zero key for the last one.
func (t *table) bound(ctx context.Context, after snapshot.Key, n int) (key snapshot.Key, err error) {
	err = t.side.do(ctx, func(c *session.Conn) (err error) {
		var last bool
		t.reader.Use(c)
		if key, last, err = t.reader.Bound(ctx, after, n, checkpoint.LSN{}); last {
			key = snapshot.Key{}
		}
		return err
	})
	return key, err
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
