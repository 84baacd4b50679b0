package mssqlcdc

import (
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
)

const testDSN = "connection_string: sqlserver://u:p@127.0.0.1:1?database=d\n"

// parseCDC builds the input from YAML fields, without connecting.
func parseCDC(yaml string) (*cdcInput, error) {
	conf, err := cdcSpec().ParseYAML(testDSN+yaml, nil)
	if err != nil {
		return nil, err
	}
	return (&cdcParser{conf: conf, mgr: service.MockResources(service.MockResourcesOptAddCache("positions"))}).parse()
}

func TestCDCDefaults(t *testing.T) {
	in, err := parseCDC("")
	if err != nil {
		t.Fatal(err)
	}
	c := in.cfg
	if c.MaxRows != 1000 || c.MaxBytes != 900_000 || c.Period != 0 || c.Limit != 32768 || c.MaxConnections != 16 || c.MaxInFlight != 0 ||
		c.Global || c.PollInterval.String() != "200ms" || c.Heartbeat.String() != "1m0s" || c.StopOnTableError || c.StopOnRefusal || c.ReplaceInvalidText {
		t.Fatalf("the defaults are not those of the documentation: %+v", c)
	}
	if in.writer.format != "json" || in.writer.before != "none" || in.writer.tombstones || len(in.writer.extra) != 0 || in.batcher != nil {
		t.Fatalf("the message defaults are not those of the documentation: %+v", in.writer)
	}
}

func TestCDCFieldsReachTheFlow(t *testing.T) {
	tests := []struct {
		name, yaml string
		ok         func(*cdcInput) bool
	}{
		{"checkpoint_limit", "checkpoint_limit: 5000", func(in *cdcInput) bool { return in.cfg.Limit == 5000 }},
		{"max_connections", "max_connections: 3", func(in *cdcInput) bool { return in.cfg.MaxConnections == 3 }},
		{"poll_interval", "poll_interval: 3s", func(in *cdcInput) bool { return in.cfg.PollInterval.Seconds() == 3 }},
		{"stream_backoff_interval", "stream_backoff_interval: 4s", func(in *cdcInput) bool { return in.cfg.PollInterval.Seconds() == 4 }},
		{"heartbeat_interval", "heartbeat_interval: 5s", func(in *cdcInput) bool { return in.cfg.Heartbeat.Seconds() == 5 }},
		{"max_in_flight", "max_in_flight: 1", func(in *cdcInput) bool { return in.cfg.MaxInFlight == 1 }},
		{"ordering", "ordering: global", func(in *cdcInput) bool { return in.cfg.Global }},
		{"on_table_error", "on_table_error: stop", func(in *cdcInput) bool { return in.cfg.StopOnTableError }},
		{"on_invalid_text", "on_invalid_text: replace", func(in *cdcInput) bool { return in.cfg.ReplaceInvalidText }},
		{"auto_replay_nacks", "auto_replay_nacks: false", func(in *cdcInput) bool { return in.cfg.StopOnRefusal }},
		{"start_from latest", "start_from: latest", func(in *cdcInput) bool { return in.cfg.Start.Latest }},
		{"start_from LSN", `start_from: "0x00000025000001a80003"`, func(in *cdcInput) bool { return in.cfg.Start.LSN.String() == "0x00000025000001a80003" }},
		{"start_from time", `start_from: "2026-03-01T00:00:00Z"`, func(in *cdcInput) bool { return in.cfg.Start.Time.Unix() == 1772323200 }},
		{"before_image", "before_image: message", func(in *cdcInput) bool { return in.writer.before == "message" }},
		{"tombstones", "tombstones: true", func(in *cdcInput) bool { return in.writer.tombstones }},
		{"format", "format: debezium\ncheckpoint_cache_key: shop", func(in *cdcInput) bool { return in.writer.format == "debezium" && in.writer.name == "shop" }},
		{"format arrow with old rows", "format: arrow\nbefore_image: message", func(in *cdcInput) bool { return in.writer.format == "arrow" }},
		{"metadata", "metadata: [seqval]", func(in *cdcInput) bool { return in.writer.extra["seqval"] }},
		{"batching count", "batching: {count: 77}", func(in *cdcInput) bool { return in.cfg.MaxRows == 77 && in.batcher == nil }},
		{"batching byte_size", "batching: {byte_size: 5555}", func(in *cdcInput) bool { return in.cfg.MaxBytes == 5555 && in.cfg.MaxRows == 1000 }},
		{"batching period", "batching: {period: 2s}", func(in *cdcInput) bool { return in.cfg.Period.Seconds() == 2 }},
		{"batching processors", "batching: {processors: [{mapping: 'root = this'}]}", func(in *cdcInput) bool { return in.batcher != nil }},
		{"tls", "tls: {enabled: true, skip_cert_verify: true}", func(in *cdcInput) bool { return in.cfg.Session.TLSConfig != nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in, err := parseCDC(tt.yaml)
			if err != nil {
				t.Fatal(err)
			}
			if !tt.ok(in) {
				t.Fatalf("%s does not reach the flow: %+v", tt.yaml, in.cfg)
			}
		})
	}
}

func TestCDCRefusesWrongConfig(t *testing.T) {
	tests := []struct{ name, yaml, want string }{
		{"include is no pattern", "include: ['dbo.(']", "include"},
		{"start_from", "start_from: yesterday", "start_from"},
		{"start_from zero LSN", `start_from: "0x00000000000000000000"`, "earliest"},
		{"metadata", "metadata: [lsnn]", `"lsnn" is not a key`},
		{"arrow with tombstones", "format: arrow\ntombstones: true", "tombstones"},
		{"arrow with before images as metadata", "format: arrow\nbefore_image: metadata", "before_image metadata"},
		{"debezium with before images", "format: debezium\nbefore_image: message", "before_image has no meaning"},
		{"two stores", "checkpoint_cache: positions\ncheckpoint_file: /tmp/x", "exclude each other"},
		{"cache that is not there", "checkpoint_cache: nowhere", `no cache resource "nowhere"`},
		{"checkpoint table", "checkpoint_cache_table_name: a.b.c", "checkpoint_cache_table_name"},
		{"checkpoint connection", "checkpoint_cache_connection_string: 'sqlserver://u:p@'", "checkpoint_cache_connection_string"},
		{"batching.check", "batching: {check: 'true'}", "batching.check"},
		{"limit below a batch", "checkpoint_limit: 10", "checkpoint_limit (10)"},
		{"no connections", "max_connections: 0", "max_connections"},
		{"poll_interval", "poll_interval: 0s", "poll_interval"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseCDC(tt.yaml)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%s: got %v, want an error with %q", tt.yaml, err, tt.want)
			}
		})
	}
}

func TestCDCLint(t *testing.T) {
	tests := []struct{ name, yaml, want string }{
		{"right", "checkpoint_file: x", ""},
		{"unknown field", "read_faster: true", "read_faster"},
		{"two stores", "checkpoint_file: x\n  checkpoint_cache: y", "exclude each other"},
		{"unknown format", "format: avro", "avro is not a valid option"},
		{"arrow with tombstones", "format: arrow\n  tombstones: true", "tombstones"},
		{"arrow with before images as metadata", "format: arrow\n  before_image: metadata", "before_image metadata"},
		{"arrow with old rows", "format: arrow\n  before_image: message", ""},
		{"debezium with before images", "format: debezium\n  before_image: metadata", "before_image has no meaning"},
		{"debezium with tombstones", "format: debezium\n  tombstones: true", ""},
		{"batching.check", "batching: {check: 'true'}", "batching.check"},
		{"max_in_flight", "max_in_flight: -1", "max_in_flight"},
		{"max_connections", "max_connections: 0", "max_connections"},
		{"checkpoint_limit", "checkpoint_limit: 0", "checkpoint_limit"},
	}
	linter := service.GlobalEnvironment().NewComponentConfigLinter()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lints, err := linter.LintInputYAML([]byte("mssql_cdc:\n  " + strings.TrimSpace(testDSN) + "\n  " + tt.yaml + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range lints {
				got = append(got, l.Error())
			}
			text := strings.Join(got, "; ")
			if tt.want == "" && text != "" || tt.want != "" && !strings.Contains(text, tt.want) {
				t.Fatalf("lints of %q: %q, want %q", tt.yaml, text, tt.want)
			}
		})
	}
}

func TestCDCSecretsStayOutOfErrors(t *testing.T) {
	conf, err := cdcSpec().ParseYAML("connection_string: 'sqlserver://user:s3cret%zz@host?database=d'\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = newCDCInput(conf, service.MockResources())
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Fatalf("the error shows the password, or there is none: %v", err)
	}
}
