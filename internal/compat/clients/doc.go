// Package clients has tests alone: they start cmd/mssqltest as a process and drive it with clients that nobody here
// wrote, in clear and over TLS. A client that is not installed is skipped; .ci/clients.sh installs them.
package clients
