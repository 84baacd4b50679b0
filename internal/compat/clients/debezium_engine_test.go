package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// debeziumBound is how long an event may take to come.
const debeziumBound = 3 * time.Minute

// debezium is a running engine.
type debezium struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string
	stderr bytes.Buffer
	ended  bool
}

// debeziumEvent is what the engine prints.
type debeziumEvent struct {
	Topic string
	Key   json.RawMessage
	Value json.RawMessage
}

// debeziumInstalled skips without Debezium.
func debeziumInstalled(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("java")
	for _, name := range []string{"classes/Events.class", "lib/debezium-connector-sqlserver-3.6.1.Final.jar"} {
		if err == nil {
			_, err = os.Stat(cached("debezium", name))
		}
	}
	if err != nil {
		t.Skipf("Debezium is not installed (%v): run .ci/clients-long.sh", err)
	}
}

// startDebezium runs the engine on testdb; its state is kept in a folder. More are further properties, as "name=value".
func startDebezium(t *testing.T, p *process, state string, more ...string) *debezium {
	t.Helper()
	props := []string{
		"name=compat", "topic.prefix=compat", "connector.class=io.debezium.connector.sqlserver.SqlServerConnector",
		"database.hostname=127.0.0.1", "database.port=" + p.port, "database.user=sa", "database.password=" + password, "database.names=testdb",
		"driver.encrypt=false", "converter.schemas.enable=false", "tombstones.on.delete=false", "poll.interval.ms=100", "errors.max.retries=0",
		"decimal.handling.mode=string", "time.precision.mode=isostring", "binary.handling.mode=base64",
		"offset.storage=org.apache.kafka.connect.storage.FileOffsetBackingStore", "offset.storage.file.filename=" + filepath.Join(state, "offsets.dat"), "offset.flush.interval.ms=200",
		"schema.history.internal=io.debezium.storage.file.history.FileSchemaHistory", "schema.history.internal.file.filename=" + filepath.Join(state, "history.dat"),
	}
	file := filepath.Join(t.TempDir(), "debezium.properties")
	if err := os.WriteFile(file, []byte(strings.Join(append(props, more...), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	classes := javaClass("debezium/classes", "debezium/lib/*")
	d := &debezium{cmd: exec.Command("java", "-Xmx1g", "-cp", classes, "Events", file), lines: make(chan string, 1024)}
	d.cmd.Stderr = &d.stderr
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if d.stdin, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.lines)
		r := bufio.NewReaderSize(stdout, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			d.lines <- line
		}
	}()
	t.Cleanup(func() { d.stop(t) })
	return d
}

// take waits for n changes or rows of a snapshot.
func (d *debezium) take(t *testing.T, n int) (out []debeziumEvent) {
	t.Helper()
	timer := time.NewTimer(debeziumBound)
	defer timer.Stop()
	for len(out) < n {
		select {
		case line, open := <-d.lines:
			if !open {
				d.stop(t)
				t.Fatalf("Debezium ended after %d of %d events\n%s", len(out), n, d.stderr.String())
			}
			var e debeziumEvent
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			if e.row() {
				out = append(out, e)
				timer.Reset(debeziumBound)
			}
		case <-timer.C:
			d.stop(t)
			t.Fatalf("only %d of %d events came: %v\n%s", len(out), n, out, d.stderr.String())
		}
	}
	return out
}

// stop ends the engine and fails for what came that nobody took.
func (d *debezium) stop(t *testing.T) {
	t.Helper()
	if d.ended {
		return
	}
	d.ended = true
	_ = d.stdin.Close()
	for line := range d.lines {
		var e debeziumEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.row() {
			t.Errorf("one event too many: %s", line)
		}
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("Debezium ended with %v\n%s", err, d.stderr.String())
	}
}

// row tells changes and rows from the table of signals and from what only concerns schemas.
func (e *debeziumEvent) row() bool {
	return bytes.Contains(e.Value, []byte(`"op":`)) && !strings.HasSuffix(e.Topic, ".signals")
}

// brief is an event in short: "c item {…after or before…}".
func (e *debeziumEvent) brief(t *testing.T) string {
	t.Helper()
	var v struct {
		Op            string
		Before, After json.RawMessage
		Source        struct{ Table string }
	}
	if err := json.Unmarshal(e.Value, &v); err != nil {
		t.Fatal(err)
	}
	row := v.After
	if v.Op == "d" {
		row = v.Before
	}
	return fmt.Sprintf("%s %s %s", v.Op, v.Source.Table, row)
}
