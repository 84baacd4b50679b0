package mssqlcdc

import (
	"fmt"
	"strconv"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/capture"
)

// snapshot writes the messages of a snapshot's rows: operation read, the LSN after which the table's stream begins, and the
// time of the read. Marks become messages without a body for those who asked for snapshot_id, who have to know when a
// snapshot is complete; nobody else sees them.
func (w *messageWriter) snapshot(r capture.Run) error {
	s := r.Snapshot
	if s.Mark != "" {
		if w.extra["snapshot_id"] {
			m := written{message: w.snapshotMessage(r, s.Mark, s.At, nil), tombstone: true}
			m.event.from = len(w.text)
			w.text = fmt.Appendf(w.text, "%x-%s-%s-%s", s.Handover.LSN[:], s.Mark, r.Table.Name, s.ID)
			m.event.to = len(w.text)
			w.rows = append(w.rows, m)
		}
		return nil
	}
	if w.format == formatArrow {
		return w.arrowSnapshot(r)
	}
	plan, err := w.plan(r)
	if err != nil {
		return err
	}
	rows, err := plan.json.Bind(s.Page.Record)
	if err != nil {
		return err
	}
	template := w.snapshotMessage(r, "read", s.Page.ReadAt, plan)
	for row := r.From; row < r.To; row++ {
		m := written{message: template.Copy(), hasKey: plan.json.HasKey()}
		m.body.from = len(w.bodies)
		if plan.debezium == nil {
			w.bodies, err = rows.AppendRow(w.bodies, row, nil)
		} else {
			w.bodies, err = appendSnapshotEnvelope(w.bodies, r, plan, rows, row)
		}
		if err != nil {
			return err
		}
		m.body.to = len(w.bodies)
		if m.hasKey {
			m.key.from = len(w.text)
			if w.text, err = rows.AppendKey(w.text, row); err != nil {
				return err
			}
			m.key.to = len(w.text)
		}
		m.event.from = len(w.text)
		w.text = appendReadID(w.text, r, row, w.text[m.key.from:m.key.to])
		m.event.to = len(w.text)
		w.rows = append(w.rows, m)
	}
	return nil
}

// appendReadID appends what identifies a row of a snapshot. It sorts behind the changes up to the LSN at which the row stands among
// them, and before those after it. The same row has the same id in each attempt of a first snapshot with a key; without one
// only its place is known. Of a snapshot by signal a row that is read again stands at another LSN.
func appendReadID(dst []byte, r capture.Run, row int, key []byte) []byte {
	s := r.Snapshot
	dst = fmt.Appendf(dst, "%x-read-%s-", s.Handover.LSN[:], r.Table.Name)
	if len(key) > 0 {
		return append(dst, key...)
	}
	return strconv.AppendInt(append(append(dst, s.ID...), '-'), s.Before+int64(row), 10)
}

// snapshotMessage makes a message with the metadata that the rows of a page share.
func (w *messageWriter) snapshotMessage(r capture.Run, operation string, at time.Time, plan *messagePlan) *service.Message {
	m := service.NewMessage(nil)
	m.MetaSetMut("operation", operation)
	m.MetaSetMut("database_schema", r.Table.Name.Schema)
	m.MetaSetMut("table", r.Table.Name.Object)
	m.MetaSetMut("lsn", r.Snapshot.Handover.LSN.String())
	m.MetaSetMut("commit_ts_ms", at.UnixMilli())
	if plan != nil {
		m.MetaSetImmut("schema", plan.schema)
	}
	if w.extra["database"] {
		m.MetaSetMut("database", w.database)
	}
	if w.extra["source_ts_ms"] {
		m.MetaSetMut("source_ts_ms", at.UnixMilli())
	}
	if w.extra["capture_instance"] {
		m.MetaSetMut("capture_instance", r.Layout.Capture)
	}
	if w.extra["snapshot_id"] {
		m.MetaSetMut("snapshot_id", r.Snapshot.ID)
	}
	return m
}
