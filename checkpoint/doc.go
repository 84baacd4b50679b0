// Package checkpoint says how far a pipeline has come and keeps that across restarts.
//
// LSN and Position name a place in the changes of one table; a Position carries the Proof that the history it belongs to is still
// the server's. A Store keeps the positions of one pipeline by source table: FileStore in a file, CacheStore in a value of a cache,
// SQLStore in a table of a SQL Server database behind a lease, so that of several processes only one can save. Which position may be saved is decided where
// order is kept, by the lanes of internal/capture.
//
// The package reads no change tables and does not know Benthos.
//
// LSNs: Microsoft Learn, "cdc.<capture_instance>_CT (Transact-SQL)" and "cdc.lsn_time_mapping (Transact-SQL)".
package checkpoint
