package verify

import (
	"encoding/json"
	"unicode/utf8"
)

const (
	mostValue = 200  // bytes of a value that is shown
	mostRow   = 1000 // of a row without a key
)

// show writes what is known of a row into a difference.
func (t *tables) show(d *Difference, src, dst *known) {
	any := src
	if any == nil {
		any = dst
	}
	if any == nil {
		return // beyond what is kept
	}
	d.Key = any.key
	if d.Key == "" {
		d.Row = shorten(string(any.json), mostRow)
		return
	}
	if src == nil || dst == nil {
		return
	}
	a, b := values(src.json), values(dst.json)
	for _, i := range differing(src, dst) {
		c := t.pairing.columns[i]
		d.Columns = append(d.Columns, Values{Column: c.name, Source: shorten(string(a[c.name]), mostValue), Target: shorten(string(b[c.target]), mostValue)})
	}
}

func values(row []byte) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(row, &m) != nil { // it was written here
		return nil
	}
	return m
}

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
