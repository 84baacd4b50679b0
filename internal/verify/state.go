package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.com/mssqlcdc/snapshot"
)

const stateVersion = 1

// state is what is kept of a comparison, so that another call goes on with it. What is finished is not read again.
type state struct {
	Version int    `json:"v"`
	What    string `json:"what"` // the servers and how is compared
	// Tables are by the name of the source's.
	Tables map[string]*progress `json:"tables"`

	file string
}

// progress is that of one pair of tables.
type progress struct {
	Compared string `json:"compared"` // the columns and rules
	Done     bool   `json:"done"`
	Found    *Table `json:"found"`
	// Next is the key up to which chunks are compared, Last that it was the last one, and Pending are those among them with rows
	// that may yet agree.
	Next    snapshot.Key `json:"next"`
	Last    bool         `json:"last"`
	Pending []span       `json:"pending,omitempty"`
	// Sums are those of the buckets of a side that was read to its end.
	SourceSums []digest `json:"source_sums,omitempty"`
	TargetSums []digest `json:"target_sums,omitempty"`
}

// span is a chunk, after one key and up to another.
type span struct {
	After snapshot.Key `json:"after"`
	Upto  snapshot.Key `json:"upto"`
}

func loadState(file, what string) (*state, error) {
	s := &state{Version: stateVersion, What: what, Tables: map[string]*progress{}, file: file}
	if file == "" {
		return s, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	stored := &state{file: file}
	if err := json.Unmarshal(text, stored); err != nil {
		return nil, fmt.Errorf("reading the state in %s: %w; remove it to begin anew", file, err)
	}
	if stored.Version != stateVersion || stored.What != what {
		return nil, fmt.Errorf("the state in %s is of another comparison (%s); remove it to begin anew, or name another file", file, stored.What)
	}
	if stored.Tables == nil {
		stored.Tables = map[string]*progress{}
	}
	return stored, nil
}

// save writes the state beside, and puts it in the place of the old one.
func (s *state) save() error {
	if s.file == "" {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(s.file), filepath.Base(s.file)+".*")
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.file)
	}
	if err != nil {
		return fmt.Errorf("writing the state: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// remove forgets a comparison that is over.
func (s *state) remove() error {
	if s.file == "" {
		return nil
	}
	if err := os.Remove(s.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the state: %w", err)
	}
	return nil
}
