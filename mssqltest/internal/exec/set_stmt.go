package exec

import (
	"strconv"
	"strings"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

var isolationLevels = map[string]storage.Isolation{
	"ReadUncommitted": storage.ReadUncommitted, "ReadCommitted": storage.ReadCommitted, "RepeatableRead": storage.RepeatableRead,
	"Serializable": storage.Serializable, "Snapshot": storage.Snapshot,
}

// setIsolation is SET TRANSACTION ISOLATION LEVEL; a transaction that began under another level cannot become SNAPSHOT
// (3951).
func (r *run) setIsolation(level string) error {
	iso, ok := isolationLevels[level]
	if !ok {
		return sqlerr.New(102, level)
	}
	if r.s.replica == nil {
		if tx := r.s.tran.tx; tx != nil && iso == storage.Snapshot && tx.Isolation() != storage.Snapshot {
			return sqlerr.New(3951, r.s.db.Name())
		}
	}
	r.s.setIsolationOption(r.s.opt.Isolation, iso)
	return r.done(CmdSet, 0, false)
}

// setIsolationOption changes the level of the session and of its open transaction.
func (s *Session) setIsolationOption(from, to storage.Isolation) {
	s.opt.Isolation = to
	if s.tran.tx != nil && from != to && s.replica == nil {
		s.tran.tx.SetIsolation(to)
	}
}

// setPredicate is SET option ON | OFF.
func (r *run) setPredicate(options string, on bool) error {
	o := &r.s.opt
	for _, name := range strings.Split(options, ",") {
		switch name = strings.TrimSpace(name); name {
		case "XactAbort":
			o.XactAbort = on
		case "ImplicitTransactions":
			o.ImplicitTransactions = on
		case "NoCount":
			o.NoCount = on
		case "FmtOnly":
			o.FmtOnly = on
		case "NoExec":
			o.NoExec = on
		case "ParseOnly":
			o.ParseOnly = on
		case "ShowPlanAll", "ShowPlanText", "ShowPlanXml":
			if on {
				return notSupported("SET " + name)
			}
		default:
			o.Flags[flagName(name)] = on
		}
	}
	return r.done(CmdSet, 0, false)
}

// flagName turns AnsiNulls into ANSI_NULLS.
func flagName(s string) string {
	var b strings.Builder
	for i, c := range s {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.NewReplacer("ARITH_ABORT", "ARITHABORT", "ARITH_IGNORE", "ARITHIGNORE", "NUMERIC_ROUND_ABORT", "NUMERIC_ROUNDABORT").
		Replace(strings.ToUpper(b.String()))
}

// setCommands is SET LANGUAGE, DATEFORMAT, DATEFIRST, DEADLOCK_PRIORITY, LOCK_TIMEOUT, CONTEXT_INFO.
func (r *run) setCommands(x *ast.SetCommandStatement) error {
	for _, cmd := range x.Commands {
		g, ok := cmd.(*ast.GeneralSetCommand)
		if !ok {
			continue
		}
		if err := r.setCommand(g); err != nil {
			return err
		}
	}
	return r.done(CmdSet, 0, false)
}

// word is the parameter of a SET command: a bare word, a literal or a variable.
func (r *run) word(n ast.ScalarExpression) (string, error) {
	switch x := n.(type) {
	case *ast.IdentifierLiteral:
		return x.Value, nil
	case *ast.ColumnReferenceExpression:
		return joinNames(x.MultiPartIdentifier.Identifiers), nil
	}
	v, t, err := r.eval(n)
	if err != nil || v.IsNull() {
		return "", err
	}
	return value.Display(v, t), nil
}

func (r *run) setCommand(g *ast.GeneralSetCommand) error {
	o := &r.s.opt
	if g.CommandType == "ContextInfo" {
		v, err := r.evalTo(g.Parameter, value.Type{ID: value.VarBinary, Len: 128})
		if err == nil && !v.IsNull() {
			r.s.contextInfo = v.Bytes()
		}
		return err
	}
	w, err := r.word(g.Parameter)
	if err != nil {
		return err
	}
	n, nerr := strconv.ParseInt(w, 10, 64)
	switch g.CommandType {
	case "Language":
		return r.setLanguage(w)
	case "DateFormat":
		switch w = strings.ToLower(w); w {
		case "mdy", "dmy", "ymd", "ydm", "myd", "dym":
			o.DateFormat, r.s.env.DateFormat = w, w
		default:
			return sqlerr.New(2741, w)
		}
	case "DateFirst":
		if nerr != nil || n < 1 || n > 7 {
			return sqlerr.New(2742, w)
		}
		o.DateFirst, r.s.env.DateFirst = int(n), int(n)
	case "DeadlockPriority":
		switch strings.ToUpper(w) {
		case "LOW":
			n = -5
		case "NORMAL":
			n = 0
		case "HIGH":
			n = 5
		default:
			if nerr != nil || n < -10 || n > 10 {
				return sqlerr.New(102, w)
			}
		}
		o.DeadlockPriority = int(n)
		if tx := r.s.tran.tx; tx != nil {
			tx.SetDeadlockPriority(int(n))
		}
	case "LockTimeout":
		if nerr != nil || n < -1 {
			return sqlerr.New(102, w)
		}
		if o.LockTimeout = -1; n >= 0 {
			o.LockTimeout = time.Duration(n) * time.Millisecond
		}
	}
	return nil
}

// languages are the names that SET LANGUAGE takes, with the date format and first day of each.
var languages = map[string]struct {
	name, format string
	first        int
}{
	"us_english": {"us_english", "mdy", 7}, "english": {"us_english", "mdy", 7}, "british": {"British", "dmy", 1}, "british english": {"British", "dmy", 1},
	"german": {"Deutsch", "dmy", 1}, "deutsch": {"Deutsch", "dmy", 1}, "french": {"Français", "dmy", 1}, "français": {"Français", "dmy", 1},
}

func (r *run) setLanguage(name string) error {
	l, ok := languages[strings.ToLower(name)]
	if !ok {
		return sqlerr.New(2740, name)
	}
	old := r.s.opt.Language
	r.s.opt.Language, r.s.opt.DateFormat, r.s.opt.DateFirst = l.name, l.format, l.first
	r.s.env.DateFormat, r.s.env.DateFirst = l.format, l.first
	if err := r.sink.Env(EnvLanguage, []byte(l.name), []byte(old)); err != nil {
		return err
	}
	msg := sqlerr.Newf(5703, 0, "Changed language setting to %s.", l.name)
	msg.Line = 1
	return r.sink.Message(msg)
}

func (r *run) setTextSize(x *ast.SetTextSizeStatement) error {
	v, err := r.evalTo(x.TextSize, typeBigInt)
	if err != nil {
		return err
	}
	if r.s.opt.TextSize = v.Int(); r.s.opt.TextSize <= 0 {
		r.s.opt.TextSize = 2147483647
	}
	return r.done(CmdSet, 0, false)
}

func (r *run) setRowCount(x *ast.SetRowCountStatement) error {
	v, err := r.evalTo(x.NumberRows, typeBigInt)
	if err != nil {
		return err
	}
	r.s.opt.RowCount = v.Int()
	return r.done(CmdSet, 0, false)
}

// setIdentityInsert allows explicit identity values for one table of the session at a time (8107).
func (r *run) setIdentityInsert(x *ast.SetIdentityInsertStatement) error {
	err := r.atomicRead(func() error {
		o, err := r.compiler().nameOf(x.Table)
		if err != nil {
			return err
		}
		t, _ := r.object(o.db, o.schema, o.name).(*storage.Table)
		if t == nil {
			return sqlerr.New(1088, o.text)
		}
		if t.Def().IdentityColumn() < 0 {
			return sqlerr.New(8106, o.text)
		}
		if err := r.permit(o.db, t.Header(), "ALTER"); err != nil {
			return sqlerr.New(1088, o.text)
		}
		if !x.IsOn {
			delete(r.s.identIns, t.ID())
			return nil
		}
		for id := range r.s.identIns {
			if id == t.ID() {
				continue
			}
			if other := o.db.ObjectByID(id); other != nil {
				h := other.Header()
				return sqlerr.New(8107, o.db.Name()+"."+h.QualifiedName(), o.text)
			}
			delete(r.s.identIns, id)
		}
		r.s.identIns[t.ID()] = true
		return nil
	})
	if err != nil {
		return err
	}
	return r.done(CmdSet, 0, false)
}
