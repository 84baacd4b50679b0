//go:build unix

// Package crashtest kills the input and the output again and again, and proves that nothing was lost.
//
// A test makes a Lab: a stand-in server in its own process, with a Workload whose rows change all the time. Lab.Start runs the real
// pipeline, Benthos with mssql_cdc, in a process of its own: the test binary started again, which is what Main is for. That
// process dies at a named step (internal/crashpoint), by a signal, or lives on through a network that is cut, a server that is
// gone, and a disk that is full. Everything that it gives out goes into a Journal in the test's process, which outlives it, before it
// is acknowledged. At the end Lab.Verify compares the journal with the server's tables and change tables, by ways of its own:
// it reads rows with T-SQL and no code of the input.
//
// With Lab.WriteTo the process writes into a second server with mssql_bulk instead, and the rows of its table are the journal.
//
// With Lab.CopyTo the tables of a second server follow those of the first (mode apply, exactly_once), and with Lab.HistoryTo one table
// takes each change as a row (mode insert): triggers there write down what is applied, and internal/verify compares the servers.
//
// What it proves is listed at Lab.Verify and Target.Verify. What it does not: anything about power failures, since only processes die here.
package crashtest
