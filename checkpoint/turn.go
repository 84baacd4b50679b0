package checkpoint

import "context"

// turn lets one goroutine after the other use a store, and none after it was closed. Waiting ends with a context.
type turn struct {
	token  chan struct{} // holds a token while nobody uses the store
	closed bool          // its user's
}

func newTurn() turn {
	t := turn{token: make(chan struct{}, 1)}
	t.give()
	return t
}

// take waits for the store. After it comes give.
func (t *turn) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-t.token:
	case <-ctx.Done():
		return ctx.Err()
	}
	if t.closed {
		t.give()
		return ErrClosed
	}
	return nil
}

// takeToClose waits for the store to close it, closed or not. It takes a store that nobody uses although ctx has ended.
func (t *turn) takeToClose(ctx context.Context) error {
	select {
	case <-t.token:
		return nil
	default:
	}
	select {
	case <-t.token:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *turn) give() { t.token <- struct{}{} }
