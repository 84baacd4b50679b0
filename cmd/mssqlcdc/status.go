package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"strings"
)

// statusPage shows the metrics of our components to a person. It is one file without anything from elsewhere, and reads /metrics
// itself.
//
//go:embed status.html
var statusPage string

// statusPolicy lets the page run its own script and talk to its own server, and nothing else.
var statusPolicy = func() string {
	_, script, _ := strings.Cut(statusPage, "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// orStatusPage answers a browser that asks for /stats with the page. Everything else gets the metrics: a plugin of Benthos cannot add
// paths to its HTTP server, but an exporter answers at both /metrics and /stats, and scrapers do not ask for HTML.
func orStatusPage(metrics http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/stats") || !strings.Contains(r.Header.Get("Accept"), "text/html") {
			metrics.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", statusPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(statusPage)) // the browser has gone away
	}
}
