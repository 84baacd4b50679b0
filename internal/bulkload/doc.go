// Package bulkload writes Arrow record batches into tables with INSERT BULK.
//
// [LoadTarget] asks the server what a table is; [NewPlan] fits a schema to it, and
// reports everything that does not fit at once; [Plan.Load] encodes the rows of a
// record batch, one after the other, as the cells that the table's columns have on
// the wire, and sends them. A value that its column cannot hold cuts its row back
// out of what is sent, and is reported with row and column; the other rows are
// stored. Values are changed (rounded, cut) only where [Lossy] allows it.
//
// A load is part of the transaction that the caller has begun on the connection.
// The package begins none and commits nothing.
//
// Wire forms: MS-TDS 2.2.6.1 "Bulk Load BCP", 2.2.5.5 "Data Type Dependent Data
// Streams".
package bulkload
