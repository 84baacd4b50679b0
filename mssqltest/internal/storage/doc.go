// Package storage is the stand-in's storage engine: databases of copy-on-write B-trees, transactions with real SNAPSHOT
// isolation and locks, and a log that the capture job reads.
//
// The main types are Instance (databases, locks, logins), Database (catalog, log, committed Roots) and Tx (reads, changes,
// DDL). Every table has two states: the current one, which contains uncommitted changes and is guarded by two-phase
// locking, and the committed one, which is part of an immutable Root that each commit publishes at once. SNAPSHOT
// transactions, READ_COMMITTED_SNAPSHOT statements, lagging replicas and backups read Roots; everything else reads the
// current state under locks. Roots share their nodes with the current trees, so that taking one costs nothing.
//
// A row that is deleted or moved by an open transaction leaves a ghost at its key in the current trees, so that a reader
// under locks finds something to wait for. The transaction's end removes ghosts.
//
// Internal mutexes are never held during a lock wait or while a caller's loop body runs. The order of the mutexes is:
// Database.commitMu, tableCore.mu, then the leaves (Database.mu, lsnClock, lockManager.mu).
//
// The package does not parse or evaluate SQL: values arrive converted, defaults and computed columns filled in.
package storage
