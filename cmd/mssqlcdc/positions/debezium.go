package positions

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/mssqlcdc/checkpoint"
)

// offset is what Debezium's SQL Server connector stores: one place in the changes of all tables of a database.
type offset struct {
	Commit   *string         `json:"commit_lsn"`
	Change   *string         `json:"change_lsn"`
	Serial   json.Number     `json:"event_serial_no"`
	Snapshot json.RawMessage `json:"snapshot"`
	// SnapshotCompleted is set at the end of the snapshot, in the offset of its last row.
	SnapshotCompleted *bool `json:"snapshot_completed"`
}

// partition is the second part of an offset's key.
type partition struct {
	Server   string `json:"server"`
	Database string `json:"database"`
}

// readDebezium reads --offsets.
func readDebezium(c *call) (foreign, error) {
	name := c.String("offsets")
	if name == "" {
		return foreign{}, errors.New("give --offsets, a file with Debezium's offsets as JSON, or - for stdin")
	}
	text, err := readBounded(name, c.opts.In)
	if err != nil {
		return foreign{}, fmt.Errorf("reading --offsets: %w", err)
	}
	f, err := parseDebezium(text, c.String("source-server"), c.String("source-database"))
	if err != nil {
		return foreign{}, fmt.Errorf("reading --offsets %s: %w", name, err)
	}
	return f, nil
}

// parseDebezium takes an offset by itself, or the lines that kafka-console-consumer prints of the topic with the offsets: the key,
// a separator, the value. Of several lines with one key the last one counts, as in a compacted topic.
func parseDebezium(text []byte, server, database string) (foreign, error) {
	if bytes.HasPrefix(text, []byte{0xac, 0xed}) {
		return foreign{}, errors.New("this is a file of FileOffsetBackingStore, a serialized Java map; write what it holds as JSON: {\"commit_lsn\": \"…\", \"change_lsn\": \"…\", \"event_serial_no\": …}")
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	if bytes.HasPrefix(text, []byte("{")) {
		var o offset
		if err := decode(text, &o); err != nil {
			return foreign{}, err
		}
		return o.foreign("Debezium's offset")
	}
	last := map[partition]*offset{}
	for i, line := range bytes.Split(text, []byte("\n")) {
		p, o, err := parseLine(bytes.TrimSpace(line))
		if err != nil {
			return foreign{}, fmt.Errorf("line %d: %w", i+1, err)
		}
		if p == nil || server != "" && p.Server != server || database != "" && p.Database != database {
			continue
		}
		if o == nil {
			delete(last, *p) // a tombstone: the connector was reset
			continue
		}
		last[*p] = o
	}
	var names []string
	for p := range last {
		names = append(names, fmt.Sprintf("server %s, database %s", p.Server, p.Database))
	}
	slices.Sort(names)
	switch len(names) {
	case 0:
		return foreign{}, errors.New(`there is no offset of Debezium's SQL Server connector in it; lines are as kafka-console-consumer prints them with --property print.key=true: ["connector",{"server":"…","database":"…"}] and the offset`)
	case 1:
		for _, o := range last {
			return o.foreign("Debezium's offset of " + names[0])
		}
	}
	return foreign{}, fmt.Errorf("it has offsets of several databases; choose one with --source-server and --source-database: %s", strings.Join(names, "; "))
}

// parseLine takes a line apart. A nil partition is a line of something else: connectors of other databases share the topic.
func parseLine(line []byte) (*partition, *offset, error) {
	if !bytes.HasPrefix(line, []byte("[")) {
		if len(line) == 0 || bytes.HasPrefix(line, []byte("Processed a total of")) {
			return nil, nil, nil
		}
		return nil, nil, errors.New("it does not begin with a key, a JSON array of the connector's name and its partition")
	}
	d := json.NewDecoder(bytes.NewReader(line))
	var key []json.RawMessage
	if err := d.Decode(&key); err != nil {
		return nil, nil, fmt.Errorf("reading the key: %w", err)
	}
	value := bytes.TrimLeft(line[d.InputOffset():], " \t:,;|=")
	var p partition
	if len(key) != 2 || json.Unmarshal(key[1], &p) != nil || p.Server == "" {
		return nil, nil, nil
	}
	if string(value) == "null" {
		return &p, nil, nil
	}
	var o offset
	if err := decode(value, &o); err != nil {
		return nil, nil, fmt.Errorf("reading the offset: %w", err)
	}
	if o.Commit == nil {
		return nil, nil, nil // of a connector for another database server
	}
	return &p, &o, nil
}

// decode reads one JSON object and nothing after it.
func decode(text []byte, o *offset) error {
	if err := json.Unmarshal(text, o); err != nil {
		return fmt.Errorf("it is not a JSON object of commit_lsn, change_lsn and event_serial_no: %w", err)
	}
	return nil
}

// foreign takes the transaction of the offset. change_lsn and event_serial_no are a place inside it, in an order over all tables
// that depends on Debezium's version, so they only serve to see that the offset is whole.
func (o *offset) foreign(reader string) (f foreign, err error) {
	f.reader = reader
	if o.Commit == nil {
		return f, errors.New("it has no commit_lsn")
	}
	if snapshot := strings.Trim(string(o.Snapshot), `"`); snapshot != "" && snapshot != "false" && snapshot != "null" && (o.SnapshotCompleted == nil || !*o.SnapshotCompleted) {
		return f, errors.New("its snapshot was not finished: rows that Debezium had not read yet would be missing")
	}
	if f.lsn, err = debeziumLSN(*o.Commit); err != nil {
		return f, fmt.Errorf("commit_lsn: %w", err)
	}
	if o.Change != nil && *o.Change != "" && *o.Change != "NULL" {
		if _, err := debeziumLSN(*o.Change); err != nil {
			return f, fmt.Errorf("change_lsn: %w", err)
		}
	}
	return f, nil
}

// debeziumLSN reads 00000027:00000758:0005.
func debeziumLSN(text string) (lsn checkpoint.LSN, _ error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 || len(parts[0]) != 8 || len(parts[1]) != 8 || len(parts[2]) != 4 {
		return lsn, fmt.Errorf("%q is not an LSN as 00000027:00000758:0005", text)
	}
	if _, err := hex.Decode(lsn[:], []byte(strings.Join(parts, ""))); err != nil {
		return lsn, fmt.Errorf("%q is not an LSN as 00000027:00000758:0005", text)
	}
	if lsn.IsZero() {
		return lsn, errors.New("it is zero")
	}
	return lsn, nil
}
