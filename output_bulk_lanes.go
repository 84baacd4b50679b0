package mssqlcdc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/merge"
)

// bulkFence is what the output knows of the lanes that it writes, with exactly_once. One batch at a time uses it.
type bulkFence struct {
	table          *merge.Fence
	channel, token *service.InterpolatedString // nil = by default
	lanes          map[merge.Lane]*bulkLane
}

// bulkLane is a lane.
type bulkLane struct {
	mark  merge.Mark // Epoch is 0 while the lane is another's or nobody's
	known bool       // the server's mark is this one
	held  merge.Token
	// held is the first place that was refused and has not landed: nothing beyond it lands before it does. Rows of a snapshot share
	// their places, so it is known by the text of its token, too.
	heldText string
}

// bulkPlace is where a message is in its lane.
type bulkPlace struct {
	lane        merge.Lane // zero for a message that does nothing
	first, last merge.Token
	rows        []merge.Token // of each row, nil if they share one
	text        string        // of the first token, as it came
}

func (f *bulkFence) lane(l merge.Lane) *bulkLane {
	b := f.lanes[l]
	if b == nil {
		b = &bulkLane{}
		f.lanes[l] = b
	}
	return b
}

// errLaneWaits refuses what is beyond a place that was refused before.
var errLaneWaits = errors.New("an earlier message of its lane was refused and has not landed yet, and exactly_once keeps the order: this one waits for it")

// locate finds the places of a batch's messages, and puts those of a lane into their order, which a refusal may have changed.
func (l *bulkLanding) locate(all []int) {
	l.places = make([]bulkPlace, len(l.batch))
	byLane := map[merge.Lane][]int{} // places in all
	for n, i := range all {
		name, err := l.name(i)
		if err == nil {
			l.places[i], err = l.place(i, name)
		}
		if err != nil {
			l.lose(i, name, err)
			continue
		}
		at := byLane[l.places[i].lane]
		if len(at) > 0 {
			if _, err := l.places[i].first.Compare(l.places[all[at[0]]].first); err != nil {
				l.lose(i, name, err)
				continue
			}
		}
		byLane[l.places[i].lane] = append(at, n)
	}
	for lane, at := range byLane {
		if lane == (merge.Lane{}) {
			continue
		}
		rows := make([]int, len(at))
		for n, p := range at {
			rows[n] = all[p]
		}
		slices.SortStableFunc(rows, func(a, b int) int {
			c, _ := l.places[a].first.Compare(l.places[b].first) // they are of one kind
			return c
		})
		for n, p := range at {
			all[p] = rows[n]
		}
	}
}

// lose refuses a message that has no place.
func (l *bulkLanding) lose(i int, name catalog.Name, err error) {
	l.places[i] = bulkPlace{}
	l.refuse(i, name, err)
	l.lost[i] = err
}

// place finds the place of a message for a table.
func (l *bulkLanding) place(i int, name catalog.Name) (p bulkPlace, err error) {
	f := l.out.fence
	if l.isMark(i) {
		return p, nil
	}
	m := l.batch[i]
	kafka := metaText(m, "kafka_offset") != "" && metaText(m, "kafka_topic") != ""
	p.lane.Target = name.String()
	switch {
	case f.channel != nil:
		if p.lane.Channel, err = l.batch.TryInterpolatedString(i, f.channel); err != nil {
			return p, fmt.Errorf("exactly_once.channel: %w", err)
		}
	case kafka:
		p.lane.Channel = metaText(m, "kafka_topic") + "/" + metaText(m, "kafka_partition")
	default:
		p.lane.Channel = sourceOf(m)
	}
	if p.lane.Channel == "" || p.lane.Channel == "null" || len(p.lane.Channel) > 400 {
		return p, errors.New("it has no channel, which exactly_once needs, in up to 400 bytes: by default the metadata kafka_topic and kafka_partition, or database_schema and table of mssql_cdc; else set exactly_once.channel")
	}
	token := metaText(m, "event_id")
	switch {
	case f.token != nil:
		if token, err = l.batch.TryInterpolatedString(i, f.token); err != nil {
			return p, fmt.Errorf("exactly_once.offset_token: %w", err)
		}
	case kafka:
		token = metaText(m, "kafka_offset")
	default:
		if events, text, err := l.events(i); err != nil || events != nil {
			p.rows, p.text = events, text
			if len(events) > 0 {
				p.first, p.last = events[0], events[len(events)-1]
			}
			return p, cmp.Or(err, l.unordered(p))
		}
	}
	p.first, err = merge.ParseToken(token)
	p.last, p.text = p.first, token
	return p, cmp.Or(err, l.unordered(p))
}

// unordered refuses rows that have no order among themselves where only an order tells that they come again.
func (l *bulkLanding) unordered(p bulkPlace) error {
	if p.first.Snapshot() && !l.out.cfg.mode.keyed {
		return errSnapshotOrder
	}
	return nil
}

var errSnapshotOrder = errors.New("exactly_once cannot tell whether a row of a snapshot comes again: use mode upsert or apply on a table with a key, or load the snapshot by an output without exactly_once")

func metaText(m *service.Message, key string) string {
	text, _ := m.MetaGet(key)
	return text
}

// sourceOf is the table that a message comes from.
func sourceOf(m *service.Message) string {
	schema, table := metaText(m, "database_schema"), metaText(m, "table")
	if schema == "" || table == "" {
		return ""
	}
	name := catalog.Name{Schema: schema, Object: table}.String()
	if database := metaText(m, "database"); database != "" {
		name = database + "." + name
	}
	return name
}

// events are the event ids of the rows of an Arrow message of mssql_cdc, and the text of the first; nil for other messages.
func (l *bulkLanding) events(i int) (out []merge.Token, text string, err error) {
	records, err := l.arrowOf(i)
	if err != nil || records == nil {
		return nil, "", nil // decoding says what is wrong
	}
	for _, rec := range records {
		ids := arrowChangeColumnsOf(rec).events
		if ids == nil {
			return nil, "", nil
		}
		for r := range ids.Len() {
			t, err := merge.ParseToken(ids.Value(r))
			if err != nil {
				return nil, "", err
			}
			if n := len(out); n > 0 {
				if c, err := t.Compare(out[n-1]); err != nil || c < 0 {
					return nil, "", errors.New("its rows are not in the order of their event ids")
				}
			} else {
				text = strings.Clone(ids.Value(r))
			}
			out = append(out, t)
		}
	}
	return out, text, nil
}

// enter makes the lanes of rows known, and gives the rows that are to be loaded: not those that the marks have passed, nor those
// that have to wait.
func (l *bulkLanding) enter(ctx context.Context, w *bulkWorker, rows []int) ([]int, error) {
	f := l.out.fence
	if f == nil {
		return rows, nil
	}
	for _, i := range rows {
		if lane := l.places[i].lane; lane != (merge.Lane{}) {
			if err := l.know(ctx, w, lane, rows); err != nil {
				return nil, &bulkError{rows: rows, err: err}
			}
		}
	}
	kept := make([]int, 0, len(rows))
	for _, i := range rows {
		p := l.places[i]
		if p.lane == (merge.Lane{}) {
			kept = append(kept, i)
			continue
		}
		b := f.lane(p.lane)
		passed, err := l.lastOf(i).Passed(b.mark.Token)
		switch {
		case err != nil:
			l.lose(i, catalog.Name{}, err)
			return nil, errBulkAgain
		case passed:
			delete(l.failed, i)
			l.landed[i] = true
			l.out.observer.dropped.Incr(1, p.lane.Target)
		case l.held[i] == nil && !l.waits(i):
			kept = append(kept, i)
		case l.held[i] == nil:
			l.held[i] = errLaneWaits
		}
	}
	return kept, nil
}

// know makes a lane known. The rows of one that another writer has taken over are held back.
func (l *bulkLanding) know(ctx context.Context, w *bulkWorker, lane merge.Lane, rows []int) (err error) {
	f := l.out.fence
	b := f.lane(lane)
	if b.known {
		return nil
	}
	if b.mark.Epoch == 0 {
		m, err := f.table.Take(ctx, w.conn, lane)
		if err != nil {
			return err // whether it has been taken is not known: it is taken again
		}
		b.mark, b.known = m, true
	} else {
		m, found, err := f.table.Read(ctx, w.conn, lane)
		switch {
		case err != nil:
			return err
		case found && m.Epoch == b.mark.Epoch:
			b.mark, b.known = m, true
		default:
			b.mark = merge.Mark{}
			l.out.log.Warnf("%s into %s: %v; its messages are refused, and with the next ones it is taken back", lane.Channel, lane.Target, merge.ErrTaken)
			for _, i := range rows {
				if l.places[i].lane == lane {
					l.held[i] = merge.ErrTaken
				}
			}
			return errBulkAgain
		}
	}
	b.free()
	return nil
}

// free ends the wait for a place that has landed.
func (b *bulkLane) free() {
	if passed, err := b.held.Passed(b.mark.Token); err == nil && passed || b.held.IsZero() {
		b.held, b.heldText = merge.Token{}, ""
	}
}

// waits tells whether a message is beyond a place that was refused before, and that is not in this batch.
func (l *bulkLanding) waits(i int) bool {
	p := l.places[i]
	b := l.out.fence.lane(p.lane)
	held := b.held
	if held.IsZero() {
		return false
	}
	if c, err := p.first.Compare(held); err != nil || c <= 0 {
		return false
	}
	for n := range l.places {
		if l.places[n].lane != p.lane {
			continue
		}
		from, err := l.places[n].first.Compare(held)
		to, err2 := l.places[n].last.Compare(held)
		if err == nil && err2 == nil && from <= 0 && to >= 0 && (!held.Snapshot() || l.places[n].text == b.heldText) {
			return false
		}
	}
	return true
}

// marksWait tells whether a mark of a table's snapshot has to wait, because messages for the table before it have not landed.
func (l *bulkLanding) marksWait(table catalog.Name) bool {
	if l.out.fence == nil {
		return false
	}
	target := table.String()
	for i := range l.held {
		if l.places[i].lane.Target == target {
			return true
		}
	}
	for lane, b := range l.out.fence.lanes {
		if lane.Target == target && !b.held.IsZero() {
			return true
		}
	}
	return false
}

// passedRows is how many rows of a message the mark has passed: those that it begins with.
func (l *bulkLanding) passedRows(i int) (n int) {
	if l.out.fence == nil || l.places[i].rows == nil {
		return 0
	}
	mark := l.out.fence.lane(l.places[i].lane).mark.Token
	for _, t := range l.places[i].rows {
		if passed, err := t.Passed(mark); err != nil || !passed {
			break
		}
		n++
	}
	return n
}

// laneMove is how far a lane comes with a transaction.
type laneMove struct {
	lane merge.Lane
	to   merge.Token
}

// moves are the moves of the lanes of rows, in one order for all transactions.
func (l *bulkLanding) moves(rows []int) (out []laneMove) {
	if l.out.fence == nil {
		return nil
	}
	to := map[merge.Lane]merge.Token{}
	for _, i := range rows {
		p := l.places[i]
		if p.lane == (merge.Lane{}) {
			continue
		}
		last := l.lastOf(i)
		if c, err := last.Compare(to[p.lane]); err == nil && c > 0 {
			to[p.lane] = last
		}
	}
	for lane, t := range to {
		out = append(out, laneMove{lane, t})
	}
	slices.SortFunc(out, func(a, b laneMove) int {
		return cmp.Or(cmp.Compare(a.lane.Channel, b.lane.Channel), cmp.Compare(a.lane.Target, b.lane.Target))
	})
	return out
}

// move moves the marks, in the transaction that stores the rows.
func (l *bulkLanding) move(ctx context.Context, w *bulkWorker, moves []laneMove, rows []int) error {
	for _, m := range moves {
		b := l.out.fence.lane(m.lane)
		if err := l.out.fence.table.Move(ctx, w.conn, m.lane, b.mark, m.to); err != nil {
			b.known = false
			if errors.Is(err, merge.ErrTaken) {
				return errBulkAgain
			}
			return &bulkError{rows: rows, err: err}
		}
	}
	return nil
}

// moved notes what a commit of rows has done to the marks; known is false when that is not known.
func (l *bulkLanding) moved(moves []laneMove, rows []int, known bool) {
	for _, m := range moves {
		b := l.out.fence.lane(m.lane)
		b.known = known
		if known {
			b.mark.Token = m.to
			b.free()
		}
	}
	for _, i := range rows {
		if !known || l.out.fence == nil || l.places[i].text == "" {
			continue
		}
		if b := l.out.fence.lane(l.places[i].lane); b.heldText == l.places[i].text {
			b.held, b.heldText = merge.Token{}, ""
		}
	}
}

// holdBack notes the places of the messages that are given back, and that everything later has to wait for.
func (l *bulkLanding) holdBack() {
	for _, i := range slices.Sorted(maps.Keys(l.held)) {
		p := l.places[i]
		if p.lane == (merge.Lane{}) {
			continue // a mark of a snapshot: it waits for what is before it
		}
		b := l.out.fence.lane(p.lane)
		first := p.first
		if n := l.passedRows(i); n > 0 && n < len(p.rows) {
			first = p.rows[n]
		}
		if c, err := first.Compare(b.held); b.held.IsZero() || err == nil && c < 0 {
			b.held, b.heldText = first, p.text
		}
	}
}
