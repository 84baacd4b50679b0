// Package session is one connection to a SQL Server.
//
// [Open] turns a [Config] into a [Conn]: it dials, logs in and sets the session
// up for reading (low deadlock priority, a lock timeout, aborts on error).
// [Conn.Query] and [Conn.Exec] send sp_executesql with a declaration of the
// caller's own, so that a parameter has exactly the type of the column that it
// is compared with. There is no pool: a connection has one owner, which uses it
// for one request at a time and closes it.
//
// After the login the connection is taken: requests speak TDS over the transport
// that the driver ended up with, and the driver stays idle. raw_layout.go alone
// reads the driver's private fields, and checks their names and types when the
// process first needs them, the state of the connection when it is taken, and once
// per connection that the server answers both ways alike. [Conn.Query] then gives
// the cells of the reply as they come ([Cells]), and [Conn.Bulk] sends rows that are
// encoded already. Where anything differs, the driver is given the same requests,
// its own Bulk the same rows, and single INSERT statements those of types that it
// cannot send; [RawMode] decides whether that is allowed.
//
// Errors of the server are mssql.Error values; [IsTransient] says which of them
// are worth another attempt. A secret of the connection string never appears in
// an error. The package does not reconnect and does not log.
package session
