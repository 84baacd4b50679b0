package checkpoint

import (
	"context"
	"errors"
	"fmt"
)

// Store keeps the positions of one pipeline by source table. The name of a table is kept as it is given: case and blanks count.
type Store interface {
	// Load gives all positions. It waits, within ctx, until this process is the one that may save.
	Load(ctx context.Context) (map[string]Position, error)
	// Save keeps the positions of tables that changed; those of other tables stay.
	Save(ctx context.Context, changed map[string]Position) error
	// Close gives the store free for another process.
	Close(ctx context.Context) error
}

// ErrLeaseLost says that another process has taken the positions over. Nothing was saved, and nothing will be until Load has
// taken the lease again.
var ErrLeaseLost = errors.New("another process holds the lease of these positions")

// ErrClosed says that the store was closed.
var ErrClosed = errors.New("the store is closed")

// checkTable refuses the names that no store can keep.
func checkTable(name string) error {
	if name == "" {
		return fmt.Errorf("keeping a position: the table has no name")
	}
	return nil
}
