package mssqlcdc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/merge"
)

// mostKeyBytes is how long the key of a clustered index may be.
const mostKeyBytes = 900

var errNoCreateKey = fmt.Errorf("the table does not exist, and create_table knows no key for it: name its columns in key_columns, or let the messages have the metadata key, which mssql_cdc sets for tables with a key (%w)", merge.ErrNoKey)

// keyOf gives the columns of the primary key of the table that a message makes: none in mode insert, and in mode apply for a
// message without a key.
func (l *bulkLanding) keyOf(i int) ([]string, error) {
	mode := &l.out.cfg.mode
	if !mode.keyed || len(mode.keyColumns) > 0 {
		return mode.keyColumns, nil
	}
	text := metaText(l.batch[i], "key")
	if text == "" {
		var err error
		if text, err = l.arrowKey(i); err != nil {
			return nil, err
		}
	}
	key, err := namesOf(text)
	if err != nil {
		return nil, fmt.Errorf("reading the key of the message: %w", err)
	}
	if len(key) == 0 && !mode.apply {
		return nil, errNoCreateKey
	}
	return key, nil
}

// arrowKey gives the key of the first row of mssql_cdc's records that has one, "" for other messages.
func (l *bulkLanding) arrowKey(i int) (string, error) {
	records, err := l.arrowOf(i)
	if err != nil {
		return "", err
	}
	for _, rec := range records {
		if keys := arrowChangeColumnsOf(rec).keys; keys != nil && keys.Len() > 0 && keys.IsValid(0) && keys.Value(0) != "" {
			return strings.Clone(keys.Value(0)), nil
		}
	}
	return "", nil
}

// namesOf gives the names of a JSON object in their order.
func namesOf(object string) (out []string, _ error) {
	if object == "" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(object)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("it is not a JSON object"), err)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := t.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil || !ok {
			return nil, errors.Join(errors.New("it is not a JSON object"), err)
		}
		out = append(out, name)
	}
	return out, nil
}

// createList is what stands in the parentheses of CREATE TABLE.
func createList(columns [][2]string, key []string) ([]string, error) {
	isKey := map[string]bool{}
	for _, k := range key {
		isKey[k] = true
	}
	list := make([]string, 0, len(columns)+1)
	for _, c := range columns {
		declaration := c[1] + " NULL"
		if isKey[c[0]] {
			declaration = keyDeclaration(c[1], len(key)) + " NOT NULL"
			delete(isKey, c[0])
		}
		list = append(list, catalog.Quote(c[0])+" "+declaration)
	}
	for _, k := range key {
		if isKey[k] {
			return nil, fmt.Errorf("the table does not exist, and create_table does not find column %s of its key among those of the message", k)
		}
	}
	if len(key) == 0 {
		return list, nil
	}
	return append(list, "PRIMARY KEY ("+catalog.QuoteList(key)+")"), nil
}

// keyDeclaration gives types without a length one that a key may have.
func keyDeclaration(declaration string, columns int) string {
	room := mostKeyBytes / columns
	declaration = strings.Replace(declaration, "nvarchar(max)", fmt.Sprintf("nvarchar(%d)", room/2), 1)
	declaration = strings.Replace(declaration, "varchar(max)", fmt.Sprintf("varchar(%d)", room), 1)
	return strings.Replace(declaration, "varbinary(max)", fmt.Sprintf("varbinary(%d)", room), 1)
}
