package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Certificates is a certificate authority made for one server, and the server's own certificate signed by it. The server
// proves to be localhost, 127.0.0.1 and ::1, so that clients verify it as they would a real one.
type Certificates struct {
	CA     *x509.Certificate
	CAPEM  []byte
	Server tls.Certificate
}

// Validity is fixed rather than relative to the clock: inside a synctest bubble the clock stands in the year 2000.
var (
	certNotBefore = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	certNotAfter  = time.Date(2049, 12, 31, 0, 0, 0, 0, time.UTC)
)

// NewCertificates makes both key pairs. It uses crypto/rand and takes about a millisecond; call it outside a synctest bubble.
func NewCertificates() (*Certificates, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making key of certificate authority: %w", err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mssqltest CA"},
		NotBefore: certNotBefore, NotAfter: certNotAfter,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, fmt.Errorf("signing certificate authority: %w", err)
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return nil, fmt.Errorf("reading certificate authority back: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making key of server: %w", err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: certNotBefore, NotAfter: certNotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, fmt.Errorf("signing server certificate: %w", err)
	}
	return &Certificates{
		CA:     ca,
		CAPEM:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
		Server: tls.Certificate{Certificate: [][]byte{der, caDER}, PrivateKey: key},
	}, nil
}

// inBand is the configuration for TLS inside PRELOGIN packets. It stops at TLS 1.2: in 1.3 the server's session tickets
// would arrive after the handshake, when the two sides no longer wrap records in packets ([MS-TDS] 3.3.5.1 Initial State).
func (c *Certificates) inBand() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c.Server}, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}
}

// strict is the configuration of TDS 8.0, where TLS comes before the first packet.
func (c *Certificates) strict() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c.Server}, MinVersion: tls.VersionTLS12, NextProtos: []string{"tds/8.0"}}
}
