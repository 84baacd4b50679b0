// Package mssqlcdc is a Benthos v4 plugin for Microsoft SQL Server: importing it registers the input mssql_cdc, which
// reads CDC change tables in parallel, every table on its own connection, and the output mssql_bulk, which loads batches into tables.
//
// How a change becomes a message and who may import whom is told in docs/architecture.md.
package mssqlcdc

import "github.com/redpanda-data/benthos/v4/public/service"

func init() {
	service.MustRegisterBatchInput("mssql_cdc", cdcSpec(), newCDCInput)
	service.MustRegisterBatchOutput("mssql_bulk", bulkSpec(), newBulkOutput)
}
