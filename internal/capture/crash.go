package capture

import "example.com/mssqlcdc/internal/crashpoint"

// steps are those that a batch can make, by what it holds.
type steps struct{ page, chunk, begin, end, window, mark crashpoint.Point }

// given is the step of giving the batch out.
func (b *Batch) given() crashpoint.Point {
	return b.step(steps{
		crashpoint.PageGiven, crashpoint.ChunkGiven, crashpoint.SnapshotBeginGiven, crashpoint.SnapshotEndGiven,
		crashpoint.WindowGiven, crashpoint.IncrementGiven,
	})
}

// acknowledged is the step of its leaving the lane.
func (b *Batch) acknowledged() crashpoint.Point {
	return b.step(steps{
		crashpoint.PageAcked, crashpoint.ChunkAcked, crashpoint.SnapshotBeginAcked, crashpoint.SnapshotEndAcked,
		crashpoint.WindowAcked, crashpoint.IncrementAcked,
	})
}

func (b *Batch) step(of steps) crashpoint.Point {
	s := b.Runs[0].Snapshot
	switch {
	case s == nil:
		return of.page
	case s.Incremental && s.Mark == "":
		return of.window
	case s.Incremental:
		return of.mark
	case s.Mark == SnapshotBegin:
		return of.begin
	case s.Mark == SnapshotEnd:
		return of.end
	}
	return of.chunk
}
