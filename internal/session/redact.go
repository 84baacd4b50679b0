package session

import (
	"net/url"
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

// redacted is an error whose text is cleaned of secrets, and that still unwraps
// to what it was.
type redacted struct {
	text string
	err  error
}

func (r *redacted) Error() string { return r.text }
func (r *redacted) Unwrap() error { return r.err }

func redactError(err error, secrets []string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := redact(text, secrets); clean != text {
		return &redacted{text: clean, err: err}
	}
	return err
}
