// Package syscat is the stand-in's system catalog: the sys and INFORMATION_SCHEMA views, the metadata functions and the
// catalog procedures that clients call. It reads storage through package exec and keeps no state of its own.
//
// Views are tables of rows made on demand; a column list is written once, as text, in the order that SQL Server
// documents. What is missing is listed in mssqltest/UNSUPPORTED.md.
package syscat
