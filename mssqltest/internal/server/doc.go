// Package server is the network side of the stand-in: it speaks TDS 7.4 and 8.0 to clients and hands their requests to
// an exec.Session.
//
// Server accepts connections from any number of net.Listeners, each with the view of the data that its Endpoint gives
// (primary or replica). Conn is one client: one goroutine reads packets and watches for attentions and for the client
// going away, one works off requests. Hooks is where faults are injected. The package executes no SQL and stores
// nothing; what it knows of values is how they look on the wire ([MS-TDS] 2.2.5.4 Data Type Definitions).
//
// Specification: https://learn.microsoft.com/openspecs/windows_protocols/ms-tds
package server
