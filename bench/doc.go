// Package bench holds the benchmarks: write (what loads rows into a server), read
// (what takes changes out of it), and their dated results. See docs/benchmarks.md.
package bench
