package sqlerr

import "maps"

// messages holds the errors that the stand-in raises, and those that a test may ask it to answer with. Texts that public
// clients match word for word keep SQL Server's wording; others only say the same thing. Those of CDC's less common
// numbers are after the documentation's description of the number.
var messages = merge(queryMessages, engineMessages, serverMessages, cdcMessages, execMessages)

func merge(parts ...map[int32]message) map[int32]message {
	all := map[int32]message{}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}

// Has says whether New knows number n.
func Has(n int32) bool {
	_, ok := messages[n]
	return ok
}

// Text returns severity and text of number n with its placeholders in the form of sys.messages, for the catalog view and for Control.
func Text(n int32) (class uint8, text string, ok bool) {
	m, ok := messages[n]
	return m.class, m.text, ok
}
