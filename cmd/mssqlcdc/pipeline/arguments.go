package pipeline

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// Arguments gives what is not a flag. The parser of the command line ends at the first such word, and people write flags after
// it, so the rest is looked through here. help is the command whose --help lists the flags.
func Arguments(c *cli.Context, help string) (out []string, _ error) {
	known := map[string]cli.Flag{}
	for _, f := range c.Command.Flags {
		for _, n := range f.Names() {
			known[n] = f
		}
	}
	words := c.Args().Slice()
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			return append(out, words[i+1:]...), nil
		}
		if len(word) < 2 || word[0] != '-' {
			out = append(out, word)
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		f, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("there is no flag %s; see %s --help", word, help)
		}
		if _, isBool := f.(*cli.BoolFlag); isBool && !given {
			value = "true"
		} else if !given {
			if i++; i == len(words) {
				return nil, fmt.Errorf("flag %s needs a value", word)
			}
			value = words[i]
		}
		if err := c.Set(f.Names()[0], value); err != nil {
			return nil, fmt.Errorf("flag %s: %w", word, err)
		}
	}
	return out, nil
}
