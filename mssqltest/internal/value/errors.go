package value

import (
	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

func errClash(from, to Type) error { return sqlerr.New(206, from.plain(), to.plain()) }

func errImplicit(from, to Type) error { return sqlerr.New(257, from.plain(), to.plain()) }

func errExplicit(from, to Type) error { return sqlerr.New(529, from.plain(), to.plain()) }

func errOverflow(from string, to Type) error { return sqlerr.New(8115, from, numericName(to)) }

func errConverting(from, to Type) error { return sqlerr.New(8114, from.plain(), numericName(to)) }

func errNumberOutOfRange(s string) error {
	return sqlerr.New(1007, s)
}

// plain is the type's name in messages: without length.
func (t Type) plain() string {
	if t.ID == CLR {
		return t.Name
	}
	return t.ID.String()
}

// numericName is what conversion errors call decimal.
func numericName(t Type) string {
	if t.ID == Decimal {
		return "numeric"
	}
	return t.plain()
}

// cutText is how much of a value messages 245 and 2628 show.
const cutText = 100

func shown(s string) string { return collate.SliceUTF16(s, 0, cutText) }
