package session

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/microsoft/go-mssqldb/msdsn"
)

// secretsOf lists the values of a connection string that no error may show,
// also in the form that a URL gives them.
func secretsOf(cfg msdsn.Config) []string {
	var out []string
	for key, value := range cfg.Parameters {
		switch {
		case len(value) < 2:
			continue
		case strings.Contains(key, "password"), strings.Contains(key, "secret"), strings.Contains(key, "token"), key == "pwd":
			out = append(out, value)
			if escaped := url.QueryEscape(value); escaped != value {
				out = append(out, escaped)
			}
			if escaped := url.PathEscape(value); escaped != value {
				out = append(out, escaped)
			}
		}
	}
	return out
}

func redact(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	return text
}

// shown is an error as others may see it, that still unwraps to what it was.
type shown struct {
	text string
	err  error
}

func (s *shown) Error() string { return s.text }
func (s *shown) Unwrap() error { return s.err }

// show cleans the text of an error of secrets, and adds the server's error number, which the driver leaves out: it is what one
// looks for.
func show(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	clean := redact(text, secrets)
	if n, ok := Number(err); ok && n != 0 && !strings.Contains(text, strconv.Itoa(int(n))) {
		clean += fmt.Sprintf(" (error %d)", n)
	}
	if clean != text {
		return &shown{text: clean, err: err}
	}
	return err
}
