package clients

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestLongCapture lets every client talk to the stand-in in clear through a proxy that writes down what passes, and has the TDS
// dissector of tshark find no answer malformed. Requests are the clients' own; those that tshark cannot read are told.
//
//	MSSQLCDC_LONG=1 go test -count=1 -v -run TestLongCapture ./internal/compat/clients
func TestLongCapture(t *testing.T) {
	long(t)
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skipf("tshark is not installed (%v): run .ci/clients-long.sh", err)
	}
	server := startServer(t, filepath.Join("testdata", "setup.sql"))
	certificates(t, server)
	for _, l := range longClients() {
		t.Run(strings.ReplaceAll(l.name, " ", "-"), func(t *testing.T) {
			if err := l.installed(); err != nil {
				t.Skipf("%s is not installed (%v): run .ci/clients-long.sh", l.name, err)
			}
			file := filepath.Join(t.TempDir(), "talk.pcap")
			proxy, end := record(t, server, file)
			table := "dbo.p_" + strings.NewReplacer(" ", "_", ".", "_", "-", "_").Replace(l.name)
			execute(t, server, "CREATE TABLE "+table+" (id bigint NOT NULL, i int NULL, f float NULL, b bit NULL, s nvarchar(100) NULL, v varchar(100) NULL, n decimal(18,4) NULL, ts datetime2(6) NULL, bin varbinary(64) NULL)")
			c := l.on(t, proxy, "no")
			for _, verb := range append(slices.Clone(l.verbs), "read") {
				args := append(slices.Clone(l.args), verb, table, "300")
				switch {
				case verb == "test" || verb == "read":
					args = append(slices.Clone(l.args), verb, table)[:len(l.args)+map[string]int{"test": 1, "read": 2}[verb]]
				case l.name == "freebcp":
					args = freebcpArgs(t, table, 300)
				}
				if l.name == "freebcp" && verb == "read" {
					continue
				}
				out, err := c.run(t, "", args...)
				c.want(t, out, err)
			}
			end()
			dissect(t, tshark, file)
		})
	}
}

// dissect fails for packets that tshark cannot make sense of.
func dissect(t *testing.T, tshark, file string) {
	t.Helper()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(tshark, append([]string{"-n", "-r", file, "-d", "tcp.port==1433,tds"}, args...)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("tshark: %v\n%s", err, stderr.String())
		}
		return strings.TrimSpace(string(out))
	}
	if bad := run("-Y", "_ws.malformed && ip.src == 10.0.0.2"); bad != "" {
		t.Errorf("malformed:\n%s\n%.6000s", bad, run("-Y", "_ws.malformed && ip.src == 10.0.0.2", "-V", "-O", "tds"))
	}
	if bad := run("-Y", "_ws.malformed && ip.src == 10.0.0.1"); bad != "" { // what the client sent is not ours to mend
		t.Logf("tshark cannot read requests of this client:\n%s", bad)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(run("-Y", "tds", "-T", "fields", "-e", "tds.type")) {
		for kind := range strings.SplitSeq(strings.TrimSpace(line), ",") {
			kinds[kind]++
		}
	}
	if kinds["4"] < 3 {
		t.Errorf("the capture holds messages of the types %v, and hardly an answer", kinds)
	}
	t.Logf("messages by their type: %v", kinds)
}

// capture is a file of packets as libpcap keeps them.
type capture struct {
	mu   sync.Mutex
	file *os.File
	err  error
}

// record starts a proxy before the server; end closes it and the file of what passed.
func record(t *testing.T, server *process, name string) (proxy *process, end func()) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	head := le.AppendUint32(nil, 0xa1b2c3d4)
	head = le.AppendUint16(le.AppendUint16(head, 2), 4)
	head = le.AppendUint32(le.AppendUint32(append(head, make([]byte, 8)...), 1<<18), 101) // packets begin with their IP header
	pcap := &capture{file: f}
	_, pcap.err = f.Write(head)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for port := uint16(40000); ; port++ {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { pcap.connection(client, server.port, port) })
		}
	})
	stop := sync.OnceFunc(func() {
		_ = ln.Close()
		wg.Wait()
		if pcap.err == nil {
			pcap.err = f.Close()
		}
		if pcap.err != nil {
			t.Errorf("writing the capture: %v", pcap.err)
		}
	})
	t.Cleanup(stop)
	copied := *server
	_, copied.port, _ = net.SplitHostPort(ln.Addr().String())
	return &copied, stop
}

// connection passes on what both sides say until both have ended.
func (p *capture) connection(client net.Conn, to string, port uint16) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", "127.0.0.1:"+to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	flow := &flow{port: port, next: [2]uint32{1, 1}}
	var wg sync.WaitGroup
	pass := func(from, to net.Conn, way int) {
		buf := make([]byte, 16<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				p.packet(flow, way, buf[:n])
				if _, werr := to.Write(buf[:n]); werr != nil {
					break
				}
			}
			if err != nil {
				if err != io.EOF {
					_ = to.Close()
				}
				break
			}
		}
		if half, ok := to.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
	}
	wg.Go(func() { pass(client, server, 0) })
	wg.Go(func() { pass(server, client, 1) })
	wg.Wait()
}

// flow is a connection in the file: the client's port, and the next sequence number of both ways.
type flow struct {
	port uint16
	next [2]uint32
}

// packet writes bytes as a TCP segment from the client to port 1433 (way 0) or back.
func (p *capture) packet(f *flow, way int, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	be, le := binary.BigEndian, binary.LittleEndian
	ports := [2]uint16{f.port, 1433}
	hosts := [2]byte{1, 2}
	now := time.Now()
	size := uint32(40 + len(data))
	b := le.AppendUint32(nil, uint32(now.Unix()))
	b = le.AppendUint32(b, uint32(now.Nanosecond()/1000))
	b = le.AppendUint32(le.AppendUint32(b, size), size)
	b = append(b, 0x45, 0)
	b = be.AppendUint16(b, uint16(size))
	b = append(b, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, hosts[way], 10, 0, 0, hosts[1-way])
	b = be.AppendUint16(be.AppendUint16(b, ports[way]), ports[1-way])
	b = be.AppendUint32(be.AppendUint32(b, f.next[way]), f.next[1-way])
	b = append(b, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0)
	f.next[way] += uint32(len(data))
	_, p.err = p.file.Write(append(b, data...))
}
