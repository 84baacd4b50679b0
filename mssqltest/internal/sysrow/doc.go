// Package sysrow describes rows of the stand-in's system objects: column lists written as text, the facts of sys.types,
// and cells made from Go values. Packages syscat and cdc build their views and tables with it.
package sysrow
