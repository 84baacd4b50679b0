package mssqltest

import "time"

// Event is one thing that happens on a connection, as a Rule sees it.
type Event struct {
	// Conn numbers the connections of a server from 1; SPID is the session's id, 0 before the login.
	Conn, SPID int
	// App, Host, Login and Database are what the client logged in with.
	App, Host, Login, Database string
	// Replica is the name of the replica that the connection is to, "" for the primary.
	Replica string
	// Kind is what happened: "connect", "login", "batch", "rpc", "bulk", "transaction", "attention" for messages, and
	// "statement" for each statement that is executed inside them.
	Kind string
	// Text is the text of the batch or statement, the procedure's name of an rpc (with the text of sp_executesql and
	// the like after it), the INSERT BULK statement of a bulk load.
	Text string
	// Message counts the client's messages on this connection from 1, the login being the first.
	Message int
}

// Rule says which events are met and what then happens. All conditions that are set must hold; with none set every
// message matches. All actions that are set are taken, in the order of the fields.
type Rule struct {
	// Conn, App, Database and Replica select connections; Replica "primary" selects those to the primary.
	Conn          int
	App, Database string
	Replica       string
	// Kind is the Kind of the events; "" means all but "connect" and "statement".
	Kind string
	// Text is a part of the event's text, in any case.
	Text string
	// Match decides further.
	Match func(Event) bool
	// Skip lets that many matching events pass first; Times is how many are acted on, 0 meaning all.
	Skip, Times int

	// Before is called before the event is handled, After when it has been (for a message: when its last answer byte
	// is about to go out). Both run on the connection's goroutine and may call anything of Server and Control.
	Before func(Event)
	// Delay holds the event up.
	Delay time.Duration
	// Drop leaves a message unhandled and unanswered.
	Drop bool
	// Cut closes the connection: before the event is handled, or after CutAfter bytes of its answer.
	Cut      bool
	CutAfter int64
	// Error answers with this error number instead of running the message or statement; Class and ErrorMessage are its
	// severity (0 means 16, 20 and above close the connection) and text.
	Error        int32
	Class        uint8
	ErrorMessage string
	After        func(Event)
}
