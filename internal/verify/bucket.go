package verify

import (
	"context"
	"encoding/binary"
	"slices"
	"time"
)

const (
	buckets = 4096
	// mostKept bounds the bytes of the rows that are kept to find those that differ.
	mostKept = 64 << 20
)

// sums are the digests of the rows of one side, by bucket. Rows with the same key are in the same bucket.
type sums []digest

func bucketOf(key hash) int { return int(binary.LittleEndian.Uint16(key[:])) % buckets }

// compareBuckets sums up the rows of each side, and looks closer at the buckets that differ.
func (t *tables) compareBuckets(ctx context.Context) error {
	p := t.progress
	for _, s := range []struct {
		side *table
		sums *[]digest
		rows *int64
	}{{t.src, &p.SourceSums, &t.found.SourceRows}, {t.dst, &p.TargetSums, &t.found.TargetRows}} {
		if *s.sums != nil {
			continue
		}
		all, err := t.sum(ctx, s.side)
		if err != nil {
			return err
		}
		*s.rows, *s.sums = 0, all
		for _, d := range all {
			*s.rows += d.Count
		}
		if err := t.state.save(); err != nil {
			return err
		}
	}
	now := time.Now()
	open := map[int]*bucket{}
	for i, d := range p.SourceSums {
		if d != p.TargetSums[i] {
			open[i] = &bucket{seen: []digest{d}, source: d, began: now, changed: now}
		}
	}
	return t.settleBuckets(ctx, open)
}

// sum reads all of a side.
func (t *tables) sum(ctx context.Context, side *table) (s sums, err error) {
	err = side.all(ctx, func() { s = make(sums, buckets) }, func(r *rows) error {
		for i := range r.n {
			key, all := r.hash(i)
			s[bucketOf(key)].add(all)
		}
		return nil
	})
	return s, err
}

// bucket is one that was not the same on both sides.
type bucket struct {
	seen           []digest // what the source has had
	source         digest
	began, changed time.Time
}

// settleBuckets reads both sides again until every bucket has agreed, or has stood still, and finds the rows in those that differ.
func (t *tables) settleBuckets(ctx context.Context, open map[int]*bucket) error {
	differ, moving := map[int]bool{}, map[int]bool{}
	wait := firstWait
	for len(open) > 0 {
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		src, err := t.sum(ctx, t.src)
		if err != nil {
			return err
		}
		now := time.Now()
		for i, b := range open {
			if b.source != src[i] {
				b.source, b.changed = src[i], now
				b.seen = append(b.seen, src[i])
			}
		}
		dst, err := t.sum(ctx, t.dst)
		if err != nil {
			return err
		}
		now = time.Now()
		for i, b := range open {
			switch {
			case slices.Contains(b.seen, dst[i]):
			case now.Sub(b.changed) >= t.conf.Settle:
				differ[i] = true
			case now.Sub(b.began) >= restless*t.conf.Settle:
				moving[i] = true
			default:
				continue
			}
			delete(open, i)
		}
		wait = min(2*wait, mostWait)
	}
	out := &Table{Unsettled: int64(len(moving))}
	if len(moving) > 0 {
		out.Notes = append(out.Notes, "the source changes faster than it can be compared; what is unsettled are buckets of rows")
	}
	if len(differ) > 0 {
		if err := t.findRows(ctx, differ, out); err != nil {
			return err
		}
	}
	t.add(out)
	return nil
}

// kept are the rows of one key, or the equal rows of a table without one.
type kept struct {
	count [2]int64
	hash  [2]hash
	row   [2]*known
}

// findRows reads the buckets that differ once more, and says which rows do.
func (t *tables) findRows(ctx context.Context, differ map[int]bool, out *Table) error {
	found := map[hash]*kept{}
	var order []hash
	size, over := 0, false
	for n, side := range []*table{t.src, t.dst} {
		err := side.all(ctx, func() {
			for _, k := range found {
				k.count[n] = 0
			}
		}, func(r *rows) error {
			for i := range r.n {
				key, all := r.hash(i)
				if !differ[bucketOf(key)] {
					continue
				}
				k := found[key]
				if k == nil {
					k = &kept{}
					found[key], order = k, append(order, key)
				}
				k.count[n]++
				k.hash[n] = all
				if k.row[n] != nil {
					continue
				}
				if over = over || size > mostKept; over {
					continue
				}
				row, err := r.keep(i)
				if err != nil {
					return err
				}
				k.row[n] = row
				size += len(row.json) + 32*len(row.cells) + 200
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, key := range order {
		t.tell(found[key], out)
	}
	if out.Differences == 0 { // it has agreed since
		out.Notes = append(out.Notes, "rows that differed have agreed when they were looked for")
	}
	return nil
}

// tell counts and lists the rows of one key.
func (t *tables) tell(k *kept, out *Table) {
	source, target := k.count[0], k.count[1]
	if source == target && k.hash[0] == k.hash[1] {
		return
	}
	d := Difference{What: Differs}
	n := int64(1)
	switch {
	case source > target:
		d.What, n = Missing, source-target
	case target > source:
		d.What, n = Extra, target-source
	}
	out.Differences += n
	t.show(&d, k.row[0], k.row[1])
	t.list(out, d)
}
