package server

import (
	"errors"
	"strconv"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// logIn checks a LOGIN7 and answers it ([MS-TDS] 3.3.5.4 Login Ready State).
func (c *conn) logIn(body []byte) error {
	in, err := tds.ParseLogin7(body)
	if err != nil {
		return err
	}
	c.messages++
	c.login, c.app, c.host, c.database = in.UserName, in.AppName, in.HostName, in.Database
	v := c.ask(c.ctx, KindLogin, "")
	switch {
	case v.Drop:
		<-c.ctx.Done()
		return errTurnedAway
	case v.Err != nil:
		return c.refuse(v.Err)
	case in.OptionFlags2&tds.Login7IntSecurity != 0 || in.UserName == "":
		return c.refuse(sqlerr.Newf(18452, 14, "Login failed. The login is from an untrusted domain and cannot be used with Integrated authentication."))
	case !c.srv.cfg.Authenticate(in.UserName, in.Password):
		return c.refuse(loginFailed(in.UserName))
	}
	o := exec.SessionOptions{
		Login: in.UserName, Database: in.Database, AppName: in.AppName, HostName: in.HostName, ReadOnlyIntent: in.TypeFlags&tds.Login7ReadOnlyIntent != 0,
	}
	if c.ep.Replica != nil {
		o.Replica = c.ep.Replica()
	}
	session, err := c.srv.cfg.Instance.NewSession(o)
	if err != nil {
		var se *sqlerr.Error
		if !errors.As(err, &se) {
			return err
		}
		return c.refuse(se, loginFailed(in.UserName))
	}
	c.session = session
	c.register()
	for _, f := range in.Features {
		if f.ID == tds.FeatureUTF8Support {
			c.utf8 = true
		}
	}
	size := c.srv.packetSize(int(in.PacketSize))
	if err := c.welcome(size); err != nil {
		session.Close()
		return err
	}
	if v.After != nil {
		v.After()
	}
	return c.w.SetPacketSize(size)
}

// register makes the session known to the server by its number.
func (c *conn) register() {
	spid := c.session.SPID()
	c.number.Store(int64(spid))
	c.w.SetSPID(uint16(spid))
	e := c.event(KindLogin, "")
	c.described.Store(&e)
	c.srv.mu.Lock()
	c.srv.bySPID[spid] = c
	c.srv.mu.Unlock()
}

// serverVersion is 16.0.1000, SQL Server 2022. Some clients refuse 0.0.0.
var serverVersion = [4]byte{16, 0, 1000 >> 8, 1000 & 0xFF}

// packetSize is what a client gets that asks for n; 0 leaves it to the server.
func (s *Server) packetSize(n int) int {
	if n == 0 {
		return s.cfg.PacketSize
	}
	return min(max(n, tds.MinPacketSize), s.cfg.MaxPacketSize)
}

// welcome is the answer to a good login. It goes out in packets of 4096 bytes or less: the client uses the new size
// when it has read of it.
func (c *conn) welcome(size int) error {
	if err := c.w.SetPacketSize(min(size, tds.DefaultPacketSize)); err != nil {
		return err
	}
	db := c.session.Database().Name()
	r := &c.reply
	r.begin()
	coll := wireCollation(c.session.Database().Collation)
	for _, t := range []interface{ Append([]byte) []byte }{
		&tds.LoginAck{Interface: 1, TDSVersion: tds.Version74, Program: "Microsoft SQL Server", Version: serverVersion},
		&tds.EnvChange{Type: tds.EnvDatabase, New: db, Old: "master"},
		c.info(5701, 2, "Changed database context to '"+db+"'."),
		&tds.EnvChange{Type: tds.EnvCollation, NewBytes: coll[:]},
		&tds.EnvChange{Type: tds.EnvLanguage, New: "us_english"},
		c.info(5703, 1, "Changed language setting to us_english."),
		&tds.EnvChange{Type: tds.EnvPacketSize, New: strconv.Itoa(size), Old: strconv.Itoa(tds.DefaultPacketSize)},
	} {
		r.body = t.Append(r.body)
	}
	if c.utf8 {
		r.body = tds.FeatureExtAck{{ID: tds.FeatureUTF8Support, Data: []byte{1}}}.Append(r.body)
	}
	r.done(tds.Done{Token: tds.TokenDone})
	return r.finish()
}

// refuse answers a bad login and ends the connection.
func (c *conn) refuse(errs ...*sqlerr.Error) error {
	c.reply.begin()
	for _, e := range errs {
		c.reply.body = c.message(e).Append(c.reply.body)
	}
	c.reply.done(tds.Done{Token: tds.TokenDone, Status: tds.DoneError})
	if err := c.reply.finish(); err != nil {
		return err
	}
	return errTurnedAway
}

func loginFailed(login string) *sqlerr.Error {
	return sqlerr.Newf(18456, 14, "Login failed for user '%s'.", login)
}
