// Package sqltype is the one type table: what each SQL Server type looks like on the wire, inside (Arrow, lossless), as exported
// Arrow, in a message, and in a message's schema, together with the rule for values that do not fit.
//
// Type is a column's type as the catalog describes it; Kind names its inside form. The Append functions write the message form of
// inside values, so that readers, keys and variants have one spelling. docs/types.md is generated from the table.
//
// The package does not read results or write messages: internal/rowset and internal/body do, through this table.
//
// Data types: MS-TDS 2.2.5.4 "Data Type Definitions" and 2.2.5.5 "Data Type Dependent Data Streams"; Microsoft Learn, "Data types
// (Transact-SQL)".
package sqltype

//go:generate go test . -run TestTypesDocument -update
