package cdc

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// disableTable is sys.sp_cdc_disable_table: it drops one instance of a table or all.
func (m *Manager) disableTable(c *exec.Context, a sysrow.Args) (int32, error) {
	db := c.DB
	if !db.Props().CDCEnabled {
		return 1, errNotEnabled(db)
	}
	if !isOwner(c, db) {
		return 1, errNotOwner()
	}
	err := c.Atomic(func(tx *storage.Tx) error {
		t, ok := tx.Catalog(db).Object(a.Str(0), a.Str(1)).(*storage.Table)
		if !ok {
			return sqlerr.New(22931, a.Str(0), a.Str(1))
		}
		list, err := instances(inTx(c.Context(), tx, db))
		if err != nil {
			return err
		}
		drop := ofSource(list, t.ID())
		left := 0
		if name := a.Str(2); !strings.EqualFold(name, "all") {
			left = len(drop) - 1
			i := named(db, drop, name)
			if i == nil {
				return sqlerr.New(22960, name, t.Def().Schema, t.Def().Name)
			}
			drop = []*instance{i}
		}
		for _, i := range drop {
			if err := m.dropInstance(c, tx, i); err != nil {
				return err
			}
		}
		if left == 0 {
			return m.track(c, tx, t.ID(), false)
		}
		return nil
	})
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// dropInstance drops a change table and its functions and forgets the instance. It waits for the locks of open readers.
func (m *Manager) dropInstance(c *exec.Context, tx *storage.Tx, i *instance) error {
	db, ctx := c.DB, c.Context()
	if t, ok := tx.Catalog(db).ObjectByID(i.object).(*storage.Table); ok {
		if err := tx.DropTable(ctx, t); err != nil {
			return err
		}
	}
	for _, f := range []string{i.allChanges(), i.netFunction()} {
		if mod, ok := tx.Catalog(db).Object(schemaName, f).(*storage.Module); ok {
			if err := tx.DropModule(db, mod); err != nil {
				return err
			}
		}
	}
	remove := func([]value.Value) []value.Value { return nil }
	for _, table := range []string{changeTables, capturedColumns, indexColumns, ddlHistory} {
		if err := change(ctx, tx, db, table, objectKey(i.object), remove); err != nil {
			return err
		}
	}
	return nil
}
