package exec

import (
	"sort"
	"strings"

	"github.com/sqlc-dev/teesql/parser"
)

// teesql does not read some expressions where they stand in a condition. They are rewritten, before parsing, to calls of
// functions that only this package knows; nothing else of the text changes and no line break comes in.
//
//	a COLLATE x               [$collate](a, N'x')
//	= ALL (SELECT …)          = [$all]((SELECT …))
//	(a + 1) * 2 > 3           [$p](a + 1) * 2 > 3
//	THROW END                 THROW; END
//	USING (VALUES …) AS v(a)  USING (SELECT * FROM (VALUES …) AS v(a)) AS v
//	SELECT type               SELECT [type]
//	COMMIT WORK               COMMIT TRAN
//	INSERT BULK t (c time)    INSERT BULK t (c [time])
const (
	collateCall = "$collate"
	allCall     = "$all"
	anyCall     = "$any"
	parenCall   = "$p"
)

// edit replaces the bytes from pos to end.
type edit struct {
	pos, end int
	text     string
}

// rewrite makes the text that teesql is given.
func rewrite(text string, toks []token) string {
	var edits []edit
	for i, t := range toks {
		if len(t.text) < 1 || t.text[0] == '[' || t.text[0] == '"' || t.text[0] == '\'' {
			continue
		}
		switch {
		case t.is("COLLATE"):
			edits = append(edits, rewriteCollate(toks, i)...)
		case t.is("ALL"), t.is("ANY"), t.is("SOME"):
			edits = append(edits, rewriteAll(toks, i)...)
		case t.text == "(":
			edits = append(edits, rewriteParen(toks, i)...)
		case t.is("THROW"):
			if i+1 < len(toks) && !isThrowArg(toks[i+1]) {
				edits = append(edits, edit{t.end(), t.end(), ";"})
			}
		case t.is("WORK") && i > 0 && (toks[i-1].is("COMMIT") || toks[i-1].is("ROLLBACK")):
			edits = append(edits, edit{t.pos, t.end(), "TRAN"})
		case plainWords[strings.ToUpper(t.text)]:
			if isName(toks, i) {
				edits = append(edits, edit{t.pos, t.end(), "[" + t.text + "]"})
			}
		case t.is("TIME") && inBulk(toks, i):
			edits = append(edits, edit{t.pos, t.end(), "[" + t.text + "]"})
		case t.is("USING"):
			edits = append(edits, rewriteUsing(toks, i)...)
		}
	}
	if len(edits) == 0 {
		return text
	}
	sort.SliceStable(edits, func(a, b int) bool { return edits[a].pos < edits[b].pos })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if e.pos < at {
			continue
		}
		b.WriteString(text[at:e.pos])
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// inBulk reports whether a token stands in an INSERT BULK statement, where words are types of its columns.
func inBulk(toks []token, i int) bool {
	for i--; i > 0 && toks[i].text != ";"; i-- {
		if toks[i].is("BULK") && toks[i-1].is("INSERT") {
			return true
		}
	}
	return false
}

// plainWords are keywords to teesql that SQL Server does not reserve: columns and tables may have these names.
var plainWords = wordSet(`CALLER CERTIFICATE CONVERSATION COOKIE CREDENTIAL CUBE DECRYPTION DELAY DIALOG ENCRYPTION FAST GET JOB LANGUAGE
LOGIN MESSAGE MOVE PASSWORD QUERY RECEIVE ROLLUP SUBSCRIPTION SYMMETRIC TYPE WORK`)

// beforeName are the words and signs that a name may follow.
var beforeName = wordSet(`SELECT , ( WHERE AND OR ON BY = < > <= >= <> != + - * / % & | ^ WHEN THEN ELSE CASE HAVING NOT DISTINCT . AS IN
BETWEEN LIKE FROM JOIN INTO UPDATE TABLE SET`)

// isName reports whether one of plainWords stands where only a name can.
func isName(toks []token, i int) bool {
	if i == 0 || !beforeName[strings.ToUpper(toks[i-1].text)] {
		return false
	}
	prev, next := toks[i-1], token{}
	if i+1 < len(toks) {
		next = toks[i+1]
	}
	switch {
	case prev.text == ".":
		return true
	case next.text == "(" || strings.HasPrefix(next.text, ":"):
		return false
	case prev.is("FROM") || prev.is("SET") && next.text != "=":
		return !toks[i].is("LOGIN") && !toks[i].is("CERTIFICATE") && !prev.is("SET")
	case toks[i].is("FAST"):
		return next.kind != parser.TokenNumber
	case toks[i].is("PASSWORD") || toks[i].is("ENCRYPTION") || toks[i].is("LANGUAGE"):
		// An option of another statement: PASSWORD = 'x' after a comma.
		return next.text != "=" || prev.text != "," && prev.text != "("
	}
	return true
}

func isThrowArg(t token) bool {
	return t.kind == parser.TokenNumber || strings.HasPrefix(t.text, "@") || t.text == ";"
}

// expressionWords and definitionWords tell, by which of them comes last before a COLLATE, whether it stands in an
// expression or in the definition of a column.
var (
	expressionWords = wordSet("SELECT WHERE ON SET VALUES WHEN CASE HAVING BY THEN ELSE AND OR IF WHILE PRINT RETURN LIKE EXEC")
	definitionWords = wordSet("CREATE ALTER DECLARE BULK ADD COLUMN TABLE DATABASE")
)

func inExpression(toks []token, i int) bool {
	for i--; i >= 0; i-- {
		w := strings.ToUpper(toks[i].text)
		switch {
		case expressionWords[w]:
			return true
		case definitionWords[w]:
			return false
		}
	}
	return false
}

func rewriteCollate(toks []token, i int) []edit {
	if i == 0 || i+1 >= len(toks) || !inExpression(toks, i) {
		return nil
	}
	from := operandStart(toks, i-1)
	if from < 0 {
		return nil
	}
	name := strings.Trim(toks[i+1].text, "[]\"")
	return []edit{
		{toks[from].pos, toks[from].pos, "[" + collateCall + "]("},
		{toks[i].pos, toks[i+1].end(), ", N'" + name + "')"},
	}
}

// operandStart finds where the operand that ends at a token begins: a literal, a name of several parts, a call, a group.
func operandStart(toks []token, end int) int {
	i := end
	if toks[i].text == ")" {
		depth := 0
		for ; i >= 0; i-- {
			if toks[i].text == ")" {
				depth++
			} else if toks[i].text == "(" {
				if depth--; depth == 0 {
					break
				}
			}
		}
		if i <= 0 {
			return i
		}
		if prev := toks[i-1]; prev.kind != parser.TokenIdent && !callableWord[strings.ToUpper(prev.text)] || expressionWords[strings.ToUpper(prev.text)] {
			return i
		}
		i--
	} else if toks[i].is("END") {
		depth := 0
		for ; i >= 0; i-- {
			if toks[i].is("END") {
				depth++
			} else if toks[i].is("CASE") {
				if depth--; depth == 0 {
					return i
				}
			}
		}
		return -1
	}
	for i >= 2 && toks[i-1].text == "." {
		i -= 2
	}
	return i
}

// callableWord are the reserved words that are functions.
var callableWord = wordSet("LEFT RIGHT CONVERT COALESCE NULLIF CAST IIF TRY_CONVERT TRY_CAST ISNULL")

func rewriteAll(toks []token, i int) []edit {
	if i == 0 || i+2 >= len(toks) || toks[i+1].text != "(" || !toks[i+2].is("SELECT") {
		return nil
	}
	switch toks[i-1].text {
	case "=", "<", ">", "<=", ">=", "<>", "!=", "!<", "!>":
	default:
		return nil
	}
	end := matching(toks, i+1)
	if end < 0 {
		return nil
	}
	name := anyCall
	if toks[i].is("ALL") {
		name = allCall
	}
	return []edit{{toks[i].pos, toks[i].end(), "[" + name + "]("}, {toks[end].end(), toks[end].end(), ")"}}
}

// rewriteParen marks a group at the start of a condition that turns out to be an operand.
func rewriteParen(toks []token, i int) []edit {
	if i == 0 {
		return nil
	}
	switch w := strings.ToUpper(toks[i-1].text); w {
	case "WHERE", "AND", "OR", "ON", "NOT", "WHEN", "HAVING", "IF", "WHILE", "(":
	default:
		return nil
	}
	end := matching(toks, i)
	if end < 0 || end+1 >= len(toks) {
		return nil
	}
	switch toks[end+1].text {
	case "+", "-", "*", "/", "%", "&", "|", "^":
		return []edit{{toks[i].pos, toks[i].pos, "[" + parenCall + "]"}}
	}
	return nil
}

// rewriteUsing wraps the row constructor that a MERGE reads.
func rewriteUsing(toks []token, i int) []edit {
	if i+2 >= len(toks) || toks[i+1].text != "(" || !toks[i+2].is("VALUES") {
		return nil
	}
	end := matching(toks, i+1)
	if end < 0 || end+1 >= len(toks) {
		return nil
	}
	at := end + 1
	if toks[at].is("AS") {
		at++
	}
	if at >= len(toks) {
		return nil
	}
	alias, last := toks[at].text, at
	if at+1 < len(toks) && toks[at+1].text == "(" {
		if last = matching(toks, at+1); last < 0 {
			return nil
		}
	}
	return []edit{
		{toks[i+1].pos, toks[i+1].pos, "(SELECT * FROM "},
		{toks[last].end(), toks[last].end(), ") AS " + alias},
	}
}
