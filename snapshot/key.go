package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.com/mssqlcdc/internal/sqltype"
)

// keyVersion is the version of the text form. A change of meaning gets a new one.
const keyVersion = 1

const (
	maxKeyColumns = 32      // of an index, since SQL Server 2016
	maxKeyText    = 1 << 20 // far above 32 columns of at most 1,700 bytes
)

// Key is the place of a row in the order of the table's key. The zero Key is
// before the first row, or behind the last. Keys of a table are ordered by its
// server and in no other way.
type Key struct {
	columns []keyColumn
	values  []string // in the text form of each column's codec
}

// keyColumn is what a key says about a column, so that it is recognised when the
// table's key has changed.
type keyColumn struct {
	name string
	typ  sqltype.Type // not nullable
	desc bool
}

func (c keyColumn) describe() string {
	s := c.name + " " + c.typ.String()
	if c.typ.Collation != "" {
		s += " COLLATE " + c.typ.Collation
	}
	if c.desc {
		s += " DESC"
	}
	return s
}

// IsZero tells whether k is no row's key.
func (k Key) IsZero() bool { return len(k.columns) == 0 }

// Equal tells whether k and l are the same in every byte. Keys that the server
// takes for equal may differ, such as 'a' and 'A'.
func (k Key) Equal(l Key) bool {
	return slices.Equal(k.columns, l.columns) && slices.Equal(k.values, l.values)
}

// String is the text form, a JSON object with its version: the columns with their
// types and directions, and values that lose nothing, text and binary in
// hexadecimal. That of the zero Key is empty.
func (k Key) String() string {
	if k.IsZero() {
		return ""
	}
	b, err := k.MarshalJSON()
	if err != nil { // strings alone: it cannot be
		return ""
	}
	return string(b)
}

func (k Key) columnTexts() []string {
	out := make([]string, len(k.columns))
	for i, c := range k.columns {
		out[i] = c.describe()
	}
	return out
}

type keyText struct {
	Version int             `json:"v"`
	Columns []keyColumnText `json:"columns"`
}

type keyColumnText struct {
	Name      string  `json:"name"`
	Type      string  `json:"type"`
	Collation string  `json:"collation,omitempty"`
	Desc      bool    `json:"desc,omitempty"`
	Value     *string `json:"value"`
}

// MarshalJSON gives the text form, null for the zero Key.
func (k Key) MarshalJSON() ([]byte, error) {
	if k.IsZero() {
		return []byte("null"), nil
	}
	t := keyText{Version: keyVersion}
	for i, c := range k.columns {
		t.Columns = append(t.Columns, keyColumnText{c.name, c.typ.String(), c.typ.Collation, c.desc, &k.values[i]})
	}
	return json.Marshal(t)
}

// UnmarshalJSON reads what MarshalJSON gives. Anything else is an error: a key
// that is half understood would skip rows.
func (k *Key) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*k = Key{}
		return nil
	}
	l, err := parseKey(b)
	if err != nil {
		return fmt.Errorf("reading the key of a snapshot: %w", err)
	}
	*k = l
	return nil
}

// ParseKey reads what String gives.
func ParseKey(s string) (Key, error) {
	if s == "" {
		return Key{}, nil
	}
	k, err := parseKey([]byte(s))
	if err != nil {
		return Key{}, fmt.Errorf("reading the key of a snapshot: %w", err)
	}
	return k, nil
}

func parseKey(b []byte) (Key, error) {
	if len(b) > maxKeyText {
		return Key{}, fmt.Errorf("%d bytes are more than any key has", len(b))
	}
	var version struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return Key{}, err
	}
	if version.Version != keyVersion {
		return Key{}, fmt.Errorf("version %d is not known, only %d", version.Version, keyVersion)
	}
	var t keyText
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return Key{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Key{}, errors.New("something follows the object")
	}
	if len(t.Columns) == 0 || len(t.Columns) > maxKeyColumns {
		return Key{}, fmt.Errorf("%d columns", len(t.Columns))
	}
	var k Key
	for _, c := range t.Columns {
		typ, err := sqltype.Parse(c.Type)
		if err != nil {
			return Key{}, fmt.Errorf("column %q: %w", c.Name, err)
		}
		typ.Collation = c.Collation
		codec, err := codecOf(typ)
		if err != nil {
			return Key{}, fmt.Errorf("column %q: %w", c.Name, err)
		}
		if c.Name == "" || c.Value == nil {
			return Key{}, fmt.Errorf("column %q has no name or no value", c.Name)
		}
		if _, err := codec.arg(*c.Value); err != nil {
			return Key{}, fmt.Errorf("column %q: %w", c.Name, err)
		}
		k.columns = append(k.columns, keyColumn{c.Name, typ, c.Desc})
		k.values = append(k.values, *c.Value)
	}
	return k, nil
}
