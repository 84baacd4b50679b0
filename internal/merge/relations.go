package merge

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/request"
)

// The enforced foreign keys of the table whose quoted name is @name, from it and to it, and its enabled triggers.
const (
	sqlRelations = `SELECT f.name, ps.name, p.name, rs.name, r.name, CAST(f.delete_referential_action AS int), CAST(f.update_referential_action AS int)
FROM sys.foreign_keys AS f
 JOIN sys.tables AS p ON p.object_id = f.parent_object_id JOIN sys.schemas AS ps ON ps.schema_id = p.schema_id
 JOIN sys.tables AS r ON r.object_id = f.referenced_object_id JOIN sys.schemas AS rs ON rs.schema_id = r.schema_id
WHERE f.is_disabled = 0 AND (f.parent_object_id = OBJECT_ID(@name) OR f.referenced_object_id = OBJECT_ID(@name)) ORDER BY f.name;
SELECT t.name FROM sys.triggers AS t WHERE t.parent_id = OBJECT_ID(@name) AND t.is_disabled = 0 ORDER BY t.name`
	declRelations = "@name nvarchar(776)"
)

// Relations is what else happens when rows of a table change.
type Relations struct {
	Parents  []catalog.Name // tables that its foreign keys point to, without itself
	Keys     []string       // names of the enforced foreign keys that it has
	Cascades []Cascade
	Triggers []string // the enabled ones
}

// Cascade is a foreign key to a table that changes rows of another one.
type Cascade struct {
	Key   string
	Table catalog.Name // whose key it is
}

// Warning is what somebody should know who lets changes be applied to a table.
type Warning struct {
	Text string
	SQL  string // what turns it off
	Cost string // what that costs
}

// LoadRelations asks the server.
func LoadRelations(ctx context.Context, q catalog.Querier, name catalog.Name) (*Relations, error) {
	r := &Relations{}
	s := request.Statement{Text: sqlRelations, Decl: declRelations, Args: []driver.Value{name.Quoted()}}
	err := request.Each(ctx, q, s, func(set int, _ []string, row []driver.Value) error {
		text := func(i int) string { s, _ := row[i].(string); return s }
		if set == 1 {
			r.Triggers = append(r.Triggers, text(0))
			return nil
		}
		child, parent := catalog.Name{Schema: text(1), Object: text(2)}, catalog.Name{Schema: text(3), Object: text(4)}
		if SameTable(child, name) {
			r.Keys = append(r.Keys, text(0))
			if !SameTable(parent, name) {
				r.Parents = append(r.Parents, parent)
			}
		}
		if SameTable(parent, name) && (row[5] != int64(0) || row[6] != int64(0)) {
			r.Cascades = append(r.Cascades, Cascade{text(0), child})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the foreign keys of %s: %w", name, err)
	}
	return r, nil
}

// SameTable compares names as most databases do. Taking two tables for one costs a transaction more.
func SameTable(a, b catalog.Name) bool {
	return strings.EqualFold(a.Schema, b.Schema) && strings.EqualFold(a.Object, b.Object)
}

// Warnings are for the table that the relations are of.
func (r *Relations) Warnings(name catalog.Name) (out []Warning) {
	if len(r.Parents) > 0 {
		off := fmt.Sprintf("ALTER TABLE %s NOCHECK CONSTRAINT %s", name.Quoted(), catalog.QuoteList(r.Keys))
		out = append(out, Warning{
			Text: fmt.Sprintf("table %s has enforced foreign keys (%s): its rows are refused when they come before those that they point to. "+
				"Changes of several tables come in the right order with ordering: global at the input and all of them through one output; else turn the keys off: %s", name, strings.Join(r.Keys, ", "), off),
			SQL:  off,
			Cost: "The server no longer refuses rows without their parents, from anybody, and plans queries without these keys.",
		})
	}
	if len(r.Cascades) > 0 {
		var keys, statements []string
		for _, c := range r.Cascades {
			keys = append(keys, c.Key)
			statements = append(statements, fmt.Sprintf("ALTER TABLE %s NOCHECK CONSTRAINT %s", c.Table.Quoted(), catalog.Quote(c.Key)))
		}
		out = append(out, Warning{
			Text: fmt.Sprintf("foreign keys to table %s cascade (%s): the server changes other tables by itself, whose changes come from the source as well", name, strings.Join(keys, ", ")),
			SQL:  strings.Join(statements, ";\n"),
			Cost: "Rows of those tables stay when their parents go, whoever deletes them, until their own changes come.",
		})
	}
	if len(r.Triggers) > 0 {
		out = append(out, Warning{
			Text: fmt.Sprintf("table %s has enabled triggers (%s): they fire for the rows that are applied, also for those that come again", name, strings.Join(r.Triggers, ", ")),
			SQL:  fmt.Sprintf("DISABLE TRIGGER %s ON %s", catalog.QuoteList(r.Triggers), name.Quoted()),
			Cost: "They fire for nobody else either.",
		})
	}
	return out
}
