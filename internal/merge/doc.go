// Package merge brings rows into a table by their keys: new rows, changes of rows
// that are there, and deletions, as they come from one or more sources in order.
//
// [LoadKey] finds the key of a table. A [Stage] is a temporary table of the session,
// with the columns of the target, that a batch is bulk loaded into, one row for each
// change. [Stage.Fold] leaves one row for each key: the last known value of each
// column wins, what a change does not know overwrites nothing, and a deletion
// forgets what was before it. [Stage.Apply] deletes, updates and inserts what is
// left, set by set and in the order of the key, inside of the caller's transaction.
// The outcome is that of applying the changes one after the other. Keys are compared
// by the server in the collation of the target, never here.
//
// There is no MERGE, which has a history of races and wrong results, and no OUTPUT,
// which tables with triggers refuse. Identity columns are never updated.
//
// The package begins no transaction and commits nothing.
package merge
