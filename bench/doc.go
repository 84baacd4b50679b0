// Package bench holds the benchmarks: write (what loads rows into a server), read, kafka
// (what takes changes out of it, and moves them through a broker), and their dated results. See docs/benchmarks.md.
package bench
