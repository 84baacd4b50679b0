// Package compat is one scenario suite for the input mssql_cdc. It has tests alone. Scenarios run on the stand-in, in
// virtual time, and on a real SQL Server when MSSQL_TEST_DSN is set (a sqlserver:// URL of a login that may create databases):
//
//	make test-real MSSQL_TEST_DSN='sqlserver://sa:password@host?encrypt=true'
//	go test ./internal/compat -run 'TestScenarios/positions' -v | grep -e SKIP -e FAIL
//
// A scenario is text in testdata/*.txt; what does not fit the format is a Go test beside it, on the same rig. Each scenario
// has a database of its own, with change data capture enabled and SNAPSHOT isolation allowed, that is dropped afterwards.
//
// # Format
//
// A line "== name" begins a scenario, and lines with # are comments. Every other line that is not indented is a step, and the
// indented lines below it are its block. Before the first step there may be lines that say what the scenario needs:
//
//	only standin            it cannot run on a real server: it turns knobs, injects faults or lets hours pass
//	only real               the stand-in lacks what it needs
//	collation NAME          of the database
//	timezone NAME           of the server's clock (stand-in)
//	without cdc             sp_cdc_enable_db is not run
//	without snapshot        SNAPSHOT isolation is not allowed
//
// The steps:
//
//	config                  fields of mssql_cdc, as YAML, with values that were noted as $name; connection string and
//	                        position file are added where they are not given
//	login NAME              the input logs in as a new user NAME of the database, who has no rights yet
//	sql                     T-SQL, run by another client; lines GO separate batches
//	sql error N             the same; its last batch fails with error N
//	enable T [as I] [columns a,b]   sp_cdc_enable_table on table T of schema dbo, without role and net changes
//	scan                    waits until the capture job has stored all that was committed so far
//	cleanup I [up to its last]   sp_cdc_cleanup_change_table of instance I up to the newest transaction of the database, or
//	                        of the instance
//	start, restart          starts the input
//	start refused "text"    the configuration is not accepted, and the error has the text
//	expect                  waits for the changes of the block, exactly and in order within each table
//	expect ordered          the same, in order over all tables
//	expect none             nothing comes for a while
//	hold                    from now on nothing is acknowledged
//	ack [N]                 acknowledges the N oldest batches that are held; without N all, and all to come
//	ack newest              acknowledges the batch that came last, alone
//	refuse N                refuses the N oldest batches that are held
//	saved                   waits until positions of what is acknowledged are saved
//	stop [within D]         stops the input in good order; what is held stays unacknowledged
//	crash                   ends the input without an acknowledgement and without saving anything more
//	forget                  removes the position file
//	log "text" [once]       waits for a line of the input's log that has the text; once: there is no second one
//	no log "text"           no line has it
//	differ $a $b            two values that expect has noted are not the same
//	pass D                  lets time go by
//	control …               turns a knob of the stand-in; control_test.go lists them
//
// A line of expect is a table as schema.table (as a JSON string when it has blanks), an operation, the body as JSON, or "-" for
// a message without one, and any number of name=value for metadata. A value is JSON, a bare word, "*" for any, "absent" for a
// key that must not be there, or $name, which notes the value when it is first met and compares with it afterwards.
//
// What comes and is not expected by the end of a scenario fails it.
package compat
