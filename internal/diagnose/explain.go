package diagnose

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"example.com/mssqlcdc/internal/session"
)

// sentences say what an error number of the server means to someone who reads
// changes. The last number that a reply gave is looked up first.
var sentences = []struct {
	numbers []int32
	text    string
}{
	{[]int32{4060, 911}, "the database does not exist on this server, or the login may not open it: check \"database\" in the connection string"},
	{[]int32{18456, 18452}, "the server refused the login: check user name and password, and that the server allows SQL Server authentication"},
	{[]int32{18486, 18487, 18488, 18470}, "the login is locked, disabled, or its password has expired"},
	{[]int32{916}, "the login is not a user of this database: CREATE USER … FOR LOGIN … in it"},
	{[]int32{40615, 40914}, "the server's firewall does not let this address in"},
	{[]int32{18401, 40613, 40197, 40501, 49918, 49919, 49920}, "the server is starting, moving or busy; this passes"},
	{[]int32{10928, 10929}, "the database has used up the workers or sessions of its service tier: this passes when others end, or take a larger tier"},
	{[]int32{701, 8645, 1204}, "the server is short of memory; this passes when other work ends, or it needs more"},
	{[]int32{9002}, "the transaction log of the database is full: sys.databases, log_reuse_wait_desc, says why; a capture job that is stopped keeps it, too"},
	{[]int32{3960, 3961}, "a row was changed since this session's snapshot was taken, or its table was altered; the work is done again"},
	{[]int32{3947, 1219, 64, 233, 10053, 10054}, "the server has ended the session, as in a failover; a new connection is made"},
	{[]int32{976, 983, 978}, "the database is a replica that this connection may not read now: connect through the listener, with ApplicationIntent=ReadOnly for a readable secondary"},
	{[]int32{229, 230}, "the login lacks a right: GRANT SELECT ON SCHEMA::[cdc] to it; membership in a gating role opens the functions only, not the change tables"},
	{[]int32{262, 297, 300}, "the login lacks VIEW DATABASE STATE or VIEW SERVER STATE; only diagnosis needs it"},
	{[]int32{22901}, "change data capture is not enabled in this database: EXEC sys.sp_cdc_enable_db"},
	{[]int32{22902, 22904}, "the login may not see the metadata of change data capture: it needs db_owner for this"},
	{[]int32{22920, 22960}, "the capture instance does not exist, or the login may not use it"},
	{[]int32{313}, "the LSN range is outside of what the capture instance retains (the server's text about arguments is misleading): cleanup has passed the position, or the watermark was taken from another replica"},
	{[]int32{208}, "an object does not exist: change data capture was disabled for the table or the database, or the connection is to another database than expected"},
	{[]int32{3952, 3956}, "SNAPSHOT isolation is not allowed in this database: ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON"},
	{[]int32{3906}, "the database is read-only: keep the positions elsewhere (checkpoint_file, checkpoint_cache, or checkpoint_cache_connection_string)"},
	{[]int32{1222}, "a lock was not granted in time; another session holds it for long"},
	{[]int32{1205}, "the session was chosen to end a deadlock; the read is made again"},
	{[]int32{601}, "rows moved while they were read without locks; the read is made again"},
}

// Explain says what an error means and what to do, in one sentence without a
// full stop. It is empty for an error that speaks for itself.
func Explain(err error) string {
	if err == nil || errors.Is(err, context.Canceled) {
		return ""
	}
	// A login that fails because of the database ends with 18456 all the same.
	if n, ok := session.Number(err); ok && !session.HasNumber(err, 4060) {
		for _, s := range sentences {
			if slices.Contains(s.numbers, n) {
				return s.text
			}
		}
	}
	for _, s := range sentences {
		if session.HasNumber(err, s.numbers...) {
			return s.text
		}
	}
	if _, ok := session.Number(err); ok {
		return ""
	}
	return explainNetwork(err)
}

// explainNetwork is for errors from before the login. The driver gives some of
// them as text only.
func explainNetwork(err error) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		dns       *net.DNSError
	)
	text := err.Error()
	switch {
	case errors.As(err, &host), strings.Contains(text, "x509: certificate is valid for"), strings.Contains(text, "doesn't contain any IP SANs"), strings.Contains(text, "not valid for any names"):
		return "the server's certificate is for another name: add hostnameincertificate=… to the connection string"
	case errors.As(err, &authority), strings.Contains(text, "x509: certificate signed by unknown authority"):
		return "the server's certificate is not signed by an authority that this machine trusts: name it with certificate=… in the connection string or the tls block, or accept any certificate with TrustServerCertificate=true"
	case errors.As(err, &invalid), errors.As(err, &verify), strings.Contains(text, "x509:"):
		return "the server's certificate is not valid"
	case strings.Contains(text, "server does not support encryption"), strings.Contains(text, "encryption not supported"):
		return "the server does not encrypt: install a certificate there, or say encrypt=disable in the connection string if the network is safe"
	case errors.As(err, &dns):
		return "the server's name is not known: check it in the connection string"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at this address: check server and port, and that TCP/IP is enabled in SQL Server Configuration Manager"
	case errors.Is(err, context.DeadlineExceeded):
		return "the server did not answer in time: check address, port and firewall"
	}
	return ""
}

// Wrap adds to an error what Explain says of it.
func Wrap(err error) error {
	text := Explain(err)
	if text == "" || strings.Contains(err.Error(), text) {
		return err
	}
	return fmt.Errorf("%w: %s", err, text)
}
