package cdc

import (
	"time"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// enableMarker tells the capture job, through the log, of a new instance.
type enableMarker struct{ object int32 }

// enableTable is sys.sp_cdc_enable_table (Microsoft Learn, "sys.sp_cdc_enable_table").
func (m *Manager) enableTable(c *exec.Context, a sysrow.Args) (int32, error) {
	db := c.DB
	if !db.Props().CDCEnabled {
		return 1, errNotEnabled(db)
	}
	if !isOwner(c, db) {
		return 1, errNotOwner()
	}
	first := false
	err := c.Atomic(func(tx *storage.Tx) error {
		list, err := instances(inTx(c.Context(), tx, db))
		if err != nil {
			return err
		}
		first = len(list) == 0 && m.Job(db) == nil && m.cleanup(db) == nil
		req, err := m.checkEnable(db, list, a)
		if err != nil {
			return err
		}
		return m.createInstance(c, tx, req)
	})
	if err != nil {
		return 1, err
	}
	if first {
		return 0, m.firstTable(c)
	}
	return 0, nil
}

// firstTable makes the jobs with the first instance of a database and says so, as SQL Server Agent does.
func (m *Manager) firstTable(c *exec.Context) error {
	m.mu.Lock()
	manual := m.manual
	m.mu.Unlock()
	m.addJobs(c.DB, true, true, false)
	m.addJobs(c.DB, !manual, true, true)
	for _, kind := range []string{"capture", "cleanup"} {
		e := &sqlerr.Error{State: 1, Message: "Job '" + jobName(c.DB, kind) + "' started successfully."}
		if err := c.Sink.Message(e); err != nil {
			return err
		}
	}
	return nil
}

// createInstance writes the change table, the metadata and the marker.
func (m *Manager) createInstance(c *exec.Context, tx *storage.Tx, r *enableRequest) error {
	db, ctx := c.DB, c.Context()
	options := m.options(db)
	schema := db.Schema(schemaName)
	def := changeTableDef(db, schema, r, options)
	ct, err := tx.CreateTable(db, def)
	if err != nil {
		return err
	}
	i := &instance{name: r.name, netChanges: r.netChanges}
	functions := []string{i.allChanges()}
	if r.netChanges {
		functions = append(functions, i.netFunction())
	}
	for _, f := range functions {
		if err := createFunction(tx, db, schema, f); err != nil {
			return err
		}
	}
	row := sysrow.Row{
		"object_id": ct.ID(), "version": 0, "source_object_id": r.source.ID(), "capture_instance": r.name, "supports_net_changes": r.netChanges,
		"has_drop_pending": nil, "filegroup_name": r.filegroup, "create_date": time.Now(), "partition_switch": r.partition,
	}
	if r.role != "" {
		row["role_name"] = r.role
		if err := addRole(m.st, db, r.role); err != nil {
			return err
		}
	}
	if r.key != nil {
		row["index_name"] = r.key.Name
	}
	if options.Start != StartAtScan {
		start := db.NextLSN()
		row["start_lsn"] = start[:]
	}
	if err := insert(ctx, tx, db, changeTables, row); err != nil {
		return err
	}
	if err := r.describeColumns(c, tx, ct.ID()); err != nil {
		return err
	}
	if err := m.track(c, tx, r.source.ID(), true); err != nil {
		return err
	}
	return tx.LogDDL(db, storage.LogDDL{Table: r.source, Marker: enableMarker{object: ct.ID()}})
}

// describeColumns writes cdc.captured_columns and cdc.index_columns.
func (r *enableRequest) describeColumns(c *exec.Context, tx *storage.Tx, object int32) error {
	for n, i := range r.ordinals {
		col := r.def.Columns[i]
		cells := sysrow.Row{
			"object_id": object, "column_name": col.Name, "column_id": col.ID, "column_type": sysrow.TypeRow(col.Type).Name,
			"column_ordinal": n + 1, "is_computed": col.Computed != nil,
		}
		if col.Masked != "" {
			cells["masking_function"] = col.Masked
		}
		if err := insert(c.Context(), tx, c.DB, capturedColumns, cells); err != nil {
			return err
		}
	}
	if r.key == nil {
		return nil
	}
	for n, k := range r.key.Columns {
		col := r.def.Columns[k.Column]
		if err := insert(c.Context(), tx, c.DB, indexColumns, sysrow.Row{
			"object_id": object, "column_name": col.Name, "index_ordinal": n + 1, "column_id": col.ID,
		}); err != nil {
			return err
		}
	}
	return nil
}
