package mssqlcdc

import (
	"context"
	"errors"
	"fmt"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/merge"
)

// The fields of exactly_once.
const (
	onceFieldEnabled = "enabled"
	onceFieldTable   = "table"
	onceFieldChannel = "channel"
	onceFieldToken   = "offset_token"
)

// onceField describes exactly_once.
func onceField() *service.ConfigField {
	return service.NewObjectField(bulkFieldOnce,
		service.NewBoolField(onceFieldEnabled).Default(false).
			Description("Keep the mark of each lane, and drop rows at or below it. It needs `max_in_flight: 1`, and messages that come in the order of their tokens: `pipeline.threads: 1`."),
		service.NewStringField(onceFieldTable).Default("dbo.mssql_bulk_fence").
			Description("The table of the marks, in the database of the tables. It is made if it is not there and the login may; else it needs SELECT, INSERT and UPDATE."),
		service.NewInterpolatedStringField(onceFieldChannel).Default("").
			Description("What the order of a message belongs to; with its table it is a lane. Empty: the metadata `kafka_topic` and `kafka_partition` where there is a `kafka_offset`, else `database_schema` and `table`, with `database` before them where there is one. Different sources must not share a channel into one table.").
			Example(`${! @kafka_topic }/${! @kafka_partition }`),
		service.NewInterpolatedStringField(onceFieldToken).Default("").
			Description("The place of a message in its channel: it grows from message to message, and is the same when a message comes again. Digits are compared as a number, anything else as text. Empty: the metadata `kafka_offset`, else `event_id`, or the event ids of the rows of an Arrow message.").
			Example(`${! @kafka_offset }`),
	).Advanced().Description("Apply each row once, also after a crash, a lost connection, or another process: a mark is moved in the transaction that stores the rows. See docs/delivery.md.")
}

// exactlyOnce reads exactly_once and reject_table.
func (p *cdcParser) exactlyOnce(c *bulkConfig) {
	interpolated := func(name string) *service.InterpolatedString {
		s := field(p, p.conf.FieldInterpolatedString, bulkFieldOnce, name)
		if p.err != nil {
			return nil
		}
		if static, ok := s.Static(); ok && static == "" {
			return nil
		}
		return s
	}
	enabled := field(p, p.conf.FieldBool, bulkFieldOnce, onceFieldEnabled)
	table := p.text(bulkFieldOnce, onceFieldTable)
	channel, token := interpolated(onceFieldChannel), interpolated(onceFieldToken)
	c.rejects = p.text(bulkFieldRejects)
	if p.err != nil {
		return
	}
	var err error
	if c.rejects != "" {
		if c.rejectName, err = catalog.ParseName(c.rejects); err != nil {
			p.err = fmt.Errorf("reject_table: %w", err)
			return
		}
	}
	if !enabled {
		return
	}
	name, err := catalog.ParseName(table)
	switch {
	case err != nil:
		p.err = fmt.Errorf("exactly_once.table: %w", err)
	case c.inFlight > 1:
		p.err = errors.New("max_in_flight must be 1 with exactly_once: batches that are loaded at the same time land in any order")
	default:
		c.fence = &bulkFence{table: merge.NewFence(name), channel: channel, token: token, lanes: map[merge.Lane]*bulkLane{}}
	}
}

// ready looks for the tables of the fence and of refused rows, and makes them if they are not there.
func (o *bulkOutput) ready(ctx context.Context, w *bulkWorker) error {
	if o.fence != nil {
		if err := o.fence.table.Ready(ctx, w.conn); err != nil {
			return err
		}
	}
	if o.rejects != nil {
		return o.rejects.Ready(ctx, w.conn)
	}
	return nil
}
