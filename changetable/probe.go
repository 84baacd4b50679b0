package changetable

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/request"
)

// maxProbe is how many change tables one statement asks.
const maxProbe = 100

// Target is a change table to be asked.
type Target struct {
	Table       string // for errors
	Capture     string
	ChangeTable string // its name in the schema cdc
	After       checkpoint.Position
}

// Found is the answer for one target.
type Found struct {
	Rows bool
	// Err says that this table could not be asked; the others were.
	Err error
}

// Probe asks which of the change tables have changes after their positions, up
// to and including high, at most a hundred tables a statement. A table whose
// changes may have been removed by cleanup before they were asked for has a
// GapError. It returns a BehindError when the server has not reached high.
func Probe(ctx context.Context, conn Conn, high checkpoint.LSN, targets []Target, iso Isolation) ([]Found, error) {
	out := make([]Found, 0, len(targets))
	for len(targets) > 0 {
		n := min(len(targets), maxProbe)
		found, err := probe(ctx, conn, high, targets[:n], iso)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
		targets = targets[n:]
	}
	return out, nil
}

// probe asks some tables at once. When one of them is gone or closed to the
// login, the statement fails as a whole, and each is asked alone.
func probe(ctx context.Context, conn Conn, high checkpoint.LSN, targets []Target, iso Isolation) ([]Found, error) {
	found, err := probeOnce(ctx, conn, high, targets, iso)
	if err == nil {
		return found, nil
	}
	var behind *BehindError
	if errors.As(err, &behind) {
		return nil, err
	}
	first := targets[0]
	explained := explain(err, first.Table, first.Capture, catalog.Name{Schema: "cdc", Object: first.ChangeTable}.Quoted())
	var (
		gone   *InstanceGoneError
		denied *PermissionError
	)
	if !errors.As(explained, &gone) && !errors.As(explained, &denied) {
		return nil, fmt.Errorf("asking %d change tables for changes: %w", len(targets), err)
	}
	if len(targets) == 1 {
		return []Found{{Err: explained}}, nil
	}
	found = make([]Found, 0, len(targets))
	for i := range targets {
		one, err := probe(ctx, conn, high, targets[i:i+1], iso)
		if err != nil {
			return nil, err
		}
		found = append(found, one...)
	}
	return found, nil
}

func probeOnce(ctx context.Context, conn Conn, high checkpoint.LSN, targets []Target, iso Isolation) ([]Found, error) {
	found := make([]Found, len(targets))
	var reached checkpoint.LSN
	proved := false
	_, err := request.Sets(ctx, conn, probeStatement(high, targets, iso), func(row []driver.Value) (err error) {
		reached, err = request.LSN(row[0])
		return err
	}, func(row []driver.Value) error {
		proved = true
		i, ok := row[0].(int64)
		has, okHas := row[1].(int64)
		if !ok || !okHas || i < 0 || int(i) >= len(found) {
			return fmt.Errorf("asking for changes: the server gave %v, %v", row[0], row[1])
		}
		found[i].Rows = has != 0
		return nil
	}, func(row []driver.Value) error {
		capture, ok := row[0].(string)
		if !ok {
			return fmt.Errorf("asking for changes: the driver gave a %T", row[0])
		}
		start, err := request.LSN(row[1])
		if err != nil {
			return err
		}
		for i, t := range targets {
			if t.Capture == capture && start.Compare(low(t.After)) > 0 {
				found[i].Err = &GapError{Table: t.Table, Instance: capture, Position: t.After.LSN, Start: start}
			}
		}
		return nil
	})
	if err == nil && !proved {
		err = &BehindError{Table: targets[0].Table, Want: high, Server: reached}
	}
	return found, err
}

// probeStatement is one SELECT over all targets, and then one of the instances
// whose low end is above the lowest position: cleanup raises it before it deletes.
// Positions that are level share a parameter, so that the statement of an idle
// database stays the same text.
func probeStatement(high checkpoint.LSN, targets []Target, iso Isolation) request.Statement {
	var s request.Statement
	s.Param("@high", "binary(10)", high[:])
	lowest := low(targets[0].After)
	for _, t := range targets[1:] {
		if l := low(t.After); l.Compare(lowest) < 0 {
			lowest = l
		}
	}
	s.Param("@low", "binary(10)", lowest[:])
	names := make(map[checkpoint.LSN]string)
	var b strings.Builder
	if iso == Snapshot {
		b.WriteString(sqlSnapshot)
	}
	b.WriteString(sqlProveServer)
	for i, t := range targets {
		after := request.Before(low(t.After))
		name, ok := names[after]
		if !ok {
			name = fmt.Sprintf("@l%d", len(names))
			names[after] = name
			s.Param(name, "binary(10)", after[:])
		}
		if i > 0 {
			b.WriteString("UNION ALL ")
		}
		fmt.Fprintf(&b, "SELECT %d, CASE WHEN EXISTS (SELECT 1 FROM %s AS t%s WHERE t.[__$start_lsn] > %s AND t.[__$start_lsn] <= @high) THEN 1 ELSE 0 END\n",
			i, catalog.Name{Schema: "cdc", Object: t.ChangeTable}.Quoted(), hint(iso), name)
	}
	b.WriteString("OPTION (MAXDOP 1);\n" + sqlRaised + sqlEnd)
	s.Text = b.String()
	return s
}
