// Package report prints what a benchmark has found: a [Record] that goes to the
// screen and, with date, machine and command, to a file under bench/results;
// a [Table]; and the plots [Bars] and [Lines] as SVG beside it.
package report
