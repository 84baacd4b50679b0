// Package changetable reads one capture instance on one connection, page by
// page, as record batches.
//
// [Open] describes an instance and gives a [Reader]. [Reader.Read] reads the
// changes after a position up to a high watermark into a [Page]: the captured
// columns and the change columns in one record batch, the commit times of its
// transactions, and the position to go on from. [Probe] asks many change tables
// at once whether they have something to read. [Reader.Verify] checks that a
// stored position still belongs to the server's history.
//
// Every read proves first, in the same batch, that the server it talks to has
// reached the watermark, and checks afterwards that cleanup has not overtaken
// it. Nothing stays open on the server between two calls, and a page is bounded
// in rows and bytes, whatever the size of a transaction.
//
// The package does not choose instances, wait, retry a connection or log; a
// position it returns is safe to store once its rows are delivered.
//
// Change tables: Microsoft, "cdc.<capture_instance>_CT (Transact-SQL)".
package changetable
