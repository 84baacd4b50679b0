// Package collate is the stand-in's collations: name, wire bytes, code page and how two strings compare.
//
// A string is a Go string in WTF-8: UTF-8, in which a lone UTF-16 surrogate is kept as its own three bytes, because
// nvarchar holds any sequence of code units. Lengths in SQL are counted in UTF-16 code units (nvarchar) or in bytes
// of the code page (varchar).
package collate

// Collation is one collation; there is one pointer per name, so pointers compare.
type Collation struct {
	Name     string
	LCID     uint32
	SortID   uint8 // SQL_ collations; 0 for Windows collations
	Flags    uint32
	CodePage int // of char and varchar: 1252, 932, 936, 1254, 65001 …
	CaseInsensitive, AccentInsensitive, KanaInsensitive, WidthInsensitive bool
	Binary, Binary2, UTF8, SupplementaryChars                            bool
	impl                                                                  any
}
