// Package checkpoint says how far a pipeline has come and keeps that across restarts.
//
// LSN and Position name a place in the changes of one table; a Position carries the Proof that the history it belongs to is still
// the server's. A Tracker turns acknowledgements, in any order, into the newest position that may be saved. A Store keeps the
// positions of one pipeline by source table: FileStore in a file, SQLStore in a table of a SQL Server database behind a lease, so
// that of several processes only one can save.
//
// The package reads no change tables and does not know Benthos.
//
// LSNs: Microsoft Learn, "cdc.<capture_instance>_CT (Transact-SQL)" and "cdc.lsn_time_mapping (Transact-SQL)".
package checkpoint
