// Package mssqltest is a stand-in SQL Server for tests, in the manner of net/http/httptest: a TDS server with a T-SQL
// executor, typed tables, real SNAPSHOT isolation and change data capture, in the process of the test.
//
//	srv := mssqltest.Start(t, mssqltest.Config{})
//	err := srv.Exec("CREATE TABLE dbo.t (id int PRIMARY KEY); EXEC sys.sp_cdc_enable_db")
//	c, err := mssql.NewConnector(srv.ConnString())
//	c.Dialer = srv
//
// Server is the instance; Control injects faults and turns the knobs that an administrator or an accident would; Replica
// is a further listener whose data lags behind. A server that listens in memory works inside testing/synctest: make it
// with New outside the bubble (it makes key pairs) and close it before the bubble ends.
//
// What it does not do is listed in UNSUPPORTED.md; an unsupported statement fails with an error, it is never ignored.
package mssqltest
