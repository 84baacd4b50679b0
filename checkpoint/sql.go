package checkpoint

import (
	"fmt"
	"strings"
)

// The T-SQL of the SQL store. {table} is the quoted name of the table. The row of a key whose source_table is empty is its lease;
// the other rows are positions. Names compare by code point, whatever the database's collation, so dbo.T is not dbo.t.
const (
	// sqlColumns gives no row when there is no such table.
	sqlColumns = `SELECT c.name FROM sys.columns AS c WHERE c.object_id = OBJECT_ID(@name, N'U')`

	sqlCreateTable = `CREATE TABLE {table} (` +
		`pipeline nvarchar(128) COLLATE Latin1_General_BIN2 NOT NULL, ` +
		`source_table nvarchar(520) COLLATE Latin1_General_BIN2 NOT NULL, ` +
		`position nvarchar(4000) NULL, ` +
		`saved_at datetime2(3) NULL, ` +
		`owner nvarchar(200) NULL, ` +
		`epoch bigint NULL, ` +
		`expires_at datetime2(3) NULL, ` +
		`PRIMARY KEY NONCLUSTERED (pipeline, source_table))`

	sqlMakeLease = `SET NOCOUNT ON;
IF NOT EXISTS (SELECT 1 FROM {table} WHERE pipeline = @pipeline AND source_table = N'')
INSERT INTO {table} (pipeline, source_table, owner, epoch, expires_at) VALUES (@pipeline, N'', N'', 0, DATEADD(second, -1, SYSUTCDATETIME()));`

	sqlAcquire = `UPDATE {table}
SET owner = @owner, epoch = epoch + 1, expires_at = DATEADD(millisecond, @lease, SYSUTCDATETIME())
OUTPUT inserted.epoch
WHERE pipeline = @pipeline AND source_table = N'' AND (owner = @owner OR expires_at <= SYSUTCDATETIME() OR @takeover = 1);`

	sqlHolder = `SELECT owner, DATEDIFF(millisecond, SYSUTCDATETIME(), expires_at)
FROM {table}
WHERE pipeline = @pipeline AND source_table = N'';`

	sqlRenew = `UPDATE {table}
SET expires_at = DATEADD(millisecond, @lease, SYSUTCDATETIME())
OUTPUT inserted.epoch
WHERE pipeline = @pipeline AND source_table = N'' AND owner = @owner AND epoch = @epoch;`

	sqlRelease = `SET NOCOUNT ON;
UPDATE {table}
SET owner = N'', expires_at = DATEADD(second, -1, SYSUTCDATETIME())
WHERE pipeline = @pipeline AND source_table = N'' AND owner = @owner AND epoch = @epoch;`

	sqlLoad = `SELECT source_table, position
FROM {table}
WHERE pipeline = @pipeline AND source_table <> N'';`

	// A save renews the lease first: that row is then locked, so no other process can take it before the positions are committed.
	sqlSaveBegin = `SET NOCOUNT ON;
SET XACT_ABORT ON;
BEGIN TRANSACTION;
UPDATE {table}
SET expires_at = DATEADD(millisecond, @lease, SYSUTCDATETIME())
WHERE pipeline = @pipeline AND source_table = N'' AND owner = @owner AND epoch = @epoch;
IF @@ROWCOUNT = 1
BEGIN
`
	sqlSaveOne = `UPDATE {table} SET position = @p%[1]d, saved_at = SYSUTCDATETIME() WHERE pipeline = @pipeline AND source_table = @t%[1]d;
IF @@ROWCOUNT = 0
INSERT INTO {table} (pipeline, source_table, position, saved_at) VALUES (@pipeline, @t%[1]d, @p%[1]d, SYSUTCDATETIME());
`
	sqlDeleteOne = `DELETE FROM {table} WHERE pipeline = @pipeline AND source_table = @t%[1]d AND source_table <> N'';
`
	sqlSaveEnd = `COMMIT TRANSACTION;
SELECT 1;
END
ELSE
BEGIN
ROLLBACK TRANSACTION;
SELECT 0;
END`
)

// Declarations of parameters.
const (
	declName     = `@name nvarchar(1000)`
	declPipeline = `@pipeline nvarchar(128)`
	declAcquire  = declPipeline + `, @owner nvarchar(200), @lease int, @takeover int`
	declRelease  = declPipeline + `, @owner nvarchar(200), @epoch bigint`
	declRenew    = declRelease + `, @lease int`
)

// mostPositions is the number of positions of one statement: it bounds the text and the number of parameters (2,100 at most).
const mostPositions = 256

// deleteText gives the statement that forgets n tables, and its declaration.
func deleteText(n int) (text, declaration string) {
	var t, d strings.Builder
	t.WriteString(sqlSaveBegin)
	d.WriteString(declRenew)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&t, sqlDeleteOne, i)
		fmt.Fprintf(&d, ", @t%d nvarchar(520)", i)
	}
	t.WriteString(sqlSaveEnd)
	return t.String(), d.String()
}

// saveText gives the statement that saves n positions, and its declaration.
func saveText(n int) (text, declaration string) {
	var t, d strings.Builder
	t.WriteString(sqlSaveBegin)
	d.WriteString(declRenew)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&t, sqlSaveOne, i)
		fmt.Fprintf(&d, ", @t%[1]d nvarchar(520), @p%[1]d nvarchar(4000)", i)
	}
	t.WriteString(sqlSaveEnd)
	return t.String(), d.String()
}
