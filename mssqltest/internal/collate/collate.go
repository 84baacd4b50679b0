// Package collate is the stand-in's collations: name, wire bytes, code page and how two strings compare.
//
// A string is a Go string in WTF-8: UTF-8, in which a lone UTF-16 surrogate is kept as its own three bytes, because
// nvarchar holds any sequence of code units. Lengths in SQL are counted in UTF-16 code units (nvarchar) or in bytes
// of the code page (varchar).
//
// The orders follow the structure of Windows sort keys (letters, then diacritics, then case, kana and width, then
// hyphen and apostrophe) with the order of the ASCII characters of the Windows tables. Characters outside of Latin
// are ordered by script and code point; the Chinese families take the order of the Han characters from CLDR.
package collate

// Collation is one collation; there is one pointer per name, so pointers compare.
type Collation struct {
	Name     string
	LCID     uint32
	SortID   uint8 // SQL_ collations; 0 for Windows collations
	Flags    uint32
	CodePage int // of char and varchar: 1252, 932, 936, 1254, 65001 …

	CaseInsensitive, AccentInsensitive, KanaInsensitive, WidthInsensitive bool
	Binary, Binary2, UTF8, SupplementaryChars                             bool

	impl *impl
}

// impl is what is derived from the name once: the code page's coder and the weight tables.
type impl struct {
	version uint8 // 0 for version 80 and SQL_ names, 1 for _90, 2 for _100, 3 for _140
	coder   coder
	word    *table // nvarchar, and varchar of the Windows collations
	sql     *table // varchar of the SQL_ collations, else nil
}

// DefaultName is the collation of an instance that was installed with US English settings.
const DefaultName = "SQL_Latin1_General_CP1_CI_AS"

// Version is the collation's table version as sys.fn_helpcollations and COLLATIONPROPERTY give it: 0 for the version 80
// tables and the SQL_ names, 1 for _90, 2 for _100, 3 for _140.
func (c *Collation) Version() int { return int(c.impl.version) }

// String returns the name.
func (c *Collation) String() string { return c.Name }

// table returns the weights that order data of the given kind, nil for a binary collation.
func (c *Collation) table(unicode bool) *table {
	if !unicode && c.impl.sql != nil {
		return c.impl.sql
	}
	return c.impl.word
}
