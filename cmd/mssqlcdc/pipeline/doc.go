// Package pipeline finds the mssql_cdc inputs in a pipeline's YAML, for the subcommands that look at a source without running
// the pipeline: [Load] reads the files as run does, [Choose] picks inputs by label or number, [ParseSource] gives the server
// and the tables of one.
//
// Components that this program does not have do not matter. Nothing here opens a connection.
package pipeline
