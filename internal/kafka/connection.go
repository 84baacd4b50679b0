package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	fieldSeedBrokers            = "seed_brokers"
	fieldClientID               = "client_id"
	fieldTLS                    = "tls"
	fieldMetadataMaxAge         = "metadata_max_age"
	fieldRequestTimeoutOverhead = "request_timeout_overhead"
	fieldConnIdleTimeout        = "conn_idle_timeout"
)

// connectionFields are the fields by which input and output reach a cluster.
func connectionFields() []*service.ConfigField {
	return []*service.ConfigField{
		service.NewStringListField(fieldSeedBrokers).
			Description("Addresses of brokers to begin with, as `host:port`; the others are learned from them. An item may have several, divided by commas.").
			Example([]string{"localhost:9092"}).
			Example([]string{"one:9092,two:9092"}),
		service.NewStringField(fieldClientID).
			Description("The name by which the brokers know this client, in their logs and quotas.").
			Default("mssqlcdc").
			Advanced(),
		service.NewTLSToggledField(fieldTLS),
		saslField(),
		service.NewDurationField(fieldMetadataMaxAge).
			Description("How old what is known of topics and partitions may become before it is asked for again. New topics that match a pattern are found then.").
			Default("1m").
			Advanced(),
		service.NewDurationField(fieldRequestTimeoutOverhead).
			Description("How much longer than its own timeout a request may take before its connection is given up.").
			Default("10s").
			Advanced(),
		service.NewDurationField(fieldConnIdleTimeout).
			Description("Connections that are idle for about this long are closed.").
			Default("20s").
			Advanced(),
	}
}

// parser reads fields one after the other and keeps all that is wrong.
type parser struct {
	conf *service.ParsedConfig
	errs []error
}

func (p *parser) failed(field string, err error) {
	p.errs = append(p.errs, fmt.Errorf("field %s: %w", field, err))
}

func (p *parser) err() error { return errors.Join(p.errs...) }

func field[T any](p *parser, read func(...string) (T, error), name string) T {
	v, err := read(name)
	if err != nil {
		p.failed(name, err)
	}
	return v
}

func (p *parser) text(name string) string            { return field(p, p.conf.FieldString, name) }
func (p *parser) flag(name string) bool              { return field(p, p.conf.FieldBool, name) }
func (p *parser) duration(name string) time.Duration { return field(p, p.conf.FieldDuration, name) }
func (p *parser) texts(name string) []string         { return field(p, p.conf.FieldStringList, name) }
func (p *parser) optionalTexts(name string) []string {
	if !p.conf.Contains(name) {
		return nil
	}
	return p.texts(name)
}

func (p *parser) optionalText(name string) string {
	if !p.conf.Contains(name) {
		return ""
	}
	return p.text(name)
}

// interpolated is an optional field with functions; nil when it is not set.
func (p *parser) interpolated(name string) *service.InterpolatedString {
	if !p.conf.Contains(name) {
		return nil
	}
	return field(p, p.conf.FieldInterpolatedString, name)
}

// size is a number of bytes with a unit, such as 32KB or 1MiB, that fits the protocol's 32 bits.
func (p *parser) size(name string) int32 {
	text := p.text(name)
	n, err := humanize.ParseBytes(text)
	switch {
	case err != nil:
		p.failed(name, fmt.Errorf("%q is no size: write bytes with a unit, such as 512KB or 1MiB", text))
	case n == 0 || n > math.MaxInt32:
		p.failed(name, fmt.Errorf("%s is out of range: it must be above 0 and below 2GiB", text))
	default:
		return int32(n)
	}
	return 0
}

// connection are the options of a client that reach a cluster.
func (p *parser) connection() []kgo.Opt {
	brokers := split(p.texts(fieldSeedBrokers))
	if len(brokers) == 0 {
		p.failed(fieldSeedBrokers, errors.New("no broker is named"))
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(brokers...),
		kgo.ClientID(p.text(fieldClientID)),
		kgo.MetadataMaxAge(p.duration(fieldMetadataMaxAge)),
		kgo.RequestTimeoutOverhead(p.duration(fieldRequestTimeoutOverhead)),
		kgo.ConnIdleTimeout(p.duration(fieldConnIdleTimeout)),
		kgo.DisableClientMetrics(), // the client's own telemetry to the broker, which would delay closing
	}
	// A metadata age below the client's least wait between two requests for it is refused by the client; wait less then.
	if age := p.duration(fieldMetadataMaxAge); age < metadataMinAge {
		opts = append(opts, kgo.MetadataMinAge(age))
	}
	if conf := p.tls(); conf != nil {
		opts = append(opts, kgo.DialTLSConfig(conf))
	}
	mechanisms, err := parseSASL(p.conf)
	if err != nil {
		p.failed(fieldSASL, err)
	}
	if len(mechanisms) > 0 {
		opts = append(opts, kgo.SASL(mechanisms...))
	}
	return opts
}

// metadataMinAge is the client's default for the least wait between two requests for metadata.
const metadataMinAge = 5 * time.Second

func (p *parser) tls() *tls.Config {
	conf, enabled, err := p.conf.FieldTLSToggled(fieldTLS)
	if err != nil {
		p.failed(fieldTLS, err)
	}
	if !enabled {
		return nil
	}
	return conf
}

// split takes lists whose items may be lists themselves, divided by commas.
func split(items []string) (out []string) {
	for _, item := range items {
		for part := range strings.SplitSeq(item, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}
