// Command drain stands before mssqltest and takes bulk loads off it: their rows are
// counted and thrown away, so that a client's processor time is measured and not
// the speed of a server. Everything else is passed on. For each load it prints
// "rows N bytes N".
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"example.com/mssqlcdc/internal/tds"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "`address` to listen on")
	server := flag.String("server", "", "`address` of the server behind")
	flag.Parse()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready on", l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go func() {
			if err := serve(c, *server); err != nil && !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "drain:", err)
			}
		}()
	}
}

// relay is a connection and the one behind it. Requests are answered one at a time.
type relay struct {
	client, server net.Conn
	in, answers    *bufio.Reader
	request        []byte // the packets of one
}

var printing sync.Mutex

func serve(c net.Conn, address string) error {
	defer func() { _ = c.Close() }()
	s, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	r := &relay{client: c, server: s, in: bufio.NewReaderSize(c, 256<<10), answers: bufio.NewReaderSize(s, 64<<10)}
	for {
		kind, err := r.in.Peek(1)
		if err != nil {
			return err
		}
		if tds.PacketType(kind[0]) == tds.PacketBulkLoad {
			err = r.drain()
		} else {
			err = r.pass()
		}
		if err != nil {
			return err
		}
	}
}

// packets reads the packets of one message.
func packets(in *bufio.Reader, each func(packet []byte) error) error {
	buf := make([]byte, tds.MaxPacketSize)
	for {
		head, err := in.Peek(tds.HeaderSize)
		if err != nil {
			return err
		}
		h, err := tds.ParseHeader(head)
		if err != nil {
			return err
		}
		p := buf[:h.Length]
		if _, err := io.ReadFull(in, p); err != nil {
			return err
		}
		if err := each(p); err != nil {
			return err
		}
		if h.Status&tds.StatusEOM != 0 {
			return nil
		}
	}
}

// pass sends a request on and its answer back. The statement of a load is answered here.
func (r *relay) pass() error {
	r.request = r.request[:0]
	var text []byte
	err := packets(r.in, func(p []byte) error {
		r.request = append(r.request, p...)
		if tds.PacketType(p[0]) == tds.PacketSQLBatch {
			text = append(text, p[tds.HeaderSize:]...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if isBulk(text) {
		return r.answer(0)
	}
	if _, err := r.server.Write(r.request); err != nil {
		return err
	}
	return packets(r.answers, func(p []byte) error {
		_, err := r.client.Write(p)
		return err
	})
}

// isBulk looks behind ALL_HEADERS (2.2.5.3) for INSERT BULK.
func isBulk(batch []byte) bool {
	if len(batch) < 4 {
		return false
	}
	headers := int(binary.LittleEndian.Uint32(batch))
	if headers < 4 || headers > len(batch) {
		return false
	}
	begin := batch[headers:min(len(batch), headers+64)]
	text := strings.ToUpper(strings.TrimSpace(tds.DecodeUTF16(begin[:len(begin)&^1])))
	return strings.HasPrefix(text, "INSERT BULK")
}

// answer says that a request is done.
func (r *relay) answer(rows uint64) error {
	done := tds.Done{Status: tds.DoneCount, RowCount: rows}
	return tds.NewMessageWriter(r.client, tds.DefaultPacketSize).WriteMessage(tds.PacketReply, 0, done.Append(nil))
}

func (r *relay) drain() error {
	var n counter
	var bytes int64
	err := packets(r.in, func(p []byte) error {
		bytes += int64(len(p))
		return n.add(p[tds.HeaderSize:])
	})
	if err != nil {
		return err
	}
	if err := n.end(); err != nil {
		return err
	}
	printing.Lock()
	fmt.Printf("rows %d bytes %d\n", n.rows, bytes)
	printing.Unlock()
	return r.answer(n.rows)
}
