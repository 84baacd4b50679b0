// Package diagnose says what is wrong with a database as a source of changes,
// and what mends it.
//
// [Run] makes all checks on a connection string and returns a [Finding] for each
// thing that a user should know, with the T-SQL that mends it where there is
// some. [Explain] says in a sentence what an error means; [Wrap] adds that
// sentence to the error. Errors of the input, its connection test and the
// doctor command all speak through this package.
//
// Checks only read, and a check that its rights do not allow says so and goes
// on. The package does not log.
package diagnose
