package mssqlcdc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cenkalti/backoff/v4"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// bulkConfig is what the fields of mssql_bulk say.
type bulkConfig struct {
	session    session.Config
	table      *service.InterpolatedString // nil = by metadata
	static     *catalog.Name               // the table, when it is the same for all messages
	inFlight   int
	policy     service.BatchPolicy
	decode     body.DecodeOptions
	load       bulkload.Options
	mode       bulkMode
	fence      *bulkFence // of exactly_once, nil = off
	rejects    string     // the name of reject_table
	rejectName catalog.Name
	create     bool // tables that do not exist
	addColumns bool // that tables do not have
	staged     bool // small loads go through a temporary table
	maxRetries int
	backoff    *backoff.ExponentialBackOff
}

func parseBulk(conf *service.ParsedConfig) (*bulkConfig, error) {
	p := cdcParser{conf: conf}
	c := &bulkConfig{
		session: session.Config{
			ConnectionString: p.text(bulkFieldConnectionString),
			AppName:          "mssqlcdc mssql_bulk",
		},
		maxRetries: field(&p, conf.FieldInt, bulkFieldMaxRetries),
		inFlight:   field(&p, conf.FieldInt, bulkFieldMaxInFlight),
		policy:     field(&p, conf.FieldBatchPolicy, bulkFieldBatching),
		backoff:    field(&p, conf.FieldBackOff, bulkFieldBackoff),
	}
	p.mode(c)
	p.exactlyOnce(c)
	if init := p.text(bulkFieldInit); init != "" {
		c.session.Init = []string{init, sqlBulkCounts}
	}
	c.load.Hints = field(&p, conf.FieldStringList, bulkFieldHints)
	unknown := p.text(bulkFieldOnUnknown)
	c.decode.IgnoreUnknown, c.addColumns = unknown == "ignore", unknown == "add_column"
	p.lossy(c)
	c.create = field(&p, conf.FieldBool, bulkFieldCreateTable)
	raw := p.text(bulkFieldRawTDS)
	if p.err != nil {
		return nil, p.err
	}
	var err error
	if c.session.RawTDS, err = session.ParseRawMode(raw); err != nil {
		return nil, err
	}
	if c.load.Hints == nil {
		c.load.Hints = []string{}
	}
	if err := checkHints(c.load.Hints); err != nil {
		return nil, err
	}
	c.staged = likeInsert(c.load.Hints)
	if err := p.target(c); err != nil {
		return nil, err
	}
	tlsConf, tlsOn, err := conf.FieldTLSToggled(bulkFieldTLS)
	if err != nil {
		return nil, err
	}
	if tlsOn {
		c.session.TLSConfig = tlsConf
	}
	c.session.Dial = session.InProcess(c.session)
	return c, c.session.Validate()
}

func (p *cdcParser) lossy(c *bulkConfig) {
	is := func(name, value string) bool { return p.text(bulkFieldOnLossy, name) == value }
	c.load.Lossy = bulkload.Lossy{Text: is("text", "truncate"), Number: is("number", "round"), Time: is("time", "round"), NaN: is("nan", "null")}
	c.decode.Lossy = body.Lossy{Number: c.load.Lossy.Number, Time: c.load.Lossy.Time, NaN: c.load.Lossy.NaN}
}

// target reads the field table.
func (p *cdcParser) target(c *bulkConfig) error {
	text, err := p.conf.FieldInterpolatedString(bulkFieldTable)
	if err != nil {
		return err
	}
	static, ok := text.Static()
	if ok && static == "" {
		return nil
	}
	c.table = text
	if ok {
		name, err := catalog.ParseName(static)
		if err != nil {
			return fmt.Errorf("table: %w", err)
		}
		c.static = &name
	}
	return nil
}

// likeInsert reports whether the hints make a load do what INSERT … SELECT does.
func likeInsert(hints []string) bool {
	if len(hints) != len(bulkload.DefaultHints) {
		return false
	}
	for _, h := range bulkload.DefaultHints {
		if !slices.ContainsFunc(hints, func(x string) bool { return strings.EqualFold(strings.TrimSpace(x), h) }) {
			return false
		}
	}
	return true
}
