package capture

import "example.com/mssqlcdc/internal/crashpoint"

// given is the step of giving the batch out.
func (b *Batch) given() crashpoint.Point {
	return b.step(crashpoint.SnapshotBeginGiven, crashpoint.SnapshotEndGiven, crashpoint.ChunkGiven, crashpoint.PageGiven)
}

// acknowledged is the step of its leaving the lane.
func (b *Batch) acknowledged() crashpoint.Point {
	return b.step(crashpoint.SnapshotBeginAcked, crashpoint.SnapshotEndAcked, crashpoint.ChunkAcked, crashpoint.PageAcked)
}

// step chooses by what the batch holds.
func (b *Batch) step(begin, end, chunk, page crashpoint.Point) crashpoint.Point {
	s := b.Runs[0].Snapshot
	switch {
	case s == nil:
		return page
	case s.Mark == SnapshotBegin:
		return begin
	case s.Mark == SnapshotEnd:
		return end
	}
	return chunk
}
