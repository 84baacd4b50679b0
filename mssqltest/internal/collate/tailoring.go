package collate

// tailoring is the letters of one language that are letters of their own: each string begins with an ASCII letter and
// goes on with the letters right behind it, each in lower case and then in upper case.
type tailoring struct {
	after   []string
	expand  map[rune]string // letters that sort as two
	capital map[rune]rune   // capitals of ASCII letters: Turkish İ of i
}

// tailorings covers the Latin alphabets of the families; the contractions of Czech, Hungarian and Traditional Spanish
// (ch, ll, dz …) are not among them.
var tailorings = map[string]tailoring{
	"turkish": {
		after:   []string{"cçÇ", "gğĞ", "oöÖ", "sşŞ", "uüÜ", "hıI"},
		capital: map[rune]rune{'İ': 'i'},
	},
	"polish":     {after: []string{"aąĄ", "cćĆ", "eęĘ", "lłŁ", "nńŃ", "oóÓ", "sśŚ", "zźŹżŻ"}},
	"czech":      {after: []string{"cčČ", "rřŘ", "sšŠ", "zžŽ"}},
	"croatian":   {after: []string{"cčČćĆ", "dđĐ", "sšŠ", "zžŽ"}},
	"hungarian":  {after: []string{"oöÖőŐ", "uüÜűŰ"}},
	"romanian":   {after: []string{"aăĂâÂ", "iîÎ", "sşŞ", "tţŢ"}},
	"swedish":    {after: []string{"zåÅäÄöÖ"}},
	"danish":     {after: []string{"zæÆøØåÅ"}},
	"icelandic":  {after: []string{"aáÁ", "dðÐ", "eéÉ", "iíÍ", "oóÓ", "uúÚ", "yýÝ", "zþÞæÆöÖ"}},
	"estonian":   {after: []string{"sšŠ", "wõÕäÄöÖ", "yüÜ"}},
	"baltic":     {after: []string{"cčČ", "gģĢ", "kķĶ", "lļĻ", "nņŅ", "sšŠ", "zžŽ"}},
	"spanish":    {after: []string{"nñÑ"}},
	"phonebook":  {expand: map[rune]string{'ä': "ae", 'Ä': "AE", 'ö': "oe", 'Ö': "OE", 'ü': "ue", 'Ü': "UE"}},
	"vietnamese": {after: []string{"aăĂâÂ", "dđĐ", "eêÊ", "oôÔơƠ", "uưƯ"}},
}

// apply puts the language's letters into t.
func (t *table) apply(tl tailoring) {
	for _, s := range tl.after {
		rs := []rune(s)
		w := byte(weightLetter + letterStep*byte(rs[0]-'a'))
		for i, r := range rs[1:] {
			e := one(w + 1 + byte(i/2))
			if i%2 == 1 {
				e.tertiary = terUpper
			}
			t.tailored[r] = e
		}
	}
	for r, small := range tl.capital {
		e := asciiElement(small, t.sqlSort)
		e.tertiary = terUpper
		t.tailored[r] = e
	}
	t.expand = tl.expand
}
