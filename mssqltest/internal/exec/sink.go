package exec

import (
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Column describes one column of a result set or of a system view.
type Column struct {
	Name     string
	Type     value.Type
	Nullable bool
	// Identity, Computed, Hidden and Key are those of the base column; Updatable says that the column is a plain column
	// of a base table (MS-TDS 2.2.7.4 COLMETADATA, Flags).
	Identity, Computed, Hidden, Key, Updatable bool
	// Table is the base table's name as the statement wrote it, nil for an expression.
	Table []string
	// BaseName is the base column's name where Name is an alias of it.
	BaseName string

	json bool // of FOR JSON, in an array
}

// Kinds of Sink.Env: the ENVCHANGE types that a statement causes (MS-TDS 2.2.7.9 ENVCHANGE).
const (
	EnvDatabase      = 1
	EnvLanguage      = 2
	EnvBeginTran     = 8
	EnvCommitTran    = 9
	EnvRollbackTran  = 10
	EnvDefectTran    = 12
	EnvResetComplete = 18
)

// Command codes of Sink.DoneStatement: CurCmd of a DONE token.
const (
	CmdSelect    uint16 = 0xC1
	CmdInsert    uint16 = 0xC3
	CmdDelete    uint16 = 0xC4
	CmdUpdate    uint16 = 0xC5
	CmdMerge     uint16 = 0x117
	CmdSelectInt uint16 = 0xC2
	CmdDDL       uint16 = 0xC6
	CmdSet       uint16 = 0xB9
	CmdUse       uint16 = 0xE9
	CmdExec      uint16 = 0xE0
	CmdBeginTran uint16 = 0xD4
	CmdCommit    uint16 = 0xD5
	CmdRollback  uint16 = 0xD2
	CmdBulk      uint16 = 0xF0
	CmdOther     uint16 = 0xFD
)

// Sink takes what a batch produces, in order. An error that it returns ends the batch at once.
//
// Row's slice belongs to the caller and is reused; a sink that keeps values copies them. A Message of class 11 or more
// before a DoneStatement means that the statement failed: its DONE carries the error bit. Session.NestLevel tells, at
// any call, whether a procedure is running (DONEINPROC) or the batch itself (DONE); Return ends a procedure call that a
// batch made (RETURNSTATUS and DONEPROC).
type Sink interface {
	Columns([]Column) error
	Row([]value.Value) error
	DoneStatement(cmd uint16, count int64, hasCount bool) error
	Message(*sqlerr.Error) error
	Env(kind int, newValue, oldValue []byte) error
	Return(status int32) error
}

// StoredRows is a Sink that can take rows as they are stored.
type StoredRows interface {
	// StoredRow is offered a row of a table, of which cols are the columns of the result set. If it does not take it, Row follows.
	StoredRow(row *storage.Row, cols []int) (taken bool, err error)
}

// Param is a parameter of a remote call: what the client gave, and for an output parameter what it gets back.
type Param struct {
	Name            string
	Type            value.Type
	Value           value.Value
	Output, Default bool
}
