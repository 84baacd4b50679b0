package changetable

// Pieces of the statements. Names that are put into them are quoted by
// catalog.Quote; LSNs and limits are parameters with the columns' own types.
const (
	sqlSnapshot = "SET TRANSACTION ISOLATION LEVEL SNAPSHOT;\n"

	// sqlProveServer begins every read: what follows runs only on a server that
	// has reached @high. The first result set is what the server has.
	sqlProveServer = `DECLARE @max binary(10);
SELECT TOP (1) @max = m.start_lsn FROM cdc.lsn_time_mapping AS m ORDER BY m.start_lsn DESC;
SELECT @max;
IF @max >= @high
BEGIN
`
	sqlEnd = "END"

	// sqlRaised ends a probe.
	sqlRaised = "SELECT ct.capture_instance, ct.start_lsn FROM cdc.change_tables AS ct WHERE ct.start_lsn > @low;\n"

	// sqlAfterPage is sent when a page is read: the low end of what is retained,
	// the transactions of the page, and the newest transaction at or below the
	// position that the page leads to.
	sqlAfterPage = `SELECT ct.start_lsn FROM cdc.change_tables AS ct WHERE ct.capture_instance = @instance;
SELECT m.start_lsn, m.tran_begin_time, m.tran_end_time, m.tran_id
FROM cdc.lsn_time_mapping AS m WHERE m.start_lsn >= @first AND m.start_lsn <= @last ORDER BY m.start_lsn;
SELECT TOP (1) m.start_lsn, m.tran_begin_time, m.tran_end_time, m.tran_id
FROM cdc.lsn_time_mapping AS m WHERE m.start_lsn <= @next ORDER BY m.start_lsn DESC`
	declAfterPage = "@instance nvarchar(128), @first binary(10), @last binary(10), @next binary(10)"

	// sqlVerify is sent before a stored position is used.
	sqlVerify = `SELECT ct.start_lsn FROM cdc.change_tables AS ct WHERE ct.capture_instance = @instance;
SELECT TOP (1) m.start_lsn FROM cdc.lsn_time_mapping AS m ORDER BY m.start_lsn;
SELECT TOP (1) m.start_lsn FROM cdc.lsn_time_mapping AS m ORDER BY m.start_lsn DESC;
SELECT m.start_lsn, m.tran_begin_time, m.tran_end_time, m.tran_id FROM cdc.lsn_time_mapping AS m WHERE m.start_lsn = @proof`
	declVerify = "@instance nvarchar(128), @proof binary(10)"

	sqlStart     = `SELECT ct.start_lsn FROM cdc.change_tables AS ct WHERE ct.capture_instance = @instance`
	declInstance = "@instance nvarchar(128)"
)

// Columns that every change table has, and command_id, which old ones lack.
const (
	colStartLSN   = "__$start_lsn"
	colCommandID  = "__$command_id"
	colSeqVal     = "__$seqval"
	colOperation  = "__$operation"
	colUpdateMask = "__$update_mask"
)
