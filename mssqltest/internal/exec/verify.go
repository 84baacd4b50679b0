package exec

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"github.com/sqlc-dev/teesql/parser"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// verifier checks what teesql accepts too easily: tokens outside of any statement, clauses without their content, and
// words inside a statement that no node of the tree stands for.
type verifier struct {
	toks  []token
	lines lineIndex
}

func (v *verifier) errAt(t token) error {
	text := t.text
	if len(text) > 1 && (text[0] == '[' || text[0] == '"') {
		text = text[1 : len(text)-1]
	}
	e := near102(text)
	e.Line = v.lines.line(t.pos)
	return e
}

// batch checks the statements of a batch against its tokens.
func (v *verifier) batch(stmts []ast.Statement) error {
	if err := v.pairs(); err != nil {
		return err
	}
	i := 0
	for n, st := range stmts {
		f := fragment(st)
		if f == nil || !f.HasSpan() {
			continue
		}
		for i < len(v.toks) && v.toks[i].u16 < f.StartOffset {
			if v.toks[i].kind != parser.TokenSemicolon {
				return v.errAt(v.toks[i])
			}
			i++
		}
		from := i
		for i < len(v.toks) && v.toks[i].u16 < f.EndOffset() {
			i++
		}
		if from == i {
			continue
		}
		if err := v.statement(st, n == 0, v.toks[from:i]); err != nil {
			return err
		}
	}
	for ; i < len(v.toks); i++ {
		if v.toks[i].kind != parser.TokenSemicolon {
			return v.errAt(v.toks[i])
		}
	}
	return nil
}

// pairs checks parentheses and the signs that may not follow each other.
func (v *verifier) pairs() error {
	depth := 0
	for i, t := range v.toks {
		switch t.text {
		case "(":
			depth++
			if i+1 < len(v.toks) && v.toks[i+1].text == "," {
				return v.errAt(v.toks[i+1])
			}
		case ")":
			if depth--; depth < 0 {
				return v.errAt(t)
			}
			if i > 0 && v.toks[i-1].text == "," && !v.elements(i) {
				return v.errAt(t)
			}
		case ".":
			if i+1 < len(v.toks) && reserved[strings.ToUpper(v.toks[i+1].text)] {
				return v.errAt(v.toks[i+1])
			}
		case ",":
			if i+1 == len(v.toks) || v.toks[i+1].text == "," || v.toks[i+1].text == ";" {
				return v.errAt(t)
			}
		}
	}
	if depth != 0 {
		return v.errAt(v.toks[len(v.toks)-1])
	}
	return nil
}

// elements reports whether the parenthesis that closes at i is the element list of CREATE TABLE, which may end with a comma.
func (v *verifier) elements(i int) bool {
	depth := 0
	for ; i >= 0; i-- {
		switch v.toks[i].text {
		case ")":
			depth++
		case "(":
			if depth--; depth == 0 {
				for i--; i > 0 && (v.toks[i].kind == parser.TokenIdent || v.toks[i].text == "."); i-- {
					if v.toks[i].is("TABLE") {
						return true
					}
				}
				return i >= 0 && v.toks[i].is("TABLE")
			}
		}
	}
	return false
}

// statement checks one statement with its tokens, then the statements inside it.
func (v *verifier) statement(st ast.Statement, first bool, toks []token) error {
	last := toks[len(toks)-1]
	for i := len(toks) - 1; i > 0 && toks[i].text == ";"; i-- {
		last = toks[i-1]
	}
	switch st.(type) {
	case *ast.SelectStatement, *ast.InsertStatement, *ast.UpdateStatement, *ast.DeleteStatement, *ast.MergeStatement:
		if dangling[strings.ToUpper(last.text)] {
			return v.errAt(last)
		}
	}
	w := walker{}
	missing := false
	w.pre = func(n any) bool {
		if !required(n) {
			missing = true
		}
		switch x := n.(type) {
		case *ast.ExecuteStatement:
			// A procedure's name without EXEC is a statement only at the start of a batch.
			f := fragment(x)
			for _, t := range toks {
				if t.u16 == f.StartOffset && !t.is("EXEC") && !t.is("EXECUTE") && !(first && x == st) {
					missing = true
					last = t
				}
			}
		case *ast.LabelStatement:
			f := fragment(x)
			colon := false
			for _, t := range toks {
				if t.u16 >= f.StartOffset && t.u16e <= f.EndOffset() && t.text == ":" || strings.HasSuffix(t.text, ":") && t.u16 == f.StartOffset {
					colon = true
				}
			}
			if !colon {
				missing = true
			}
		}
		return !missing
	}
	w.walk(reflect.ValueOf(st))
	if missing {
		return v.errAt(last)
	}
	switch st.(type) {
	case *ast.BeginEndBlockStatement, *ast.TryCatchStatement:
		if t := last; !t.is("END") && !t.is("CATCH") {
			return v.errAt(last)
		}
	}
	return v.covered(st, toks)
}

// dangling are the words and signs that no data statement ends with.
var dangling = wordSet("AS FROM WHERE AND OR ON SET BY JOIN IN LIKE BETWEEN THEN WHEN = < > + - / . <> <= >=")

// covered finds identifiers, variables and literals of a data statement that no node of its tree covers.
func (v *verifier) covered(st ast.Statement, toks []token) error {
	switch st.(type) {
	case *ast.SelectStatement, *ast.InsertStatement, *ast.UpdateStatement, *ast.DeleteStatement, *ast.MergeStatement,
		*ast.IfStatement, *ast.WhileStatement, *ast.SetVariableStatement, *ast.BeginEndBlockStatement, *ast.PrintStatement:
	default:
		return nil
	}
	spans := make(map[int]int, len(toks))
	opaque := false
	w := walker{pre: func(n any) bool {
		switch n.(type) {
		case *ast.SelectStatement, *ast.InsertStatement, *ast.UpdateStatement, *ast.DeleteStatement, *ast.MergeStatement,
			*ast.IfStatement, *ast.WhileStatement, *ast.SetVariableStatement, *ast.BeginEndBlockStatement, *ast.PrintStatement:
		case ast.Statement:
			opaque = true
			return false
		}
		if f := fragment(n); f != nil && f.HasSpan() && leaf(n) {
			if e := f.EndOffset(); e > spans[f.StartOffset] {
				spans[f.StartOffset] = e
			}
		}
		return true
	}}
	w.walk(reflect.ValueOf(st))
	if opaque {
		return nil
	}
	covered, option := 0, 0
	for i, t := range toks {
		// What OPTION (…) may hold is checked where it is used.
		switch {
		case option > 0 && t.text == "(":
			option++
		case option > 0 && t.text == ")":
			if option--; option == 1 {
				option = 0
			}
		case t.is("OPTION") && i+1 < len(toks) && toks[i+1].text == "(":
			option = 1
		}
		if option > 0 {
			continue
		}
		if e, ok := spans[t.u16]; ok && e > covered {
			covered = e
		}
		if t.u16e <= covered {
			continue
		}
		switch t.kind {
		case parser.TokenIdent, parser.TokenNumber, parser.TokenString, parser.TokenNationalString, parser.TokenBinary, parser.TokenMoney:
			if w := strings.ToUpper(t.text); !contextual[w] && !reserved[w] {
				return v.errAt(t)
			}
		}
	}
	return nil
}

// leaf reports whether a node stands for its whole span, so that its tokens need no nodes of their own.
func leaf(n any) bool {
	switch n.(type) {
	case *ast.Identifier, *ast.IntegerLiteral, *ast.NumericLiteral, *ast.RealLiteral, *ast.StringLiteral, *ast.BinaryLiteral,
		*ast.MoneyLiteral, *ast.NullLiteral, *ast.MaxLiteral, *ast.DefaultLiteral, *ast.VariableReference, *ast.GlobalVariableExpression,
		*ast.TableHint, *ast.IndexTableHint, *ast.ForceSeekTableHint, *ast.LiteralTableHint, *ast.OptimizerHint, *ast.LiteralOptimizerHint,
		*ast.UseHintList, *ast.TableHintsOptimizerHint, *ast.OptimizeForOptimizerHint, *ast.SqlDataTypeReference, *ast.XmlDataTypeReference,
		*ast.UserDataTypeReference, *ast.OdbcLiteral, *ast.OdbcFunctionCall, *ast.ParameterlessCall, *ast.IdentifierLiteral,
		*ast.IdentifierOrValueExpression, *ast.WindowFrameClause, *ast.OffsetClause, *ast.BooleanLikeExpression,
		*ast.XmlForClause, *ast.JsonForClause, *ast.BrowseForClause:
		return true
	case *ast.ColumnReferenceExpression:
		return true
	}
	return false
}

// contextual are the words of data statements that the lexer gives as identifiers and that have no node.
var contextual = wordSet(`OVER PARTITION WITHIN ROWS ROW RANGE ONLY NEXT FIRST OFFSET FETCH APPLY MATCHED TARGET SOURCE USING OUTPUT
UNBOUNDED PRECEDING FOLLOWING CURRENT TIES TRY_CONVERT TRY_CAST CAST CONVERT PARSE TRY_PARSE IIF COALESCE NULLIF LEFT RIGHT AT TIME
ZONE HASH LOOP REMOTE MERGE REDUCE FOR SYSTEM_TIME AS OF CONTAINED ALL RESPECT IGNORE NULLS VALUE FROM TRIM LEADING TRAILING BOTH
PERSISTED ROLLUP CUBE GROUPING SETS DELAY FN D T TS GUID OJ ESCAPE VALUES INSERT UPDATE DELETE RAW AUTO PATH XML JSON ROOT
$ACTION ACTION OPENJSON`)

// required reports whether a node has the children without which it means nothing.
func required(n any) bool {
	switch x := n.(type) {
	case *ast.FromClause:
		return len(x.TableReferences) > 0
	case *ast.QualifiedJoin:
		return x.SearchCondition != nil && x.SecondTableReference != nil
	case *ast.UnqualifiedJoin:
		return x.SecondTableReference != nil
	case *ast.QueryDerivedTable:
		return x.Alias != nil
	case *ast.InlineDerivedTable:
		return x.Alias != nil && len(x.RowValues) > 0
	case *ast.CreateTableStatement:
		return x.Definition != nil && len(x.Definition.ColumnDefinitions) > 0
	case *ast.ColumnDefinition:
		return x.DataType != nil || x.ComputedColumnExpression != nil || x.ColumnIdentifier != nil && sameName(x.ColumnIdentifier.Value, "timestamp")
	case *ast.IndexDefinition:
		return x.Name != nil
	case *ast.ProcedureParameter:
		return x.VariableName != nil && x.DataType != nil
	case *ast.SelectFunctionReturnType:
		return x.SelectStatement != nil
	case *ast.TableValuedFunctionReturnType:
		return x.DeclareTableVariableBody != nil && x.DeclareTableVariableBody.VariableName != nil
	case *ast.CreateViewStatement:
		return x.SchemaObjectName != nil && x.SelectStatement != nil
	case *ast.CreateOrAlterViewStatement:
		return x.SchemaObjectName != nil && x.SelectStatement != nil
	case *ast.AlterViewStatement:
		return x.SchemaObjectName != nil && x.SelectStatement != nil
	case *ast.ValuesInsertSource:
		return x.IsDefaultValues || len(x.RowValues) > 0
	case *ast.CommonTableExpression:
		return x.ExpressionName != nil && x.QueryExpression != nil
	case *ast.TryCatchStatement:
		return x.CatchStatements != nil && x.TryStatements != nil
	case *ast.ExecuteStatement:
		return x.ExecuteSpecification != nil && x.ExecuteSpecification.ExecutableEntity != nil && procNamed(x.ExecuteSpecification)
	case *ast.CreateProcedureStatement:
		return x.StatementList != nil && len(x.StatementList.Statements) > 0
	case *ast.BeginEndBlockStatement:
		return x.StatementList != nil && len(x.StatementList.Statements) > 0
	case *ast.AlterTableAddTableElementStatement:
		d := x.Definition
		return d != nil && len(d.ColumnDefinitions)+len(d.TableConstraints)+len(d.Indexes) > 0
	case *ast.GrantStatement:
		return len(x.Principals) > 0 && len(x.Permissions) > 0
	case *ast.DenyStatement:
		return len(x.Principals) > 0 && len(x.Permissions) > 0
	case *ast.RevokeStatement:
		return len(x.Principals) > 0 && len(x.Permissions) > 0
	case *ast.MultiPartIdentifier:
		k := len(x.Identifiers)
		return k == 0 || x.Identifiers[k-1] != nil && x.Identifiers[k-1].Value != ""
	case *ast.UpdateSpecification:
		return x.Target != nil && len(x.SetClauses) > 0
	case *ast.DeleteSpecification:
		return x.Target != nil
	case *ast.InsertSpecification:
		return x.Target != nil && x.InsertSource != nil
	case *ast.MergeSpecification:
		return x.Target != nil && x.TableReference != nil && x.SearchCondition != nil && len(x.ActionClauses) > 0
	case *ast.WhereClause:
		return x.SearchCondition != nil
	case *ast.QuerySpecification:
		return len(x.SelectElements) > 0
	case *ast.SelectScalarExpression:
		return x.Expression != nil && (x.ColumnName == nil || x.ColumnName.Identifier != nil || x.ColumnName.ValueExpression != nil || x.ColumnName.Value != "")
	case *ast.BinaryExpression:
		return x.FirstExpression != nil && x.SecondExpression != nil
	case *ast.BooleanScalarPlaceholder:
		return false
	case *ast.SchemaObjectName:
		return x.BaseIdentifier != nil
	case *ast.CreateSchemaStatement:
		return x.Name != nil || x.Owner != nil
	case *ast.AlterIndexStatement:
		return x.OnName != nil && (x.All || x.Name != nil)
	case ast.Statement:
		return definitionNamed(x)
	}
	return true
}

// definitionNamed reports whether a statement that defines something says what.
func definitionNamed(st ast.Statement) bool {
	v := reflect.Indirect(reflect.ValueOf(st))
	kind := v.Type().Name()
	if !strings.HasPrefix(kind, "Create") && !strings.HasPrefix(kind, "Drop") && !strings.HasPrefix(kind, "Alter") {
		return true
	}
	for _, field := range [...]string{"Name", "SchemaObjectName", "OnName", "DataType", "ProcedureReference"} {
		if f := v.FieldByName(field); f.IsValid() && (f.Kind() == reflect.Pointer || f.Kind() == reflect.Interface) && f.IsNil() && kind != "AlterTableAlterColumnStatement" {
			return false
		}
	}
	return true
}

func procNamed(s *ast.ExecuteSpecification) bool {
	if p, ok := s.ExecutableEntity.(*ast.ExecutableProcedureReference); ok {
		return p.ProcedureReference != nil && (p.ProcedureReference.ProcedureVariable != nil ||
			p.ProcedureReference.ProcedureReference != nil && p.ProcedureReference.ProcedureReference.Name != nil &&
				p.ProcedureReference.ProcedureReference.Name.BaseIdentifier != nil)
	}
	return true
}

// notSupported is the answer to a construct that the stand-in does not run; see UNSUPPORTED.md.
func notSupported(what string) error {
	return sqlerr.Newf(40000, 16, "mssqltest does not support %s.", what)
}
