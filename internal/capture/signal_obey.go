package capture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
)

// columnsOfSignals are where the columns of the signal table are in its records.
type columnsOfSignals struct{ id, kind, data int }

// signalColumns finds the columns id, type and data.
func signalColumns(schema *arrow.Schema) (c columnsOfSignals, err error) {
	for name, at := range map[string]*int{"id": &c.id, "type": &c.kind, "data": &c.data} {
		*at = slices.IndexFunc(schema.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) })
		if *at < 0 || schema.Field(*at).Type.ID() != arrow.STRING {
			return c, fmt.Errorf("reading signals: the table captures no text column %s; it needs id varchar(42), type varchar(32) and data varchar(2048)", name)
		}
	}
	return c, nil
}

// signal reads a row.
func (c columnsOfSignals) signal(page *changetable.Page, row int) signal {
	text := func(column int) string {
		a, ok := page.Record.Column(column).(*array.String)
		if !ok || a.IsNull(row) {
			return ""
		}
		return strings.Clone(a.Value(row))
	}
	return signal{
		id: strings.TrimRight(text(c.id), " "), kind: strings.TrimSpace(text(c.kind)), data: text(c.data),
		place: fmt.Sprintf("%s-%d-%s", page.LSN(row), page.CommandID(row), page.SeqVal(row)),
	}
}

// The fates of a signal, as the metric mssql_cdc_signals counts them.
const (
	Obeyed  = "obeyed"
	Ignored = "ignored"
	Refused = "refused"
)

// obey does what a signal asks for. It tells whether there is anything to be stored.
func (s *signals) obey(sig signal) (news bool) {
	fate, text := s.decide(sig)
	s.flow.cfg.Observer.Signal(fate, fmt.Sprintf("signal %s (%s): %s", sig.id, sig.kind, text))
	return fate == Obeyed
}

func (s *signals) decide(sig signal) (fate, text string) {
	f := s.flow
	switch sig.kind {
	case SignalExecute, SignalStop, SignalPause, SignalResume:
	default:
		return Ignored, "this type is not known"
	}
	data, err := sig.parse()
	if err != nil {
		return Refused, err.Error()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch sig.kind {
	case SignalPause, SignalResume:
		s.paused = sig.kind == SignalPause
		f.cfg.Observer.Queue(len(s.queue), s.paused)
		if s.paused {
			return Obeyed, "snapshots rest from the end of the present chunk on"
		}
		return Obeyed, "snapshots go on"
	case SignalStop:
		return s.stop(data)
	}
	return s.execute(sig, data)
}

// stop drops the requests for the tables that are named, or all. flow.mu is held.
func (s *signals) stop(data signalData) (fate, text string) {
	var stopped []string
	for _, r := range slices.Clone(s.queue) {
		name, err := catalog.ParseName(r.Table)
		wanted := len(data.Collections) == 0
		for _, entry := range data.Collections {
			wanted = wanted || err == nil && len(names(entry, s.flow.db.Name, []catalog.Name{name})) > 0
		}
		if wanted && !r.given {
			s.drop(r.ID)
			stopped = append(stopped, r.Table)
		}
	}
	if len(stopped) == 0 {
		return Ignored, "there is no snapshot to stop"
	}
	return Obeyed, "stopped the snapshot of " + strings.Join(stopped, ", ")
}

// execute queues the tables that a signal names. flow.mu is held.
func (s *signals) execute(sig signal, data signalData) (fate, text string) {
	f := s.flow
	var tables []catalog.Name
	for _, w := range f.workers {
		tables = append(tables, w.table.Name)
	}
	slices.SortFunc(tables, func(a, b catalog.Name) int { return strings.Compare(a.String(), b.String()) })
	var queued, refused []string
	for _, entry := range data.Collections {
		found := names(entry, f.db.Name, tables)
		if len(found) == 0 {
			refused = append(refused, entry+" is no table that this input reads")
		}
		for _, n := range found {
			r := checkpoint.Request{Signal: sig.id, ID: sig.snapshotID(n.String()), Table: n.String(), Filter: data.filter(n, f.db.Name)}
			if slices.ContainsFunc(s.queue, func(q *asked) bool { return q.Table == r.Table && q.Filter == r.Filter && !q.given }) {
				refused = append(refused, r.Table+" is being read already")
				continue
			}
			if why := s.enqueue(r); why != "" {
				refused = append(refused, r.Table+" "+why)
				continue
			}
			queued = append(queued, r.Table)
		}
	}
	f.cfg.Observer.Queue(len(s.queue), s.paused)
	text = strings.Join(refused, "; ")
	if len(queued) == 0 {
		return Refused, text
	}
	if text != "" {
		text = "; but " + text
	}
	return Obeyed, "the rows of " + strings.Join(queued, ", ") + " are read" + text
}

// enqueue takes a request, if it can be stored. flow.mu is held.
func (s *signals) enqueue(r checkpoint.Request) (refused string) {
	s.queue = append(s.queue, &asked{Request: r})
	pos := s.stored()
	keys := 0
	for _, q := range s.queue {
		keys += len(q.After)
	}
	if len(pos.String())-keys > maxWaiting {
		s.queue = s.queue[:len(s.queue)-1]
		return "does not fit: the tables and conditions that wait are too many or too long to be stored; signal it again when some are done"
	}
	return ""
}

// fits tells whether the progress of a request up to a key can be stored.
func (s *signals) fits(id, after string) bool {
	s.flow.mu.Lock()
	defer s.flow.mu.Unlock()
	pos := s.stored()
	if pos.Signals == nil {
		return true // it was stopped
	}
	for i := range pos.Signals.Queue {
		if pos.Signals.Queue[i].ID == id {
			pos.Signals.Queue[i].After = after
		}
	}
	return len(pos.String())+20 <= maxStored // its number of rows grows, too
}
