package kafka

import (
	"regexp/syntax"
	"slices"

	"github.com/redpanda-data/benthos/v4/public/service"
)

const (
	fieldIncludePrefixes = "include_prefixes"
	fieldIncludePatterns = "include_patterns"
)

// headerFilter chooses the metadata that become headers. To walk through all metadata writes each value as text, also those that are
// no headers, and the schema of mssql_cdc costs more than the rest of a record. So where the patterns are nothing but names, such as
// ^(operation|key)$, these are asked for one by one.
type headerFilter struct {
	filter *service.MetadataFilter
	names  []string // nil when the filter is not a list of names
}

func (p *parser) headers() *headerFilter {
	if !p.conf.Contains(fieldMetadata) {
		return nil
	}
	f := &headerFilter{filter: field(p, p.conf.FieldMetadataFilter, fieldMetadata)}
	prefixes, err := p.conf.FieldStringList(fieldMetadata, fieldIncludePrefixes)
	if err != nil {
		p.failed(fieldMetadata, err)
	}
	patterns, err := p.conf.FieldStringList(fieldMetadata, fieldIncludePatterns)
	if err != nil {
		p.failed(fieldMetadata, err)
	}
	if f.filter.IsEmpty() {
		return nil
	}
	if len(prefixes) == 0 {
		f.names = namesOf(patterns)
	}
	return f
}

func (f *headerFilter) each(m *service.Message, do func(name, value string) error) error {
	if f.names == nil {
		return f.filter.Walk(m, do)
	}
	for _, name := range f.names {
		if value, ok := m.MetaGet(name); ok {
			if err := do(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostNames bounds what a pattern may stand for before walking is cheaper.
const mostNames = 50

// namesOf lists the texts that the patterns match as a whole, or is nil when they match others, too.
func namesOf(patterns []string) (out []string) {
	for _, p := range patterns {
		re, err := syntax.Parse(p, syntax.Perl)
		if err != nil {
			return nil
		}
		re = re.Simplify()
		n := len(re.Sub)
		if re.Op != syntax.OpConcat || n < 2 || re.Sub[0].Op != syntax.OpBeginText || re.Sub[n-1].Op != syntax.OpEndText {
			return nil
		}
		names := []string{""}
		for _, sub := range re.Sub[1 : n-1] {
			if names = cross(names, texts(sub)); names == nil {
				return nil
			}
		}
		out = append(out, names...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// texts lists what an expression matches, or is nil when that is not a short list.
func texts(re *syntax.Regexp) (out []string) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return nil
		}
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if out = append(out, string(r)); len(out) > mostNames {
					return nil
				}
			}
		}
		return out
	case syntax.OpCapture:
		return texts(re.Sub[0])
	case syntax.OpQuest:
		if some := texts(re.Sub[0]); some != nil {
			return append(some, "")
		}
		return nil
	case syntax.OpConcat:
		out = []string{""}
		for _, sub := range re.Sub {
			if out = cross(out, texts(sub)); out == nil {
				return nil
			}
		}
		return out
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			some := texts(sub)
			if some == nil {
				return nil
			}
			out = append(out, some...)
		}
		return out
	default:
		return nil
	}
}

// cross puts each text of the second list behind each of the first.
func cross(a, b []string) (out []string) {
	if b == nil || len(a)*len(b) > mostNames {
		return nil
	}
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out
}
