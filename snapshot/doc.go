// Package snapshot reads the rows of one captured table on one connection, chunk
// by chunk, as record batches of the same columns and types as its changes.
//
// [Open] describes a table by its capture instance and gives a [Reader].
// [Reader.Handover] comes first: the position from which the stream of changes
// goes on once the snapshot is done. Then [Reader.Bound] asks the server for the
// key that ends the next chunk, and [Reader.Read] reads the rows between two keys
// page by page; chunks may be read on several connections at once, each by a
// [Reader.Clone]. Rows that change meanwhile are in the stream after the
// handover, so chunks and stream together give the table.
//
// The key is the primary key, else a unique index over columns that cannot be
// NULL. Keys are ordered and compared by the server alone, in the order of that
// index, and sent with the column's own type, length, scale and collation. A
// [Key] has a text form, so that a snapshot resumes where it was.
//
// A table without such an index has no chunks: [Reader.ReadAll] reads it in one
// pass with an exact handover, for which it holds a shared lock on the table for
// the time in which a SNAPSHOT transaction begins.
//
// Every read proves first, in the same batch, that its server has reached the
// handover. A page is one statement or a few, each of them a transaction of its
// own, under SNAPSHOT isolation where the database allows it; else under READ
// COMMITTED over the key's index, which holds the lock of one row at a time.
// Nothing is open on the server between two calls.
//
// The package does not wait, retry a connection or log.
package snapshot
