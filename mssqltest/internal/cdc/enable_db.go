package cdc

import (
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// registerProcs adds the procedures that switch change data capture on and off.
func (m *Manager) registerProcs(reg *exec.Registry) {
	reg.AddProc(sysrow.Proc("sp_cdc_enable_db", ``, m.enableDB))
	reg.AddProc(sysrow.Proc("sp_cdc_disable_db", ``, m.disableDB))
	reg.AddProc(sysrow.Proc("sp_cdc_enable_table", `@source_schema sysname, @source_name sysname, @capture_instance sysname = NULL,
		@supports_net_changes bit = NULL, @role_name sysname, @index_name sysname = NULL, @captured_column_list nvarchar(max) = NULL,
		@filegroup_name sysname = NULL, @allow_partition_switch bit = 1`, m.enableTable))
	reg.AddProc(sysrow.Proc("sp_cdc_disable_table", `@source_schema sysname, @source_name sysname, @capture_instance sysname`, m.disableTable))
}

func errNotEnabled(db *storage.Database) error {
	return sqlerr.New(22901, db.Name())
}

func errNotOwner() error {
	return sqlerr.New(22904)
}

// enableDB is sys.sp_cdc_enable_db: it makes schema and user cdc and the metadata tables.
func (m *Manager) enableDB(c *exec.Context, _ sysrow.Args) (int32, error) {
	db := c.DB
	switch {
	case !c.Session.IsSysadmin():
		return 1, sqlerr.New(22902)
	case db.ID < storage.FirstUserDatabase:
		return 1, sqlerr.Newf(22911, 16, "Change data capture cannot be enabled on the system database '%s'.", db.Name())
	case db.Props().CDCEnabled:
		return 1, sqlerr.New(22905, db.Name())
	case db.Schema(schemaName) != nil || hasUser(m.st, db, schemaName):
		return 1, sqlerr.New(22906, db.Name())
	}
	err := c.Atomic(func(tx *storage.Tx) error {
		schema, err := tx.CreateSchema(db, schemaName)
		if err != nil {
			return err
		}
		for _, t := range metadataTables {
			if _, err := tx.CreateTable(db, tableDef(db, schema, t.name, tableColumns(db, t.columns), t.indexes)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 1, err
	}
	if err := addUser(m.st, db, schemaName); err != nil {
		return 1, err
	}
	db.UpdateProps(func(p *storage.Props) { p.CDCEnabled = true })
	return 0, nil
}

// disableDB is sys.sp_cdc_disable_db: it drops every instance, the metadata and the jobs.
func (m *Manager) disableDB(c *exec.Context, _ sysrow.Args) (int32, error) {
	db := c.DB
	if !c.Session.IsSysadmin() {
		return 1, sqlerr.New(22902)
	}
	if !db.Props().CDCEnabled {
		return 0, nil
	}
	m.dropJobs(db, true, true)
	err := c.Atomic(func(tx *storage.Tx) error {
		list, err := instances(inTx(c.Context(), tx, db))
		if err != nil {
			return err
		}
		for _, i := range list {
			if err := m.dropInstance(c, tx, i); err != nil {
				return err
			}
			if err := m.track(c, tx, i.source, false); err != nil {
				return err
			}
		}
		for _, o := range db.Objects() {
			if o.Header().Schema != schemaName {
				continue
			}
			if t, ok := o.(*storage.Table); ok {
				if err := tx.DropTable(c.Context(), t); err != nil {
					return err
				}
			}
		}
		return tx.DropSchema(db, schemaName)
	})
	if err != nil {
		return 1, err
	}
	if err := m.st.Logins.DropPrincipal(db.ID, schemaName); err != nil {
		return 1, err
	}
	db.UpdateProps(func(p *storage.Props) { p.CDCEnabled = false })
	return 0, nil
}
