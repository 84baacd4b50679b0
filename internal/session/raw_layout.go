package session

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"time"
	"unsafe"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/internal/tds"
)

// readDoneBound is how long the driver's reading goroutine may take to end after
// the last token of a reply has been given out.
const readDoneBound = 200 * time.Millisecond

// layout is where the driver keeps what a raw request needs. This file alone
// reads the driver's private fields. The names and types are compared when the
// process first needs them, so a driver that has changed is refused, not guessed.
type layout struct {
	sess, good                            uintptr // of mssql.Conn
	buf, tranid, encrypted, readDone      uintptr // of the session
	hasReadDone                           bool
	transport, packet, rpos, rsize, final uintptr // of the buffer
}

var driverLayout = sync.OnceValues(resolveLayout)

func resolveLayout() (*layout, error) {
	l := &layout{}
	conn := reflect.TypeFor[mssql.Conn]()
	var err error
	at := func(t reflect.Type, name, want string) uintptr {
		f, ok := t.FieldByName(name)
		switch {
		case err != nil:
		case !ok || len(f.Index) != 1:
			err = fmt.Errorf("checking the driver: %s has no field %s", t, name)
		case f.Type.String() != want:
			err = fmt.Errorf("checking the driver: %s.%s is a %s, want %s", t, name, f.Type, want)
		}
		return f.Offset
	}
	l.sess, l.good = at(conn, "sess", "*mssql.tdsSession"), at(conn, "connectionGood", "bool")
	if err != nil {
		return nil, err
	}
	f, _ := conn.FieldByName("sess")
	sess := f.Type.Elem()
	l.buf, l.tranid, l.encrypted = at(sess, "buf", "*mssql.tdsBuffer"), at(sess, "tranid", "uint64"), at(sess, "alwaysEncrypted", "bool")
	if _, l.hasReadDone = sess.FieldByName("readDone"); l.hasReadDone { // from 1.10 on
		l.readDone = at(sess, "readDone", "chan struct {}")
	}
	if err != nil {
		return nil, err
	}
	f, _ = sess.FieldByName("buf")
	buf := f.Type.Elem()
	l.transport, l.packet = at(buf, "transport", "io.ReadWriteCloser"), at(buf, "packetSize", "int")
	l.rpos, l.rsize, l.final = at(buf, "rpos", "int"), at(buf, "rsize", "int"), at(buf, "final", "bool")
	if err != nil {
		return nil, err
	}
	return l, nil
}

// borrowed is the driver's session while no request of the driver's runs.
type borrowed struct {
	transport io.ReadWriteCloser
	packet    int
	// tranid is the driver's transaction descriptor. A raw request sends it, and
	// writes what a raw reply says of it, so that both sides stay in one transaction.
	tranid *uint64
}

// borrow checks the state of a connection and gives what a raw request needs. It
// has to be called before each one.
func borrow(conn *mssql.Conn) (borrowed, error) {
	l, err := driverLayout()
	if err != nil {
		return borrowed{}, err
	}
	c := unsafe.Pointer(conn)
	if c == nil {
		return borrowed{}, errors.New("checking the connection: the driver has none")
	}
	sess := *(*unsafe.Pointer)(unsafe.Add(c, l.sess))
	if sess == nil || !*(*bool)(unsafe.Add(c, l.good)) {
		return borrowed{}, errors.New("checking the connection: the driver has given it up")
	}
	if l.hasReadDone {
		if err := ended(*(*chan struct{})(unsafe.Add(sess, l.readDone))); err != nil {
			return borrowed{}, err
		}
	}
	buf := *(*unsafe.Pointer)(unsafe.Add(sess, l.buf))
	if buf == nil {
		return borrowed{}, errors.New("checking the connection: the driver has closed it")
	}
	b := borrowed{
		transport: *(*io.ReadWriteCloser)(unsafe.Add(buf, l.transport)),
		packet:    *(*int)(unsafe.Add(buf, l.packet)),
		tranid:    (*uint64)(unsafe.Add(sess, l.tranid)),
	}
	switch {
	case b.transport == nil:
		return borrowed{}, errors.New("checking the connection: it has no transport")
	case *(*bool)(unsafe.Add(sess, l.encrypted)):
		return borrowed{}, errors.New("checking the connection: column encryption is on, which only the driver knows")
	case *(*int)(unsafe.Add(buf, l.rpos)) != *(*int)(unsafe.Add(buf, l.rsize)) || !*(*bool)(unsafe.Add(buf, l.final)):
		return borrowed{}, errors.New("checking the connection: the driver has not read its last reply to the end")
	case b.packet < tds.MinPacketSize || b.packet > tds.MaxPacketSize:
		return borrowed{}, fmt.Errorf("checking the connection: packet size %d", b.packet)
	}
	return b, nil
}

// ended waits for the driver's reading goroutine.
func ended(done chan struct{}) error {
	if done == nil {
		return nil
	}
	timer := time.NewTimer(readDoneBound)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return errors.New("checking the connection: the driver is still reading")
	}
}
