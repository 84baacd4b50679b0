// Package session is one connection to a SQL Server.
//
// [Open] turns a [Config] into a [Conn]: it dials, logs in and sets the session
// up for reading (low deadlock priority, a lock timeout, aborts on error).
// [Conn.Query] and [Conn.Exec] send sp_executesql with a declaration of the
// caller's own, so that a parameter has exactly the type of the column that it
// is compared with. There is no pool: a connection has one owner, which uses it
// for one request at a time and closes it.
//
// Errors of the server are mssql.Error values; [IsTransient] says which of them
// are worth another attempt. A secret of the connection string never appears in
// an error. The package does not reconnect and does not log.
package session
