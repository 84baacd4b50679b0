// Package crashpoint names the steps of the input and of the output between which a crash must lose nothing, so that tests can crash there.
//
// Code calls Hit after a step. In production nobody listens, and a call is a comparison with nil. internal/crashtest listens in
// the processes that it kills.
package crashpoint

// Point is a step that was just made.
type Point string

// Steps of the stores of positions.
const (
	FileWritten Point = "position file written beside" // not synced
	FileSynced  Point = "position file synced"         // not renamed
	FileRenamed Point = "position file renamed"        // its folder is not synced
	SQLSaving   Point = "save in SQL about to be sent"
	SQLSaved    Point = "save in SQL committed"
	LeaseTaken  Point = "lease taken"
	LeaseKept   Point = "lease renewed"
	LeaseFreed  Point = "lease given up"
	CacheSaved  Point = "save in a cache made"
)

// Steps of a snapshot.
const (
	SnapshotBegun      Point = "handover fixed"       // the begin mark is in its lane
	SnapshotBeginGiven Point = "begin mark given out" // to the pipeline
	SnapshotBeginAcked Point = "begin mark acknowledged"
	HandoverKept       Point = "handover saved"
	ChunkCut           Point = "chunk cut" // its bound is known
	ChunkRead          Point = "chunk read"
	ChunkGiven         Point = "chunk given out"
	ChunkAcked         Point = "chunk acknowledged"
	PassRead           Point = "keyless table read"     // where its stream begins is not known
	PassResolved       Point = "keyless table resolved" // now it is
	SnapshotRead       Point = "last chunk read"        // the end mark is in its lane
	SnapshotEndGiven   Point = "end mark given out"
	SnapshotEndAcked   Point = "end mark acknowledged"
)

// Steps of a snapshot that a signal has asked for.
const (
	SignalTaken    Point = "signal taken" // not stored
	WindowOpened   Point = "low watermark written"
	WindowRead     Point = "chunk of a window read"
	WindowClosed   Point = "high watermark written"
	WindowGiven    Point = "rows of a window given out"
	WindowAcked    Point = "rows of a window acknowledged"
	IncrementRead  Point = "last window given out" // its end mark is in the lane
	IncrementGiven Point = "incremental mark given out"
	IncrementAcked Point = "incremental mark acknowledged"
)

// Steps of the changes, and of all positions.
const (
	PageRead  Point = "page read"
	PageGiven Point = "page given out"
	PageAcked Point = "page acknowledged"
	Saving    Point = "positions about to be saved"
	Saved     Point = "positions saved"
)

// Steps of the output. All of them but the first and the last are within the transaction of a batch.
const (
	BulkStaged     Point = "rows in the temporary table"
	BulkBegun      Point = "transaction of a batch begun"
	BulkSent       Point = "rows bulk loaded into the table"
	BulkMoved      Point = "rows moved into the table"
	BulkCommitting Point = "commit of a batch about to be sent"
	BulkCommitted  Point = "commit of a batch answered" // nobody was told
)

// Output lists the points of the output.
func Output() []Point {
	return []Point{BulkStaged, BulkBegun, BulkSent, BulkMoved, BulkCommitting, BulkCommitted}
}

// All lists the points of the input, in the order in which a pipeline meets them.
func All() []Point {
	return []Point{
		LeaseTaken, SnapshotBegun, SnapshotBeginGiven, SnapshotBeginAcked, HandoverKept, ChunkCut, ChunkRead, ChunkGiven, ChunkAcked,
		Saving, FileWritten, FileSynced, FileRenamed, SQLSaving, SQLSaved, CacheSaved, Saved, LeaseKept,
		PassRead, PassResolved, SnapshotRead, SnapshotEndGiven, SnapshotEndAcked, PageRead, PageGiven, PageAcked, LeaseFreed,
		SignalTaken, WindowOpened, WindowRead, WindowClosed, WindowGiven, WindowAcked, IncrementRead, IncrementGiven, IncrementAcked,
	}
}

var listener func(Point)

// Hit says that a step was made.
func Hit(p Point) {
	if listener != nil {
		listener(p)
	}
}

// Listen makes f hear of every step. It is called before anything runs, and f from many goroutines.
func Listen(f func(Point)) { listener = f }
