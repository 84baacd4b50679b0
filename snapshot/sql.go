package snapshot

import "example.com/mssqlcdc/internal/request"

// Pieces of the statements. Names that are put into them are quoted by
// catalog.Quote; keys, LSNs and limits are parameters.
const (
	// The level is set in every statement: it may outlive the one that set it.
	sqlSnapshot      = "SET TRANSACTION ISOLATION LEVEL SNAPSHOT;\n"
	sqlReadCommitted = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;\n"

	// sqlProveServer begins every read: what follows runs only on a server that
	// has reached @high, or whose capture instance begins above it. A handover of
	// zero asks for no proof.
	sqlProveServer = `DECLARE @max binary(10), @start binary(10), @there int = 0;
SELECT TOP (1) @max = m.start_lsn FROM cdc.lsn_time_mapping AS m ORDER BY m.start_lsn DESC;
SELECT @start = c.start_lsn FROM cdc.change_tables AS c WHERE c.capture_instance = @instance;
IF @high = 0x00000000000000000000 OR @max >= @high OR @start > @high SET @there = 1;
SELECT @max AS [reached], @there AS [there], SYSUTCDATETIME() AS [now];
IF @there = 1
BEGIN
`
	// sqlProveNothing takes its place for a table that is not captured.
	sqlProveNothing = `SELECT CAST(NULL AS binary(10)) AS [reached], 1 AS [there], SYSUTCDATETIME() AS [now];
BEGIN
`
	sqlEnd = "END\n"

	// sqlHandover reads where the stream of an instance goes on: the newest
	// transaction of the database, and the low end of the instance.
	sqlHandover = `SELECT TOP (1) m.start_lsn, m.tran_end_time, m.tran_id FROM cdc.lsn_time_mapping AS m ORDER BY m.start_lsn DESC;
SELECT c.start_lsn FROM cdc.change_tables AS c WHERE c.capture_instance = @instance`
	declInstance = "@instance nvarchar(128)"

	// sqlEndTransaction ends the transaction of a session, if there is one, and tells.
	sqlEndTransaction = "SELECT @@TRANCOUNT; IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION"

	// sqlPlace is where a session is: its server and database, and READ_WRITE on
	// the primary.
	sqlPlace = "@@SERVERNAME, DB_NAME(), CAST(DATABASEPROPERTYEX(DB_NAME(), N'Updateability') AS nvarchar(128))"

	// sqlResolve finds the first transaction after a mark, and the one before it.
	sqlResolve = `DECLARE @next binary(10);
SELECT TOP (1) @next = m.start_lsn FROM cdc.lsn_time_mapping AS m WHERE m.start_lsn > @after AND m.tran_end_time > @time ORDER BY m.start_lsn;
SELECT @next, DATEPART(TZOFFSET, SYSDATETIMEOFFSET());
SELECT TOP (1) m.start_lsn, m.tran_end_time, m.tran_id FROM cdc.lsn_time_mapping AS m WHERE m.start_lsn < @next ORDER BY m.start_lsn DESC;
SELECT c.start_lsn FROM cdc.change_tables AS c WHERE c.capture_instance = @instance`
)

// sqlLock takes a shared lock on a table and holds it in a transaction. The pause
// is longer than the 1/300 s to which the times of transactions are kept; the pass
// makes the same pause before the lock is released. A waiting lock makes writers
// wait too, so it does not wait for long.
func sqlLock(object string) string {
	return `SET XACT_ABORT ON; SET LOCK_TIMEOUT 2000;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DECLARE @x int;
BEGIN TRANSACTION;
SELECT TOP (1) @x = 1 FROM ` + object + ` WITH (TABLOCK, HOLDLOCK);
WAITFOR DELAY '00:00:00.010';
SELECT MAX(m.start_lsn) FROM cdc.lsn_time_mapping AS m;
SELECT GETDATE(), DATEPART(TZOFFSET, SYSDATETIMEOFFSET()), ` + sqlPlace + `, @@TRANCOUNT`
}

// pass is the statement that reads all of the table in one SNAPSHOT transaction.
// The transaction begins with its first access to data, before the first result
// set is sent; the message without text makes the server send that at once.
// A table that is not captured has nothing to be exact with: one statement, in
// which nothing is locked for longer than a row is read. exact asks for exact texts
// besides.
func (p *plan) pass(iso Isolation, exact bool) request.Statement {
	list := p.list
	if exact && p.exact != "" {
		list += ", " + p.exact
	}
	if p.capture == "" {
		return request.Statement{Text: level(iso) + "SELECT SYSUTCDATETIME(), " + sqlPlace + ";\nSELECT " + list + p.from("", true) +
			"\nOPTION (MAXDOP 1);\n" + sqlReadCommitted}
	}
	return request.Statement{Text: "SET XACT_ABORT ON;\n" + sqlSnapshot + `DECLARE @x int;
BEGIN TRANSACTION;
SELECT TOP (1) @x = 1 FROM ` + p.object + `;
WAITFOR DELAY '00:00:00.010';
SELECT SYSUTCDATETIME(), ` + sqlPlace + `;
RAISERROR (N'', 0, 1) WITH NOWAIT;
SELECT ` + list + p.from("", true) + `
OPTION (MAXDOP 1);
COMMIT TRANSACTION;
` + sqlReadCommitted}
}
