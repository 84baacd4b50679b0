// Package cdc is change data capture of the stand-in: the procedures that enable it, the capture and cleanup jobs, the
// change tables and the functions that read them.
//
// The main type is Manager: one for a server. It owns a Job for each database in which a capture job exists; the job's
// goroutine reads storage's log and writes each committed transaction's rows to all change tables, together with the
// transaction's row of cdc.lsn_time_mapping, in one transaction of its own. What the job has captured it truncates from
// the log, so that the log itself says where the capture goes on, also after a restore. Change tables and metadata are
// ordinary tables. Jobs and what the dynamic management views show are the Manager's and do not survive it.
//
// Behaviour follows Microsoft Learn, "About change data capture", and the pages of the procedures and functions.
package cdc
