package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"example.com/mssqlcdc/internal/crashpoint"
)

const fileLimit = 256 << 20 // a position is some 300 bytes, so this is far beyond any number of tables

// ErrFileInUse says that another process, or another store of this one, has the file.
var ErrFileInUse = errors.New("another process uses this file")

// FileStore keeps positions in a file. A save writes another file beside it, syncs it, and renames it over the old one, so that a
// crash leaves one or the other whole. A lock file beside it, path.lock, keeps other processes out from Load to Close.
type FileStore struct {
	path, key string

	mu        sync.Mutex
	lock      *os.File
	positions map[string]Position
	closed    bool
}

var _ Store = (*FileStore)(nil)

// NewFileStore names the file and the key of the pipeline that it belongs to. Nothing is opened before Load.
func NewFileStore(path, key string) (*FileStore, error) {
	if path == "" {
		return nil, errors.New("opening a position file: it has no name")
	}
	return &FileStore{path: path, key: key}, nil
}

// Load takes the lock and reads the file; there are no positions when it does not exist. A file that is not ours, of another key,
// or damaged is an error, never an empty result: starting over would repeat everything. It does not wait for the lock.
func (s *FileStore) Load(ctx context.Context) (map[string]Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.closed {
		return nil, ErrClosed
	}
	if s.lock == nil {
		lock, err := lockFile(s.path + ".lock")
		if err != nil {
			return nil, fmt.Errorf("locking position file %s: %w", s.path, err)
		}
		s.lock = lock
	}
	positions, err := s.read()
	if err != nil {
		return nil, fmt.Errorf("reading position file %s: %w", s.path, err)
	}
	s.positions = positions
	return maps.Clone(positions), nil
}

func (s *FileStore) read() (_ map[string]Position, err error) {
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Position{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(io.LimitReader(f, fileLimit+1))
	if err != nil {
		return nil, err
	}
	if len(text) > fileLimit {
		return nil, errors.New("it is too large for a position file")
	}
	return decodeSet(text, s.key)
}

// Peek gives the positions without taking the lock, and says who has it: "another process", or nobody.
func (s *FileStore) Peek(ctx context.Context) (positions map[string]Position, holder string, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	if s.lock == nil {
		// A lock file that does not exist is not made: looking leaves no trace.
		if _, err := os.Stat(s.path + ".lock"); err == nil {
			switch lock, err := lockFile(s.path + ".lock"); {
			case errors.Is(err, ErrFileInUse):
				holder = "another process"
			case err == nil:
				if err := lock.Close(); err != nil {
					return nil, "", fmt.Errorf("unlocking position file %s: %w", s.path, err)
				}
			}
		}
	}
	positions, err := s.read()
	if err != nil {
		return nil, "", fmt.Errorf("reading position file %s: %w", s.path, err)
	}
	return positions, holder, nil
}

// Save writes all positions, those of changed in place of the ones they had.
func (s *FileStore) Save(ctx context.Context, changed map[string]Position) error {
	return s.change(ctx, func(next map[string]Position) error { return merge(next, changed) })
}

// Delete forgets the positions of tables. One that has none is no error.
func (s *FileStore) Delete(ctx context.Context, tables ...string) error {
	return s.change(ctx, func(next map[string]Position) error {
		for _, t := range tables {
			delete(next, t)
		}
		return nil
	})
}

func (s *FileStore) change(ctx context.Context, edit func(map[string]Position) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed {
		return ErrClosed
	}
	if s.positions == nil {
		return fmt.Errorf("writing position file %s: it was not loaded", s.path)
	}
	next := maps.Clone(s.positions)
	if err := edit(next); err != nil {
		return err
	}
	if maps.EqualFunc(next, s.positions, Position.Equal) {
		return nil
	}
	if err := s.write(next); err != nil {
		return fmt.Errorf("writing position file %s: %w", s.path, err)
	}
	s.positions = next
	return nil
}

func (s *FileStore) write(positions map[string]Position) error {
	text, err := encodeSet(s.key, positions)
	if err != nil {
		return err
	}
	beside := s.path + ".new"
	if err := writeSynced(beside, text); err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.FileSynced)
	if err := os.Rename(beside, s.path); err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.FileRenamed)
	return syncDir(filepath.Dir(s.path))
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		crashpoint.Hit(crashpoint.FileWritten)
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Close gives the lock free. The lock file stays: removing it could free a lock that another process has just taken.
func (s *FileStore) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.lock == nil {
		return nil
	}
	err := s.lock.Close()
	s.lock = nil
	return err
}
