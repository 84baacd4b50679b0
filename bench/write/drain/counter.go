package main

import (
	"encoding/binary"
	"fmt"

	"example.com/mssqlcdc/internal/tds"
)

// counter counts the rows of a bulk load (2.2.6.1 Bulk Load BCP) as they come.
type counter struct {
	rows uint64
	cols []cell
	rest []byte // what is not a whole row yet
	done bool
}

// cell is how the length of a column's cells is known.
type cell struct {
	frame frame
	size  int
}

type frame uint8

const (
	fixed frame = iota
	byteLength
	shortLength
	longLength // behind a text pointer
	chunks     // PLP
)

// enough is how many bytes the names and types of the columns may take.
const enough = 64 << 10

func (c *counter) add(p []byte) error {
	if c.rest = append(c.rest, p...); c.cols == nil {
		if len(c.rest) < enough {
			return nil
		}
		if err := c.columns(); err != nil {
			return err
		}
	}
	at, err := c.count(c.rest)
	c.rest = append(c.rest[:0], c.rest[at:]...)
	return err
}

// end is called when there is no more.
func (c *counter) end() error {
	if c.cols == nil {
		if err := c.columns(); err != nil {
			return err
		}
		at, err := c.count(c.rest)
		if err != nil {
			return err
		}
		c.rest = c.rest[at:]
	}
	if !c.done {
		return fmt.Errorf("the load ends inside of a row: %d bytes are left after %d rows", len(c.rest), c.rows)
	}
	return nil
}

func (c *counter) columns() error {
	r := tds.NewReader(c.rest)
	if t := tds.Token(r.Uint8()); t != tds.TokenColMetaData {
		return fmt.Errorf("the load begins with token 0x%02X", uint8(t))
	}
	var m tds.ColMetaData
	m.DecodeBulk(r)
	if err := r.Err(); err != nil {
		return err
	}
	c.rest = c.rest[len(c.rest)-r.Len():]
	c.cols = make([]cell, len(m.Columns))
	for i, col := range m.Columns {
		size, isFixed := col.Info.Type.FixedSize()
		switch t := col.Info.Type; {
		case isFixed:
			c.cols[i] = cell{fixed, size}
		case t == tds.TypeText || t == tds.TypeNText || t == tds.TypeImage:
			c.cols[i] = cell{frame: longLength}
		case col.Info.Size == tds.MaxSize:
			c.cols[i] = cell{frame: chunks}
		case t == tds.TypeBigVarChar || t == tds.TypeBigChar || t == tds.TypeNVarChar || t == tds.TypeNChar || t == tds.TypeBigVarBinary || t == tds.TypeBigBinary:
			c.cols[i] = cell{frame: shortLength}
		default:
			c.cols[i] = cell{frame: byteLength}
		}
	}
	return nil
}

// count counts the whole rows and tells where they end.
func (c *counter) count(b []byte) (int, error) {
	for at := 0; ; {
		if at >= len(b) || c.done {
			return at, nil
		}
		switch tds.Token(b[at]) {
		case tds.TokenRow:
		case tds.TokenDone:
			c.done = true
			return at, nil
		default:
			return at, fmt.Errorf("token 0x%02X after %d rows", b[at], c.rows)
		}
		next := c.skip(b, at+1)
		if next < 0 || next > len(b) {
			return at, nil
		}
		c.rows++
		at = next
	}
}

// skip finds the end of a row: behind b, or negative, if it is not there yet.
func (c *counter) skip(b []byte, at int) int {
	for _, col := range c.cols {
		if at >= len(b) {
			return -1
		}
		switch col.frame {
		case fixed:
			at += col.size
		case byteLength:
			at += 1 + int(b[at])
		case shortLength:
			if at+2 > len(b) {
				return -1
			}
			if n := binary.LittleEndian.Uint16(b[at:]); n == 0xFFFF {
				at += 2
			} else {
				at += 2 + int(n)
			}
		case longLength:
			if b[at] == 0 {
				at++
				continue
			}
			at += 1 + int(b[at]) + 8
			if at+4 > len(b) {
				return -1
			}
			at += 4 + int(binary.LittleEndian.Uint32(b[at:]))
		case chunks:
			if at = skipChunks(b, at); at < 0 {
				return -1
			}
		}
	}
	return at
}

func skipChunks(b []byte, at int) int {
	if at+8 > len(b) {
		return -1
	}
	total := binary.LittleEndian.Uint64(b[at:])
	if at += 8; total == 1<<64-1 {
		return at
	}
	for {
		if at+4 > len(b) {
			return -1
		}
		n := int(binary.LittleEndian.Uint32(b[at:]))
		if at += 4 + n; n == 0 {
			return at
		}
	}
}
