// Package measure tells what a program costs: processor time, wall clock and peak
// memory, of this process between two moments ([Self]) or of another one from its
// start to its end ([Start]).
//
// The peak is that of the process itself (VmHWM). The maximum that the kernel
// reports for a child that has ended is not used: it counts its parent's memory
// from before the exec.
package measure
