//go:build unix

package crashtest

import (
	"slices"
	"sync"
)

// Entry is a message in the journal.
type Entry struct {
	Message
	Run   int  // of which process, from 0
	Acked bool // it was told that the message is kept
	Lost  bool // it was told so, rightly, that the message is not kept
}

// Journal is everything that the processes gave out, in order. It stands for the target: what is in it is kept, whatever becomes of the
// process that sent it.
type Journal struct {
	mu      sync.Mutex
	entries []Entry
	changed chan struct{} // closed at the next change
}

func newJournal() *Journal { return &Journal{changed: make(chan struct{})} }

// add keeps a batch.
func (j *Journal) add(run int, batch []Message, acked, lost bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, m := range batch {
		j.entries = append(j.entries, Entry{Message: m, Run: run, Acked: acked, Lost: lost})
	}
	close(j.changed)
	j.changed = make(chan struct{})
}

// Entries are all messages so far, and a channel that is closed when there are more.
func (j *Journal) Entries() ([]Entry, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clip(j.entries), j.changed
}
