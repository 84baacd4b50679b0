package mssqlcdc

import (
	"fmt"
	"strings"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
)

// The T-SQL of mssql_bulk. Transactions begin and end in batches of their own, since what a procedure does to them is refused.
const (
	sqlBulkCounts   = "SET NOCOUNT OFF" // after statements of the user's: loads are compared with the server's counts
	sqlBulkBegin    = "BEGIN TRANSACTION"
	sqlBulkCommit   = "COMMIT TRANSACTION"
	sqlBulkRollback = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION"
	sqlBulkCreate   = "CREATE TABLE %s (%s)"
	sqlBulkAdd      = "ALTER TABLE %s ADD %s"
	sqlBulkEmpty    = "TRUNCATE TABLE %s"

	// The count is that of the INSERT itself; triggers add nothing to it.
	sqlBulkMove = `DECLARE @stored bigint;
INSERT INTO %s (%s) SELECT %s FROM %s;
SET @stored = @@ROWCOUNT;
IF @stored <> @sent THROW 50001, N'the table has not taken all rows', 1;`
	declBulkMove = "@sent bigint"
)

// errBulkCount is the number that sqlBulkMove throws.
const errBulkCount = 50001

// errBulkExists is the number for a table that exists already.
const errBulkExists = 2714

// errBulkColumnExists is the number for a column that exists already.
const errBulkColumnExists = 2705

// sqlBulkStage makes the temporary table that a small load goes through. Its columns have the types and collations of the
// target's, since a temporary table has tempdb's otherwise (error 468).
func sqlBulkStage(stage catalog.Name, columns []bulkload.TargetColumn) string {
	var b strings.Builder
	b.WriteString("CREATE TABLE " + stage.Quoted() + " (")
	for i, c := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(catalog.Quote(c.Name) + " " + c.Type.ColumnDeclaration() + " NULL")
	}
	b.WriteString(")")
	return b.String()
}

func sqlBulkMoveOf(target, stage catalog.Name, columns []bulkload.TargetColumn) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = catalog.Quote(c.Name)
	}
	list := strings.Join(names, ", ")
	return fmt.Sprintf(sqlBulkMove, target.Quoted(), list, list, stage.Quoted())
}
