package verify

import (
	"context"
	"slices"
	"time"
)

const (
	// mostSuspects bounds the rows that are kept in mind until they agree or count as different.
	mostSuspects = 20_000
	// restless is how many settling times a row of the source may go on changing before it is given up.
	restless = 10
	// firstWait is made before a second look, and doubled for others up to mostWait.
	firstWait = 50 * time.Millisecond
	mostWait  = 5 * time.Second
)

// chunk is a span with rows that were not the same when it was read.
type chunk struct {
	span
	order    []hash // keys of the suspects, as they were found
	suspects map[hash]*suspect
}

// suspect is a row that was not the same on both sides.
type suspect struct {
	seen    []hash // what the source has had since the comparison began; the zero hash is no row
	source  hash   // now
	target  hash   // now
	began   time.Time
	changed time.Time // when the source was last seen to change
	src     *known
	dst     *known
}

func (s *suspect) sourceHas(h hash, now time.Time) {
	if h == s.source {
		return
	}
	s.source, s.changed = h, now
	if !slices.Contains(s.seen, h) {
		s.seen = append(s.seen, h)
	}
}

// compareChunks goes over the source by its key, and over the same stretch of the target's.
func (t *tables) compareChunks(ctx context.Context) error {
	p := t.progress
	var pending []*chunk
	count := 0
	for _, s := range p.Pending { // of a call before this one
		c, err := t.compareChunk(ctx, s, false)
		if err != nil {
			return err
		}
		pending, count = append(pending, c), count+len(c.order)
	}
	for !p.Last && !t.full() {
		upto, err := t.src.bound(ctx, p.Next, t.conf.Chunk)
		if err != nil {
			return err
		}
		c, err := t.compareChunk(ctx, span{p.Next, upto}, true)
		if err != nil {
			return err
		}
		if len(c.order) > 0 {
			pending, count = append(pending, c), count+len(c.order)
			p.Pending = append(p.Pending, c.span)
		}
		p.Next, p.Last = upto, upto.IsZero()
		if count >= mostSuspects {
			if err := t.settle(ctx, pending); err != nil {
				return err
			}
			pending, count, p.Pending = nil, 0, nil
		}
		if err := t.state.save(); err != nil {
			return err
		}
		if err := sleep(ctx, t.conf.Pause); err != nil {
			return err
		}
	}
	t.found.Cut = !p.Last
	return t.settle(ctx, pending)
}

// compareChunk reads a span on both sides. Its rows are counted when it is read for the first time.
func (t *tables) compareChunk(ctx context.Context, s span, first bool) (*chunk, error) {
	to, err := t.dst.adopt(s)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	c := &chunk{span: s, suspects: map[hash]*suspect{}}
	source := make(map[hash]hash, t.conf.Chunk)
	var order []hash
	var sourceRows, targetRows, beyond int64
	err = t.src.scan(ctx, s.After, s.Upto, func(r *rows) error {
		for i := range r.n {
			key, all := r.hash(i)
			source[key] = all
			order = append(order, key)
		}
		sourceRows += int64(r.n)
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	err = t.dst.scan(ctx, to.After, to.Upto, func(r *rows) error {
		for i := range r.n {
			key, all := r.hash(i)
			had, there := source[key]
			delete(source, key)
			switch {
			case there && had == all:
			case !there && len(c.order) >= mostSuspects:
				beyond++
			default:
				c.suspect(key, had, all, now)
			}
		}
		targetRows += int64(r.n)
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	for _, key := range order { // what the target does not have
		if had, there := source[key]; there {
			c.suspect(key, had, hash{}, now)
		}
	}
	if first {
		t.found.SourceRows += sourceRows
		t.found.TargetRows += targetRows
		t.found.Differences += beyond
	}
	return c, nil
}

func (c *chunk) suspect(key, source, target hash, now time.Time) {
	c.order = append(c.order, key)
	c.suspects[key] = &suspect{seen: []hash{source}, source: source, target: target, began: now, changed: now}
}

// adopt makes a span of the source's keys one of the target's.
func (t *table) adopt(s span) (out span, err error) {
	if out.After, err = t.reader.Adopt(s.After); err != nil {
		return out, err
	}
	out.Upto, err = t.reader.Adopt(s.Upto)
	return out, err
}

// settle reads chunks again until each suspect has agreed, or has stood still for so long that it is different.
func (t *tables) settle(ctx context.Context, chunks []*chunk) error {
	wait := firstWait
	out := &Table{}
	for {
		chunks = slices.DeleteFunc(chunks, func(c *chunk) bool { return len(c.order) == 0 })
		if len(chunks) == 0 {
			t.add(out)
			return nil
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		for _, c := range chunks {
			if err := t.recheck(ctx, c, t.conf.List-len(t.found.Rows)-len(out.Rows)); err != nil {
				return err
			}
			t.judge(c, out)
		}
		wait = min(2*wait, mostWait)
	}
}

// recheck looks at the suspects of a chunk again, the source first. It keeps the rows of so many.
func (t *tables) recheck(ctx context.Context, c *chunk, room int) error {
	to, err := t.dst.adopt(c.span)
	if err != nil {
		return err
	}
	look := func(side *table, s span, see func(*suspect, hash, *known)) error {
		there := make(map[hash]bool, len(c.order))
		err := side.scan(ctx, s.After, s.Upto, func(r *rows) error {
			for i := range r.n {
				key, all := r.hash(i)
				s := c.suspects[key]
				if s == nil {
					continue
				}
				there[key] = true
				var kept *known
				if slices.Contains(c.order[:min(room, len(c.order))], key) {
					var err error
					if kept, err = r.keep(i); err != nil {
						return err
					}
				}
				see(s, all, kept)
			}
			return nil
		}, nil)
		for _, key := range c.order {
			if !there[key] {
				see(c.suspects[key], hash{}, nil)
			}
		}
		return err
	}
	err = look(t.src, c.span, func(s *suspect, h hash, k *known) {
		s.sourceHas(h, time.Now())
		s.src = k
	})
	if err != nil {
		return err
	}
	return look(t.dst, to, func(s *suspect, h hash, k *known) { s.target, s.dst = h, k })
}

// judge takes the suspects out that have agreed or count as different.
func (t *tables) judge(c *chunk, out *Table) {
	now := time.Now()
	c.order = slices.DeleteFunc(c.order, func(key hash) bool {
		s := c.suspects[key]
		switch {
		case slices.Contains(s.seen, s.target):
		case now.Sub(s.began) < restless*t.conf.Settle && s.src == nil && s.dst == nil && len(t.found.Rows)+len(out.Rows) < t.conf.List:
			return false // it is to be listed, and the next look keeps its row
		case now.Sub(s.changed) >= t.conf.Settle:
			out.Differences++
			t.list(out, t.difference(s))
		case now.Sub(s.began) >= restless*t.conf.Settle:
			out.Unsettled++
			d := t.difference(s)
			d.What = Unsettled
			t.list(out, d)
		default:
			return false
		}
		delete(c.suspects, key)
		return true
	})
}

func (t *tables) difference(s *suspect) Difference {
	d := Difference{What: Differs}
	switch {
	case s.target == hash{}:
		d.What = Missing
	case s.source == hash{}:
		d.What = Extra
	}
	t.show(&d, s.src, s.dst)
	return d
}
