package mssqlcdc

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/capture"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// Natural batches: what one message of most brokers and one page of most outputs take.
const (
	naturalRows  = 1000
	naturalBytes = 900_000
)

// cdcParser reads the fields and keeps the first error.
type cdcParser struct {
	conf *service.ParsedConfig
	mgr  *service.Resources
	err  error
}

func field[T any](p *cdcParser, get func(...string) (T, error), path ...string) (v T) {
	if p.err != nil {
		return v
	}
	v, p.err = get(path...)
	return v
}

func (p *cdcParser) text(path ...string) string { return field(p, p.conf.FieldString, path...) }

func (p *cdcParser) parse() (*cdcInput, error) {
	in := &cdcInput{
		include: field(p, p.conf.FieldStringList, cdcFieldInclude), exclude: field(p, p.conf.FieldStringList, cdcFieldExclude),
		log: p.mgr.Logger(), connected: make(chan struct{}, 1), warned: map[string]bool{},
	}
	in.connected <- struct{}{}
	in.observer = newCDCObserver(p.mgr)
	in.observer.global = p.text(cdcFieldOrdering) == "global"
	in.cfg = capture.Config{
		Session:        session.Config{ConnectionString: p.text(cdcFieldConnectionString), AppName: "mssqlcdc mssql_cdc"},
		MaxRows:        naturalRows,
		MaxBytes:       naturalBytes,
		Limit:          field(p, p.conf.FieldInt, cdcFieldLimit),
		MaxConnections: field(p, p.conf.FieldInt, cdcFieldMaxConnections),
		MaxInFlight:    field(p, p.conf.FieldInt, cdcFieldMaxInFlight),
		Global:         p.text(cdcFieldOrdering) == "global",
		PollInterval:   field(p, p.conf.FieldDuration, cdcFieldPollInterval),
		Heartbeat:      field(p, p.conf.FieldDuration, cdcFieldHeartbeat),

		StopOnTableError:   p.text(cdcFieldOnTableError) == "stop",
		StopOnRefusal:      !field(p, p.conf.FieldBool, cdcFieldAutoReplayNacks),
		ReplaceInvalidText: p.text(cdcFieldOnInvalidText) == "replace",
		Observer:           in.observer,
	}
	if p.conf.Contains(cdcFieldBackoffInterval) {
		in.cfg.PollInterval = field(p, p.conf.FieldDuration, cdcFieldBackoffInterval)
	}
	if p.err != nil {
		return nil, p.err
	}
	tlsConf, tlsOn, err := p.conf.FieldTLSToggled(cdcFieldTLS)
	if err != nil {
		return nil, err
	}
	if tlsOn {
		in.cfg.Session.TLSConfig = tlsConf
	}
	if in.cfg.Session.RawTDS, err = session.ParseRawMode(p.text(cdcFieldRawTDS)); err != nil {
		return nil, err
	}
	in.cfg.Session.Taken = in.observer.taken
	in.cfg.Session.Dial = session.InProcess(in.cfg.Session)
	if err := p.snapshots(in); err != nil {
		return nil, err
	}
	if name := p.text(cdcFieldSignalTable); name != "" {
		if in.cfg.Signals, err = catalog.ParseName(name); err != nil {
			return nil, fmt.Errorf("parsing signal_table: %w", err)
		}
	}
	if in.cfg.Tables, err = catalog.NewMatcher(in.include, in.exclude); err != nil {
		return nil, err
	}
	if in.cfg.Start, err = capture.ParseStartFrom(p.text(cdcFieldStartFrom)); err != nil {
		return nil, err
	}
	if err := p.batching(in); err != nil {
		return nil, err
	}
	if in.writer, err = newMessageWriter(p.text(cdcFieldFormat), p.text(cdcFieldBeforeImage), field(p, p.conf.FieldBool, cdcFieldTombstones), field(p, p.conf.FieldStringList, cdcFieldMetadata)); err != nil {
		return nil, err
	}
	in.writer.name = p.text(cdcFieldCacheKey)
	if in.newStore, err = p.store(in); err != nil {
		return nil, err
	}
	return in, errors.Join(p.err, in.cfg.Validate())
}

// snapshots reads the fields of the snapshot.
func (p *cdcParser) snapshots(in *cdcInput) error {
	s := capture.Snapshots{
		On:        field(p, p.conf.FieldBool, cdcFieldStreamSnapshot),
		OnGap:     p.text(cdcFieldOnGap) == "snapshot",
		ChunkRows: field(p, p.conf.FieldInt, cdcFieldSnapshotBatch),
		Tables:    field(p, p.conf.FieldInt, cdcFieldSnapshotTables),
		Filters:   field(p, p.conf.FieldStringMap, cdcFieldSnapshotFilters),
	}
	if p.conf.Contains(cdcFieldSnapshotMode) {
		mode := p.text(cdcFieldSnapshotMode)
		if mode == "none" && s.On {
			return errors.New("stream_snapshot and snapshot_mode contradict each other")
		}
		s.On, s.Only = mode != "none", mode == "snapshot_only"
	}
	if s.On && p.text(cdcFieldStartFrom) != "earliest" {
		return errors.New("start_from has no meaning with a snapshot, which says itself where the changes begin")
	}
	in.cfg.Snapshots = s
	return p.err
}

// batching turns the policy into bounds of changes. Its processors run on each batch.
func (p *cdcParser) batching(in *cdcInput) error {
	if !p.conf.Contains(cdcFieldBatching) {
		return nil
	}
	policy, err := p.conf.FieldBatchPolicy(cdcFieldBatching)
	if err != nil {
		return err
	}
	if policy.Check != "" {
		return errors.New("batching.check is not supported by mssql_cdc: use count, byte_size, period or processors")
	}
	if policy.Count > 0 {
		in.cfg.MaxRows = policy.Count
	}
	if policy.ByteSize > 0 {
		in.cfg.MaxBytes = policy.ByteSize
	}
	if policy.Period != "" {
		if in.cfg.Period, err = time.ParseDuration(policy.Period); err != nil {
			return fmt.Errorf("parsing batching.period: %w", err)
		}
	}
	// The batcher itself must never cut: it only carries the processors.
	policy.Count, policy.ByteSize, policy.Period = 0, 0, ""
	if policy.IsNoop() {
		return nil
	}
	policy.Count = math.MaxInt32
	in.batcher, err = policy.NewBatcher(p.mgr)
	return err
}
