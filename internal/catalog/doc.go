// Package catalog is what a server says about its tables: the properties of the
// database, the capture instances with their columns, keys and change tables,
// the mapping of LSNs to times, and the rights of the login.
//
// All T-SQL that reads metadata is in sql.go. Names are quoted by [Quote] and
// nothing else; values are parameters. The statements parse on SQL Server 2016
// SP1. The package describes; it does not decide, retry or log.
//
// The tables are those of Microsoft's "Change Data Capture Tables
// (Transact-SQL)" and "Object Catalog Views (Transact-SQL)".
package catalog
