package snapshot

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
	sqlEnd = "END\n"

	// sqlHandover reads where the stream of an instance goes on: the newest
	// transaction of the database, and the low end of the instance.
	sqlHandover = `SELECT TOP (1) m.start_lsn, m.tran_end_time, m.tran_id FROM cdc.lsn_time_mapping AS m ORDER BY m.start_lsn DESC;
SELECT c.start_lsn FROM cdc.change_tables AS c WHERE c.capture_instance = @instance`
	declInstance = "@instance nvarchar(128)"
)
