// Package storage is the stand-in's storage engine: databases of copy-on-write B-trees, transactions with real SNAPSHOT
// isolation and locks, and a log that the capture job reads.
package storage
