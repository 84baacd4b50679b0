package mssqlcdc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// orderKind is what happened at the border between the component and Benthos.
type orderKind int

const (
	asked     orderKind = iota // ReadBatch was called
	gave                       // … and gave a batch
	resolving                  // an acknowledgement or refusal begins
	resolved                   // … and has returned
)

// orderEvent is an entry of an orderLog.
type orderEvent struct {
	kind    orderKind
	batch   int // counts from 1
	changes []orderChange
	refused bool
}

// orderChange is a change as its message tells.
type orderChange struct {
	id, table string
	stmt      int // number of the statement that wrote the row, 0 for deletes
}

// orderLog is what happened, in order.
type orderLog struct {
	mu        sync.Mutex
	events    []orderEvent
	batches   int
	withhold  bool // acknowledgements do not reach the component any more
	withheld  int
	malformed error
}

func (l *orderLog) add(e orderEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// snapshot is what has happened so far.
func (l *orderLog) snapshot() ([]orderEvent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[:len(l.events):len(l.events)], l.malformed
}

// cut lets no acknowledgement through from now on.
func (l *orderLog) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.withhold = true
}

// cutOff is how many acknowledgements were withheld.
func (l *orderLog) cutOff() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.withheld
}

// watchedInput is mssql_cdc with an orderLog between it and Benthos.
type watchedInput struct {
	service.BatchInput
	log *orderLog
}

func (w watchedInput) ReadBatch(ctx context.Context) (service.MessageBatch, service.AckFunc, error) {
	l := w.log
	l.add(orderEvent{kind: asked})
	batch, ack, err := w.BatchInput.ReadBatch(ctx)
	if err != nil {
		return nil, nil, err
	}
	changes, err := orderChanges(batch)
	l.mu.Lock()
	l.batches++
	n := l.batches
	if l.malformed == nil {
		l.malformed = err
	}
	l.events = append(l.events, orderEvent{kind: gave, batch: n, changes: changes})
	l.mu.Unlock()
	return batch, func(ctx context.Context, err error) error {
		l.mu.Lock()
		if l.withhold {
			l.withheld++
			l.mu.Unlock()
			return nil
		}
		l.events = append(l.events, orderEvent{kind: resolving, batch: n, refused: err != nil})
		l.mu.Unlock()
		ackErr := ack(ctx, err)
		l.add(orderEvent{kind: resolved, batch: n, refused: err != nil})
		return ackErr
	}, nil
}

// orderChanges reads the position of every message from its metadata, which must agree.
func orderChanges(batch service.MessageBatch) ([]orderChange, error) {
	out := make([]orderChange, len(batch))
	for i, m := range batch {
		meta := func(name string) string { v, _ := m.MetaGet(name); return v }
		c := orderChange{id: meta("event_id"), table: meta("table")}
		parts := strings.Split(c.id, "-")
		if len(parts) != 4 {
			return nil, fmt.Errorf("event_id is %q", c.id)
		}
		var command uint32
		if _, err := fmt.Sscan(meta("command_id"), &command); err != nil {
			return nil, fmt.Errorf("reading command_id: %w", err)
		}
		if "0x"+parts[0] != meta("lsn") || "0x"+parts[2] != meta("seqval") || parts[1] != fmt.Sprintf("%08x", command) {
			return nil, fmt.Errorf("event_id %s is not of lsn %s, command_id %s, seqval %s", c.id, meta("lsn"), meta("command_id"), meta("seqval"))
		}
		if op := map[string]string{"1": "delete", "2": "insert", "4": "update"}[parts[3]]; op != meta("operation") {
			return nil, fmt.Errorf("event_id %s is not of operation %s", c.id, meta("operation"))
		}
		if parts[3] != "1" {
			body, err := m.AsBytes()
			if err != nil {
				return nil, err
			}
			row := struct{ T int }{}
			if err := json.Unmarshal(body, &row); err != nil {
				return nil, fmt.Errorf("reading %s: %w", body, err)
			}
			c.stmt = row.T
		}
		out[i] = c
	}
	return out, nil
}
