package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
)

const (
	fileFormat  = "mssql_cdc positions"
	fileVersion = 1
	fileLimit   = 256 << 20 // a position is some 300 bytes, so this is far beyond any number of tables
)

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

type fileText struct {
	Format    string              `json:"format"`
	Version   int                 `json:"version"`
	Key       string              `json:"key"`
	Positions map[string]Position `json:"positions"`
}

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
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
		Key     string `json:"key"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("it is damaged or not a position file: %w", err)
	}
	switch {
	case head.Format != fileFormat:
		return nil, fmt.Errorf("it is not a position file: its format is %q, not %q", head.Format, fileFormat)
	case head.Version != fileVersion:
		return nil, fmt.Errorf("its version is %d, only %d is known", head.Version, fileVersion)
	case head.Key != s.key:
		return nil, fmt.Errorf("it belongs to the key %q, not to %q", head.Key, s.key)
	}
	var t fileText
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	if t.Positions == nil {
		return nil, errors.New("it is damaged: positions is missing")
	}
	return t.Positions, nil
}

// Save writes all positions, those of changed in place of the ones they had.
func (s *FileStore) Save(ctx context.Context, changed map[string]Position) error {
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
	if len(changed) == 0 {
		return nil
	}
	next := maps.Clone(s.positions)
	for table, p := range changed {
		if err := checkTable(table); err != nil {
			return err
		}
		next[table] = p
	}
	if err := s.write(next); err != nil {
		return fmt.Errorf("writing position file %s: %w", s.path, err)
	}
	s.positions = next
	return nil
}

func (s *FileStore) write(positions map[string]Position) error {
	text, err := json.MarshalIndent(fileText{fileFormat, fileVersion, s.key, positions}, "", " ")
	if err != nil {
		return err
	}
	beside := s.path + ".new"
	if err := writeSynced(beside, append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(beside, s.path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.path))
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
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
