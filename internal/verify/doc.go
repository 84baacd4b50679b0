// Package verify compares tables of one server with those of another, by value.
//
// [Run] takes a [Config] with pairs of tables and gives a [Report]. Rows are read by the readers of package snapshot, written in
// one canonical form whatever the types of the two columns are (canon.go has the rules), and hashed here: nothing depends on how a
// server hashes or collates. Where the keys of both tables have the same order, they are compared chunk by chunk; else, and
// without a key, by sums of row hashes in buckets.
//
// Nothing stops while it reads. A row that differs is read again until the target has shown what the source had at or after the
// beginning, or until the source's row has stood still for the settling time.
package verify
