// Package exec runs T-SQL for the stand-in: it parses a batch with teesql, compiles each statement to closures over the
// typed tables of package storage, and hands result sets, counts and messages to a Sink.
//
// The main types are Instance (what all sessions share), Session (one connection's state) and Registry (the system views,
// procedures and functions that packages syscat and cdc provide). The package knows nothing of TDS; it does not split a
// script at GO, which is the client's work.
package exec
