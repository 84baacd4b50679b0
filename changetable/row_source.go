package changetable

import (
	"database/sql/driver"
	"fmt"
	"io"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/rowset"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/tds"
)

// rowSource are the rows of a page statement: cells of the wire where the session
// speaks TDS itself, else the driver's values.
type rowSource interface {
	begin() error        // of a result set
	next() (bool, error) // tells whether there is a row
	key() (rowKey, error)
	append() error // the row to the builder
}

func (r *Reader) source(rows driver.RowsNextResultSet) rowSource {
	if cells, ok := rows.(session.Cells); ok {
		return &cellSource{rows: cells, builder: r.builder}
	}
	return &valueSource{rows: rows, builder: r.builder, row: make([]driver.Value, r.builder.Cells())}
}

type valueSource struct {
	rows    driver.Rows
	builder *rowset.Builder
	row     []driver.Value
}

func (s *valueSource) begin() error        { return nil }
func (s *valueSource) next() (bool, error) { return request.Next(s.rows, s.row) }
func (s *valueSource) append() error       { return s.builder.AppendDriverRow(s.row) }
func (s *valueSource) key() (rowKey, error) {
	return keyOf(s.row[len(s.row)-len(changeColumns):])
}

type cellSource struct {
	rows    session.Cells
	builder *rowset.Builder
	row     [][]byte
}

func (s *cellSource) begin() error { return s.builder.Plan(s.rows.Metadata()) }

func (s *cellSource) next() (more bool, err error) {
	s.row, err = s.rows.NextCells()
	if err == io.EOF { //nolint:errorlint // the end of the rows is io.EOF itself
		return false, nil
	}
	return err == nil, err
}

func (s *cellSource) append() error { return s.builder.AppendCells(s.row) }

// key reads the change columns of the row, as keyOf does.
func (s *cellSource) key() (k rowKey, err error) {
	if len(s.row) < len(changeColumns) {
		return k, fmt.Errorf("the server sent %d columns", len(s.row))
	}
	row := s.row[len(s.row)-len(changeColumns):]
	for _, c := range []struct {
		to   *checkpoint.LSN
		cell []byte
	}{{&k.lsn, row[0]}, {&k.seq, row[2]}} {
		switch len(c.cell) {
		case len(c.to):
			copy(c.to[:], c.cell)
		case 0:
		default:
			if *c.to, err = checkpoint.LSNFromBytes(c.cell); err != nil {
				return k, err
			}
		}
	}
	if row[1] == nil {
		k.noCommand = true
	} else {
		cmd, ok := tds.Int64(row[1])
		if !ok {
			return k, fmt.Errorf("reading %s: a cell of %d bytes", colCommandID, len(row[1]))
		}
		k.cmd = int32(cmd)
	}
	op, ok := tds.Int64(row[3])
	if !ok || op < Delete || op > After {
		return k, fmt.Errorf("reading %s: the server gave %x", colOperation, row[3])
	}
	k.op = int32(op)
	return k, nil
}
