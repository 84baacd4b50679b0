//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// lockFile refuses: without a lock that ends with the process two of them could share the file.
func lockFile(string) (*os.File, error) {
	return nil, fmt.Errorf("file locks on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func syncDir(string) error { return errors.ErrUnsupported }
