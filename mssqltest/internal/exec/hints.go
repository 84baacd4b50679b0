package exec

import (
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

var hintBits = map[string]storage.Hint{
	"NOLOCK": storage.NoLock, "READUNCOMMITTED": storage.NoLock, "READCOMMITTED": storage.ReadCommittedHint,
	"READCOMMITTEDLOCK": storage.ReadCommittedLock, "REPEATABLEREAD": storage.RepeatableReadHint, "HOLDLOCK": storage.HoldLock,
	"SERIALIZABLE": storage.HoldLock, "UPDLOCK": storage.UpdLock, "XLOCK": storage.XLock, "TABLOCK": storage.TabLock,
	"TABLOCKX": storage.TabLockX, "READPAST": storage.ReadPast, "NOWAIT": storage.NoWait, "ROWLOCK": storage.RowLock,
}

// hint applies the table hints; FORCESEEK, INDEX and those that only steer a real optimizer are taken and, apart from
// INDEX, have no effect.
func (b *boundTable) hint(r *run, def *storage.TableDef, hints []ast.TableHintType) error {
	for _, h := range hints {
		switch x := h.(type) {
		case *ast.TableHint:
			b.access.Hint |= hintBits[strings.ToUpper(x.HintKind)]
			if strings.EqualFold(x.HintKind, "Snapshot") {
				return notSupported("the hint SNAPSHOT")
			}
		case *ast.IndexTableHint:
			for _, v := range x.IndexValues {
				i, err := indexNamed(b.t.Database(), def, v)
				if err != nil {
					return err
				}
				b.forced = i
			}
		case *ast.ForceSeekTableHint:
			if x.IndexValue != nil {
				i, err := indexNamed(b.t.Database(), def, x.IndexValue)
				if err != nil {
					return err
				}
				b.forced = i
			}
		}
	}
	return nil
}

// indexNamed finds an index by name or number; 0 is the table itself.
func indexNamed(db *storage.Database, def *storage.TableDef, v *ast.IdentifierOrValueExpression) (int, error) {
	name := v.Value
	if v.Identifier != nil {
		name = v.Identifier.Value
	}
	name = unquoted(name)
	if n, ok := v.ValueExpression.(*ast.IntegerLiteral); ok {
		id, err := strconv.Atoi(n.Value)
		if err != nil || id == 0 {
			return -1, nil
		}
		for i, x := range def.Indexes {
			if x.ID == id {
				return i, nil
			}
		}
		return -1, sqlerr.New(307, id, def.QualifiedName())
	}
	for i, x := range def.Indexes {
		if sameIdent(db, x.Name, name) {
			return i, nil
		}
	}
	return -1, sqlerr.New(308, name, def.QualifiedName())
}

// unquoted takes the brackets or quotation marks off a name that the parser has left on it.
func unquoted(name string) string {
	if n := len(name); n > 1 {
		switch {
		case name[0] == '[' && name[n-1] == ']':
			return strings.ReplaceAll(name[1:n-1], "]]", "]")
		case name[0] == '"' && name[n-1] == '"':
			return strings.ReplaceAll(name[1:n-1], `""`, `"`)
		}
	}
	return name
}
