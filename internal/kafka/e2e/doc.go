// Package e2e has tests of pipelines over Kafka from end to end: mssql_cdc to a broker, a broker to mssql_bulk. Some run on a
// broker inside the process; those that kill things run on a real one, which broker.sh installs and starts, and are skipped where
// it is not installed. There is nothing here but tests.
package e2e
