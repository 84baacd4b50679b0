package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// laneKey names a partition.
type laneKey struct {
	topic     string
	partition int32
}

// lane is what is known of one partition: what waits, what is out, and up to where everything is acknowledged. Its lock is that
// of the lanes it belongs to.
type lane struct {
	key      laneKey
	waiting  []held // in the order of the partition
	bytes    int    // of what waits
	again    *delivery
	out      *delivery
	refusals int       // in a row
	notAhead time.Time // nothing goes out before this
	next     int64     // the offset after the newest record that came
	newest   int64     // the high watermark of the newest fetch
	done     mark      // everything before it is acknowledged
	stored   mark      // what was committed
	paused   bool
	leaving  bool // it goes to another member: nothing more goes out
	gone     bool // it went: answers do not count any more
}

// mark is an offset to commit, with the epoch of the leader that it was read from. Zero is none: an offset to commit is above 0.
type mark struct {
	offset int64
	epoch  int32
}

// held is a record and how many there were behind it when it was fetched.
type held struct {
	record *kgo.Record
	lag    int64
}

// delivery is a batch that is out. over is closed when it is acknowledged or refused.
type delivery struct {
	lane    *lane
	records []held
	over    chan struct{}
}

// size is what a record counts for in the bounds of memory and of a batch.
func size(r *kgo.Record) int {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// add takes over what was fetched. A record that is there already is left out: the order of a lane never goes back.
func (l *lane) add(records []*kgo.Record, highWatermark int64) {
	l.newest = max(l.newest, highWatermark)
	for _, r := range records {
		if r.Offset < l.next {
			continue
		}
		l.next = r.Offset + 1
		l.waiting = append(l.waiting, held{record: r, lag: max(0, highWatermark-1-r.Offset)})
		l.bytes += size(r)
	}
}

// ready tells whether a batch could go out now. If it could later, it says when.
func (l *lane) ready(now time.Time) (ok bool, at time.Time) {
	if l.out != nil || l.leaving || l.again == nil && len(l.waiting) == 0 {
		return false, time.Time{}
	}
	if now.Before(l.notAhead) {
		return false, l.notAhead
	}
	return true, time.Time{}
}

// take gives out the batch that was refused, else the next one of up to most bytes.
func (l *lane) take(most int) *delivery {
	d := l.again
	l.again = nil
	if d == nil {
		n, bytes := 0, 0
		for _, h := range l.waiting {
			s := size(h.record)
			if n > 0 && bytes+s > most {
				break
			}
			n, bytes = n+1, bytes+s
		}
		d = &delivery{lane: l, records: l.waiting[:n:n]}
		l.waiting, l.bytes = l.waiting[n:], l.bytes-bytes
	}
	d.over = make(chan struct{})
	l.out = d
	return d
}

// resolve notes the answer to what is out. A batch that is refused and not to be dropped is the next to go out, after a pause
// that grows with every refusal in a row.
func (l *lane) resolve(d *delivery, refused bool, now time.Time) {
	if l.out != d {
		return // an answer that came twice
	}
	l.out = nil
	close(d.over)
	if l.gone {
		return
	}
	if refused {
		l.again = d
		l.notAhead = now.Add(refusalPause(l.refusals))
		l.refusals++
		return
	}
	l.refusals = 0
	last := d.records[len(d.records)-1].record
	l.done = mark{offset: last.Offset + 1, epoch: last.LeaderEpoch}
}

// refusalPause keeps an output that refuses at once from being asked as fast as the processor goes.
func refusalPause(refusals int) time.Duration {
	return min(10*time.Millisecond<<min(refusals, 10), 2*time.Second)
}
