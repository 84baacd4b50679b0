package positions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// sourceBound is how long the source may take to answer the login.
const sourceBound = 15 * time.Second

// source is the database that positions belong to, as it is now.
type source struct {
	conn   *session.Conn
	name   string
	loc    *time.Location
	high   catalog.Transaction
	tables map[string][]catalog.Instance // chosen by the input; the oldest instance first, those not started yet last
}

// openSource asks the source for its capture instances. They are also given by name, chosen or not, for tables that are named.
func openSource(ctx context.Context, in *input) (_ *source, err error) {
	if in.source.ConnectionString == "" {
		return nil, errors.New("no connection string of the source was given")
	}
	conf := in.source
	conf.ConnectTimeout = sourceBound
	s := &source{tables: map[string][]catalog.Instance{}}
	if s.conn, err = session.Open(ctx, conf); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.conn.Close())
		}
	}()
	db, err := catalog.LoadDatabase(ctx, s.conn)
	if err != nil {
		return nil, err
	}
	if !db.CDCEnabled {
		return nil, fmt.Errorf("CDC is not enabled in database %s", db.Name)
	}
	s.name, s.loc = db.Name, db.Location(in.source.Location())
	state, err := catalog.LoadState(ctx, s.conn)
	if err != nil {
		return nil, err
	}
	s.high = state.High
	for _, i := range state.Instances {
		if i.Source.Object != "" && in.tables.Match(i.Source) {
			s.tables[i.Source.String()] = append(s.tables[i.Source.String()], i)
		}
	}
	for _, instances := range s.tables {
		slices.SortStableFunc(instances, func(a, b catalog.Instance) int {
			if a.Started() != b.Started() {
				if a.Started() {
					return -1
				}
				return 1
			}
			return cmp.Or(a.StartLSN.Compare(b.StartLSN), a.CreateDate.Compare(b.CreateDate))
		})
	}
	return s, nil
}

func (s *source) close() error {
	if s == nil {
		return nil
	}
	return s.conn.Close()
}

// names are the tables that the input reads.
func (s *source) names() []string { return slices.Sorted(maps.Keys(s.tables)) }

// instance is the one that holds what follows an LSN: the newest that had begun by then, else the oldest.
func (s *source) instance(table string, after checkpoint.LSN) (in catalog.Instance, ok bool) {
	for _, i := range s.tables[table] {
		if i.Started() && (!ok || i.StartLSN.Compare(after.Next()) <= 0) {
			in, ok = i, true
		}
	}
	return in, ok
}

// known finds the instances of a table by its name as the source spells it.
func (s *source) known(table string) error {
	if len(s.tables[table]) > 0 {
		return nil
	}
	for name := range s.tables {
		if strings.EqualFold(name, table) {
			return fmt.Errorf("the input reads no table %s; there is %s", table, name)
		}
	}
	return fmt.Errorf("the input reads no table %s in database %s: it has no capture instance, or include and exclude leave it out", table, s.name)
}

// prove adds the proof of the history to a position, and the instance that reading goes on from.
func (s *source) prove(ctx context.Context, table string, pos checkpoint.Position) (checkpoint.Position, error) {
	if in, ok := s.instance(table, pos.LSN); ok {
		pos.Instance = in.Capture
	}
	t, found, err := catalog.AtOrBelow(ctx, s.conn, pos.LSN)
	if err != nil {
		return pos, err
	}
	if found {
		pos.Proof = t.Proof()
	}
	return pos, nil
}

// check says what the source makes of a position; ok is false when reading cannot go on from it.
func (s *source) check(ctx context.Context, table string, pos checkpoint.Position) (note string, ok bool, _ error) {
	instances := s.tables[table]
	switch {
	case len(instances) == 0:
		return "no capture instance: renamed, or CDC is disabled for it", false, nil
	case !instances[0].Started():
		return "the capture job has not handled the table yet", true, nil
	case !pos.Proof.IsZero():
		at, found, err := catalog.AtOrBelow(ctx, s.conn, pos.Proof.StartLSN)
		if err != nil {
			return "", false, err
		}
		// Cleanup takes rows from the low end, so one that is missing above others was never in this history.
		if found && !at.Proof().Equal(pos.Proof) && pos.Proof.StartLSN.Compare(s.high.LSN) <= 0 {
			return "of another history: the database was restored, or failed over with loss of data", false, nil
		}
	}
	start := instances[0].StartLSN
	switch next := low(pos); {
	case start.Compare(next) > 0:
		return fmt.Sprintf("gap: cleanup has left nothing below %s", start), false, nil
	case pos.LSN.Compare(s.high.LSN) > 0 && start != next:
		return fmt.Sprintf("above the newest captured change, %s", s.high.LSN), false, nil
	case pos.LSN == s.high.LSN:
		return "up to date", true, nil
	case !pos.Proof.IsZero():
		return fmt.Sprintf("%s behind", s.high.End.Sub(pos.Proof.EndTime).Round(time.Second)), true, nil
	}
	return "can be read from", true, nil
}

// low is the lowest LSN that reading after a position needs.
func low(pos checkpoint.Position) checkpoint.LSN {
	if pos.Done {
		return pos.LSN.Next()
	}
	return pos.LSN
}

// below is the LSN just below l.
func below(l checkpoint.LSN) checkpoint.LSN {
	for i := len(l) - 1; i >= 0; i-- {
		l[i]--
		if l[i] != 0xff {
			break
		}
	}
	return l
}

// clock is a time of lsn_time_mapping for people: the server's wall clock.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02 15:04:05")
}
