package storage

import (
	"errors"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

var errEnded = errors.New("using a transaction that has ended")

func errInvalidObject(name string) error {
	e := sqlerr.Newf(208, 16, "Invalid object name '%s'.", name)
	e.EndsBatch = true
	return e
}

func errNameTaken(name string) error {
	e := sqlerr.Newf(2714, 16, "There is already an object named '%s' in the database.", name)
	e.State = 6
	return e
}

func errReadOnly(db string) error {
	return sqlerr.Newf(3906, 16, "Failed to update database \"%s\" because the database is read-only.", db)
}

func errConflict(table, db string) error {
	e := sqlerr.Newf(3960, 16, "Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access table '%s' directly or indirectly in database '%s' to update, delete, or insert the row that has been modified or deleted by another transaction. Retry the transaction or change the isolation level for the update/delete statement.", table, db)
	e.State, e.EndsBatch, e.DoomsTran = 2, true, true
	return e
}

func errSchemaChanged(db string) error {
	e := sqlerr.Newf(3961, 16, "Snapshot isolation transaction failed in database '%s' because the object accessed by the statement has been modified by a DDL statement in another concurrent transaction since the start of this transaction. It is disallowed because the metadata is not versioned. A concurrent update to metadata can lead to inconsistency if mixed with snapshot isolation.", db)
	e.EndsBatch, e.DoomsTran = true, true
	return e
}

// errMoved is for a target row that was read without a lock and has changed since.
func errMoved() error {
	return sqlerr.Newf(601, 12, "Could not continue scan with NOLOCK due to data movement.")
}

func errDuplicate(d *TableDef, x *IndexDef, vals []value.Value) error {
	key := keyText(d, x, vals)
	switch {
	case x.PrimaryKey:
		return sqlerr.Newf(2627, 14, "Violation of PRIMARY KEY constraint '%s'. Cannot insert duplicate key in object '%s'. The duplicate key value is %s.", x.Name, d.QualifiedName(), key)
	case x.UniqueConstraint:
		return sqlerr.Newf(2627, 14, "Violation of UNIQUE KEY constraint '%s'. Cannot insert duplicate key in object '%s'. The duplicate key value is %s.", x.Name, d.QualifiedName(), key)
	}
	return sqlerr.Newf(2601, 14, "Cannot insert duplicate key row in object '%s' with unique index '%s'. The duplicate key value is %s.", d.QualifiedName(), x.Name, key)
}

func errCreateUnique(d *TableDef, x *IndexDef, vals []value.Value) error {
	return sqlerr.Newf(1505, 16, "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name '%s' and the index name '%s'. The duplicate key value is %s.", d.QualifiedName(), x.Name, keyText(d, x, vals))
}

// keyText lists key values as messages show them: (1, abc, <NULL>).
func keyText(d *TableDef, x *IndexDef, vals []value.Value) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, c := range x.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		if v := vals[c.Column]; v.IsNull() {
			b.WriteString("<NULL>")
		} else {
			b.WriteString(value.Display(v, d.Columns[c.Column].Type))
		}
	}
	b.WriteByte(')')
	return b.String()
}
