package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	setFormat  = "mssql_cdc positions"
	setVersion = 1
)

// setText is the text form of all positions of a pipeline, as files and caches keep it.
type setText struct {
	Format    string              `json:"format"`
	Version   int                 `json:"version"`
	Key       string              `json:"key"`
	Positions map[string]Position `json:"positions"`
}

func encodeSet(key string, positions map[string]Position) ([]byte, error) {
	text, err := json.MarshalIndent(setText{setFormat, setVersion, key, positions}, "", " ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// decodeSet reads the positions of a key. What is not ours, of another key, or damaged is an error, never an empty result:
// starting over would repeat everything.
func decodeSet(text []byte, key string) (map[string]Position, error) {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
		Key     string `json:"key"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("it is damaged or not positions of mssql_cdc: %w", err)
	}
	switch {
	case head.Format != setFormat:
		return nil, fmt.Errorf("it is not positions of mssql_cdc: its format is %q, not %q", head.Format, setFormat)
	case head.Version != setVersion:
		return nil, fmt.Errorf("its version is %d, only %d is known", head.Version, setVersion)
	case head.Key != key:
		return nil, fmt.Errorf("it belongs to the key %q, not to %q", head.Key, key)
	}
	var t setText
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is damaged: something follows the positions")
	}
	if t.Positions == nil {
		return nil, errors.New("it is damaged: positions is missing")
	}
	return t.Positions, nil
}

// merge puts changed positions in place of the ones that their tables had.
func merge(into, changed map[string]Position) error {
	for table, p := range changed {
		if err := checkTable(table); err != nil {
			return err
		}
		into[table] = p
	}
	return nil
}
