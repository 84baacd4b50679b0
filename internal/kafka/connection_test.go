package kafka

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// tried connects an input, and gives up soon.
func tried(t *testing.T, yaml string) error {
	t.Helper()
	in, err := newInput(inputConf(t, yaml), service.MockResources())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close(context.Background())
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	return in.Connect(ctx)
}

func TestSASL(t *testing.T) {
	c := cluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "plain", "p1"), kfake.Superuser("SCRAM-SHA-256", "small", "p2"), kfake.Superuser("SCRAM-SHA-512", "large", "p3"))
	for _, tt := range []struct {
		sasl string
		ok   bool
	}{
		{"[{mechanism: PLAIN, username: plain, password: p1}]", true},
		{"[{mechanism: PLAIN, username: plain, password: wrong}]", false},
		{"[{mechanism: SCRAM-SHA-256, username: small, password: p2}]", true},
		{"[{mechanism: SCRAM-SHA-256, username: small, password: p1}]", false},
		{"[{mechanism: SCRAM-SHA-512, username: large, password: p3}]", true},
		{"[{mechanism: SCRAM-SHA-512, username: small, password: p2}]", false},
		{"[{mechanism: none}]", false},
	} {
		err := tried(t, brokers(c)+"topics: [t]\nsasl: "+tt.sasl+"\n")
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.sasl, err)
		}
		if err != nil && (strings.Contains(err.Error(), "wrong") || strings.Contains(err.Error(), "p1")) {
			t.Errorf("the error has the password: %v", err)
		}
	}
}

func TestOAuthBearer(t *testing.T) {
	mechanisms, err := parseSASL(inputConf(t, minimalInput+"sasl: [{mechanism: OAUTHBEARER, token: abc, extensions: {logicalCluster: lkc1}}]\n"))
	if err != nil || len(mechanisms) != 1 || mechanisms[0].Name() != "OAUTHBEARER" {
		t.Fatalf("%v: %v", mechanisms, err)
	}
	_, first, err := mechanisms[0].Authenticate(t.Context(), "one:9092")
	if err != nil || !strings.Contains(string(first), "auth=Bearer abc") || !strings.Contains(string(first), "logicalCluster=lkc1") {
		t.Errorf("the client sends %q: %v", first, err)
	}
}

func TestTLS(t *testing.T) {
	cert, ca := certificate(t)
	c := cluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}}))
	if err := tried(t, brokers(c)+"topics: [t]\ntls: {enabled: true, root_cas_file: "+ca+"}\n"); err != nil {
		t.Errorf("with the authority: %v", err)
	}
	if err := tried(t, brokers(c)+"topics: [t]\ntls: {enabled: true}\n"); err == nil {
		t.Error("a certificate of an unknown authority is taken")
	}
	if err := tried(t, brokers(c)+"topics: [t]\n"); err == nil {
		t.Error("a connection without TLS is taken")
	}
	out := openOutput(t, brokers(c)+"topic: t\ntls: {enabled: true, root_cas_file: "+ca+"}\n")
	if r := out.ConnectionTest(t.Context()); len(r) != 1 || r[0].Err != nil {
		t.Errorf("the connection test: %v", r)
	}
}

// certificate makes one for 127.0.0.1 that is its own authority, and the file that holds it.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func TestConnectionTestSaysWhatIsWrong(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	in, err := newInput(inputConf(t, "seed_brokers: ['127.0.0.1:1']\ntopics: [t]\n"), service.MockResources())
	if err != nil {
		t.Fatal(err)
	}
	if r := in.ConnectionTest(ctx); len(r) != 1 || r[0].Err == nil {
		t.Errorf("the connection test: %v", r)
	}
}

// TestWhatIsRead writes a record to every partition of five topics, and looks which an input reads.
func TestWhatIsRead(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(3, "orders", "orders_old", "customers", "my.orders", "x"))
	cl := client(t, c)
	for _, topic := range []string{"orders", "orders_old", "customers", "my.orders", "x"} {
		for p := range int32(3) {
			put(t, cl, topic, p, "a", "b")
		}
	}
	for _, tt := range []struct {
		yaml string
		want map[string]int // records by topic
	}{
		{"topics: [orders, customers]\n", map[string]int{"orders": 6, "customers": 6}},
		{"topics: ['orders,customers']\n", map[string]int{"orders": 6, "customers": 6}},
		{"topics: ['orders:1', 'x:0-1']\n", map[string]int{"orders": 2, "x": 4}},
		{"topics: ['orders:1:1']\n", map[string]int{"orders": 1}},
		{"topics: ['^o.*s$']\nregexp_topics: true\n", map[string]int{"orders": 6}},
		{"regexp_topics_include: ['orders']\n", map[string]int{"orders": 6, "orders_old": 6, "my.orders": 6}},
		{"regexp_topics_include: ['orders']\nregexp_topics_exclude: ['_old$', '^my']\n", map[string]int{"orders": 6}},
		{"topics: [x]\nconsumer_group: g\n", map[string]int{"x": 6}},
	} {
		t.Run(tt.yaml, func(t *testing.T) {
			total := 0
			for _, n := range tt.want {
				total += n
			}
			in := openInput(t, brokers(c)+tt.yaml)
			have := map[string]int{}
			for n := 0; n < total; {
				batch, ack := read(t, in)
				answer(t, ack, nil)
				topic, _ := batch[0].MetaGet("kafka_topic")
				have[topic] += len(batch)
				n += len(batch)
			}
			silent(t, in)
			if len(have) != len(tt.want) {
				t.Errorf("read %v, want %v", have, tt.want)
			}
			for topic, n := range tt.want {
				if have[topic] != n {
					t.Errorf("read %v, want %v", have, tt.want)
				}
			}
		})
	}
}

// TestTheOldNamesSayWhatToWrite builds pipelines with the old names.
func TestTheOldNamesSayWhatToWrite(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "a", "b"))
	put(t, client(t, c), "a", 0, "v")
	log := &logBook{}
	stop := pipeline(t, log, `
input:
  kafka_franz:
    seed_brokers: ['`+c.ListenAddrs()[0]+`']
    topics: [a]
output:
  kafka_franz:
    seed_brokers: ['`+c.ListenAddrs()[0]+`']
    topic: b
`)
	if r := all(t, c, "b", 1); string(r[0].Value) != "v" {
		t.Errorf("%s came", r[0].Value)
	}
	stop()
	if n := log.count("kafka_franz is deprecated: write redpanda instead"); n != 2 {
		t.Errorf("the log says so %d times, want once for each component", n)
	}
}

func TestTheClientsWarningsAreLogged(t *testing.T) {
	log := &logBook{}
	l := clientLog{log.resources().Logger()}
	l.Log(kgo.LogLevelWarn, "something", "broker", 3)
	l.Log(kgo.LogLevelError, "worse")
	if l.Level() != kgo.LogLevelWarn || log.count("something, broker: 3") != 1 || log.count("level=ERROR") != 1 {
		t.Errorf("the log is %s", log.buf.String())
	}
}
