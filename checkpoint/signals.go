package checkpoint

import (
	"errors"
	"slices"
)

// Signals is what signals have asked for and is not done yet.
type Signals struct {
	Paused bool      `json:"paused,omitempty"`
	Queue  []Request `json:"queue,omitempty"` // in the order in which they are served
}

// Request is a snapshot of one table that a signal has asked for.
type Request struct {
	Signal string `json:"signal"` // id of the signal
	ID     string `json:"id"`     // of the snapshot
	Table  string `json:"table"`
	Filter string `json:"filter,omitempty"` // condition in T-SQL
	After  string `json:"after,omitempty"`  // text form of the last key that is done; "" before the first row
	Rows   int64  `json:"rows,omitempty"`   // how many rows were given out up to there
}

func (s *Signals) equal(t *Signals) bool {
	if s == nil || t == nil {
		return s == t
	}
	return s.Paused == t.Paused && slices.Equal(s.Queue, t.Queue)
}

// check refuses a request that does not say what to read.
func (s *Signals) check() error {
	if s == nil {
		return nil
	}
	for _, r := range s.Queue {
		if r.ID == "" || r.Table == "" || r.Rows < 0 {
			return errors.New("a snapshot that a signal has asked for needs an id and a table")
		}
	}
	return nil
}
