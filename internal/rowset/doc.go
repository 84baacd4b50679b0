// Package rowset turns result rows into record batches.
//
// A Builder is planned once for the columns of a query: each column has an append function for its type. Values go into slices in
// Arrow layout that a Pool recycles; Finish wraps them as an arrow.RecordBatch, and the last Release of a buffer gives its slice
// back. A cell costs no allocation beyond what the source of the row spent.
//
// The forms of the values are those of internal/sqltype. The package neither runs queries nor writes messages.
//
// Layout: Apache Arrow columnar format, "Physical Memory Layout".
package rowset
