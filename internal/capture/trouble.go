package capture

import "time"

// troubleBound is how long errors that pass go without a word.
const troubleBound = 5 * time.Second

// trouble is a row of errors that pass. It is told of once, when it has lasted, and so is its end.
type trouble struct {
	since time.Time // of the first error; zero for none
	told  bool
}

// tell notes an error, and reports whether it is the one to tell of.
func (t *trouble) tell() bool {
	if t.since.IsZero() {
		t.since = time.Now()
	}
	return time.Since(t.since) >= troubleBound && t.now()
}

// now is tell for an error that does not pass.
func (t *trouble) now() bool {
	first := !t.told
	t.told = true
	return first
}

// over ends the trouble, and reports whether it was told of.
func (t *trouble) over() bool {
	told := t.told
	*t = trouble{}
	return told
}
