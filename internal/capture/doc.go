// Package capture turns many change tables into one flow of batches that can be acknowledged, refused and resumed.
//
// A Flow polls the database, reads every table that has changes on a connection of its own, gives batches out in order
// and takes acknowledgements in any order. It alone knows the rules between tables: the bound on what is unacknowledged,
// what happens after a refusal, when a table is parked, where one capture instance hands over to the next, where a snapshot hands
// over to the changes, and which positions may be saved. How one change table is read is package changetable's business, how the
// rows of a table are read that of package snapshot.
//
// The path of a page: table worker → lane → Next → the pipeline → Batch.Ack → positions → checkpoint.Store.
package capture
