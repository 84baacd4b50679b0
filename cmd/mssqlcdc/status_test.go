package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A browser that asks for /stats gets the page; whoever asks for /metrics, and a scraper at either, gets the metrics.
func TestStatusPageIsForBrowsers(t *testing.T) {
	p, _, err := exporter(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	p.NewCounterCtor("mssql_cdc_polls")().Incr(3)
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	const scraper = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	for _, tc := range []struct {
		path, accept string
		page         bool
	}{
		{"/stats", browser, true},
		{"/stream/stats", browser, true}, // streams mode, or a root path
		{"/metrics", browser, false},
		{"/stats", scraper, false},
		{"/stats", "", false},
		{"/metrics", scraper, false},
	} {
		r := httptest.NewRequest(http.MethodGet, tc.path, nil)
		r.Header.Set("Accept", tc.accept)
		w := httptest.NewRecorder()
		p.HandlerFunc()(w, r)
		body := w.Body.String()
		if page := strings.HasPrefix(body, "<!doctype html>"); page != tc.page || !page && !strings.Contains(body, "mssql_cdc_polls 3") {
			t.Errorf("%s for %q: %s", tc.path, tc.accept, body)
		}
		if policy := w.Header().Get("Content-Security-Policy"); (policy != "") != tc.page {
			t.Errorf("%s for %q: policy %q", tc.path, tc.accept, policy)
		}
	}
}

// The page asks nobody else for anything, has one script, and never makes HTML of what a server says.
func TestStatusPageIsAlone(t *testing.T) {
	if n := strings.Count(statusPage, "<script"); n != 1 || !strings.Contains(statusPolicy, "'sha256-") {
		t.Errorf("%d scripts, policy %s", n, statusPolicy)
	}
	if m := regexp.MustCompile(`https?://|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(| on[a-z]+=`).FindString(statusPage); m != "" {
		t.Errorf("the page has %q", m)
	}
}

// What a person sees, with a browser: tables, their states and what was read.
func TestStatusPageInABrowser(t *testing.T) {
	var browser string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("there is no Chromium")
	}
	endpoints, stop := runShop(t)
	web := httptest.NewServer(endpoints)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+t.TempDir(),
		"--virtual-time-budget=5000", "--dump-dom", web.URL+"/stats").Output()
	web.Close()
	stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h2>mssql_cdc shop</h2>", "<td>dbo.t1</td><td class=\"good\">streaming</td>", "<td>dbo.t2</td>"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}
