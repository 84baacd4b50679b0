package pipeline

import (
	"encoding/base64"
	"regexp"
	"strings"
)

var (
	variable = regexp.MustCompile(`\${[0-9A-Za-z_.]+(:((\${[^}]+})|[^}])*)?(\|base64decode)?}`)
	escaped  = regexp.MustCompile(`\${({[0-9A-Za-z_.]+(:((\${[^}]+})|[^}])*)?(\|base64decode)?})}`)
)

// interpolate puts environment variables into the text of a pipeline, by the rules of Benthos: ${NAME}, ${NAME:default},
// ${NAME|base64decode}; ${{NAME}} stands for ${NAME} itself, and a variable that is not set is empty.
func interpolate(text string, lookup func(string) (string, bool)) string {
	text = variable.ReplaceAllStringFunc(text, func(found string) string {
		name, decode := strings.CutSuffix(found[2:len(found)-1], "|base64decode")
		name, fallback, _ := strings.Cut(name, ":")
		value, _ := lookup(name)
		if value == "" {
			value = fallback
		}
		if decode {
			if b, err := base64.StdEncoding.DecodeString(value); err == nil {
				value = string(b)
			}
		}
		return strings.ReplaceAll(value, "\n", "\\n")
	})
	return escaped.ReplaceAllString(text, "$$$1")
}
