package server

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// bulkLoad is a bulk load whose INSERT BULK has been accepted.
type bulkLoad struct {
	text string
}

// insertBulk checks an INSERT BULK statement ([MS-TDS] 2.2.6.1 Bulk Load BCP). The load itself begins with its rows, so
// that a client that never sends them leaves no lock behind.
func (c *conn) insertBulk(req *request, s *sink, text string) error {
	b, err := c.session.Bulk(req.ctx, text)
	if err != nil {
		return report(s, err)
	}
	b.Abort()
	c.bulk = &bulkLoad{text: text}
	return nil
}

// bulkRows loads the rows of a BulkLoad message.
func (c *conn) bulkRows(req *request, s *sink) (after func(), err error) {
	load := c.bulk
	c.bulk = nil
	if load == nil {
		if err := req.body.discard(); err != nil {
			return nil, err
		}
		return nil, s.Message(sqlerr.Newf(4891, 16, "Insert bulk failed: there was no INSERT BULK statement before the rows."))
	}
	after, done, err := c.admit(req, s, KindBulk, load.text)
	if done {
		if err == nil {
			err = req.body.discard()
		}
		return after, err
	}
	b, err := c.session.Bulk(req.ctx, load.text)
	if err != nil {
		if derr := req.body.discard(); derr != nil {
			return after, derr
		}
		return after, report(s, err)
	}
	defer b.Abort()
	var n int64
	err = c.traced(s, tds.EnvRollbackTran, func() error {
		if n, err = c.load(req, b); err != nil {
			if rerr := b.Fail(err); rerr != nil {
				return rerr
			}
		}
		return err
	})
	if err != nil {
		if derr := req.body.discard(); derr != nil && !errors.Is(derr, io.EOF) {
			return after, derr
		}
		if err := report(s, err); err != nil || !b.Terminates(err) {
			return after, err
		}
		return after, s.Message(sqlerr.New(3621))
	}
	s.done(tds.Done{Token: tds.TokenDone, Status: tds.DoneCount, CurCmd: exec.CmdBulk, RowCount: uint64(n)})
	return after, nil
}

// load reads the rows into b and finishes it.
func (c *conn) load(req *request, b *exec.Bulk) (int64, error) {
	rd := tds.NewBulkReader(req.body, tds.Limits{})
	meta, err := rd.Columns()
	if errors.Is(err, io.EOF) {
		return b.Finish(req.ctx)
	}
	if err != nil {
		return 0, err
	}
	plan, err := c.planBulk(b.Columns(), meta.Columns)
	if err != nil {
		return 0, err
	}
	vals := make([]value.Value, len(plan))
	for {
		cells, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return b.Finish(req.ctx)
		}
		var ce *tds.CellError
		if errors.As(err, &ce) {
			return 0, sqlerr.Newf(4815, 16, "Received an invalid column length from the bcp client for colid %d.", ce.Column+1)
		}
		if err != nil {
			return 0, err
		}
		for i := range plan {
			if vals[i], err = plan[i].value(cells[i]); err != nil {
				return 0, err
			}
		}
		if err := b.Row(vals); err != nil {
			return 0, err
		}
	}
}

// bulkCell turns the cells of one column into values of the declared type.
type bulkCell struct {
	column   int
	decode   decoder
	from, to value.Type
	same     bool
	env      *value.Env
}

// planBulk pairs the columns of INSERT BULK with those of the rows: the same names in the same order, as all clients
// send them. What the rows' types are is theirs to say; each value is converted to the declared type.
func (c *conn) planBulk(declared []exec.BulkColumn, sent []tds.ColumnMeta) ([]bulkCell, error) {
	if len(declared) != len(sent) {
		return nil, sqlerr.Newf(4891, 16, "Insert bulk failed due to a schema change of the target table: %d columns were declared, %d sent.", len(declared), len(sent))
	}
	plan := make([]bulkCell, len(sent))
	for i := range sent {
		if !strings.EqualFold(declared[i].Name, sent[i].Name) && sent[i].Name != "" {
			return nil, sqlerr.Newf(4816, 16, "Invalid column type from bcp client for colid %d.", i+1)
		}
		from, to := valueType(&sent[i].Info), declared[i].Declared
		plan[i] = bulkCell{column: i, decode: newDecoder(&sent[i].Info), from: from, to: to, same: sameForm(from, to), env: c.session.Env()}
	}
	return plan, nil
}

// sameForm reports whether values of one type can stand for values of the other as they are. Lengths are checked when
// the value goes into its column.
func sameForm(a, b value.Type) bool {
	return a.ID == b.ID && a.Scale == b.Scale && a.Prec <= b.Prec
}

func (p *bulkCell) value(cell []byte) (value.Value, error) {
	v, ok := p.decode(cell)
	switch {
	case !ok && (p.from.ID == value.Float || p.from.ID == value.Real):
		return v, sqlerr.Newf(8023, 16, "The supplied value for column %d is not a valid instance of data type %s.", p.column+1, p.from)
	case !ok:
		return v, sqlerr.Newf(4863, 16, "Bulk load data conversion error (truncation or invalid value) in column %d.", p.column+1)
	case p.same || v.IsNull():
		return v, nil
	}
	out, err := value.Assign(p.env, v, p.from, p.to)
	if err != nil {
		return out, fmt.Errorf("converting column %d of bulk load: %w", p.column+1, err)
	}
	return out, nil
}
