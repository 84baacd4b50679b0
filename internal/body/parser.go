package body

import "example.com/mssqlcdc/internal/sqltype"

// Parser reads texts as values of one type, by the rules that a Decoder has for the texts of a message.
type Parser struct {
	d Decoder
	v cellValue
}

// NewParser makes a parser for a type.
func NewParser(t sqltype.Type, o Lossy) *Parser {
	return &Parser{d: Decoder{columns: []DecodeColumn{{Type: t}}, kinds: []sqltype.Kind{t.Kind()}, options: DecodeOptions{Lossy: o}}}
}

// Value is a value in the inside form of its type: 128 bits of a number or a time, the offset of a datetimeoffset in Hi, or bytes,
// which are good until the next Parse.
type Value struct {
	Null   bool
	Hi, Lo uint64
	Bytes  []byte
}

// Parse reads a text.
func (p *Parser) Parse(text []byte) (Value, error) {
	p.d.begin()
	p.d.arena = append(p.d.arena, text...)
	p.v = cellValue{}
	if err := p.d.fromText(0, &p.v, 0); err != nil {
		return Value{}, err
	}
	return Value{Null: p.v.null, Hi: p.v.hi, Lo: p.v.lo, Bytes: p.d.arena[p.v.from:p.v.to]}, nil
}
