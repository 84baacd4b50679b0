package mssqlcdc

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// What stands in config/docker cannot be run here, but it can be read: files that it names exist, no secret has a default, the
// image has no root, and the pipeline is one that the linter takes.
func TestContainerFiles(t *testing.T) {
	const dir = "config/docker"
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	dockerfile := read("Dockerfile")
	for what, pattern := range map[string]string{
		"a user without rights":       `(?m)^USER [1-9]\d*:[1-9]\d*$`,
		"a static build":              `CGO_ENABLED=0 go build .*-tags timetzdata`,
		"an image of nothing":         `(?m)^FROM scratch$`,
		"certificates of authorities": `(?m)^COPY --from=build \S+/ca-certificates\.crt `,
		"the version":                 `-X main\.version=\$\{VERSION\}`,
	} {
		if !regexp.MustCompile(pattern).MatchString(dockerfile) {
			t.Errorf("the Dockerfile lacks %s", what)
		}
	}
	gomod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(gomod)
	if from := regexp.MustCompile(`(?m)^FROM golang:(\S+) `).FindStringSubmatch(dockerfile); version == nil || from == nil || from[1] != string(version[1]) {
		t.Errorf("the Dockerfile builds with %v, go.mod asks for %s", from, version)
	}

	text := read("compose.yaml")
	var compose struct {
		Services map[string]struct {
			Image       string
			Build       struct{ Context, Dockerfile string }
			Environment map[string]string
			Volumes     []string
			Ports       []string
			DependsOn   map[string]any `yaml:"depends_on"`
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal([]byte(text), &compose); err != nil {
		t.Fatal(err)
	}
	if len(compose.Services) < 3 {
		t.Fatalf("%d services", len(compose.Services))
	}
	for name, s := range compose.Services {
		if s.Image == "" && s.Build.Dockerfile == "" {
			t.Errorf("%s is of no image", name)
		}
		if s.Build.Dockerfile != "" {
			if _, err := os.Stat(filepath.Join(dir, s.Build.Context, s.Build.Dockerfile)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for other := range s.DependsOn {
			if _, ok := compose.Services[other]; !ok {
				t.Errorf("%s waits for %s, which does not exist", name, other)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, ok := compose.Volumes[from]; ok {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, from)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to others", name, p)
			}
		}
		for key, value := range s.Environment {
			if strings.Contains(strings.ToLower(key), "password") && !strings.HasPrefix(value, "${"+key+":?") {
				t.Errorf("%s: %s has a default", name, key)
			}
		}
	}
	for _, l := range lint(t, read("pipeline.yaml")) {
		t.Errorf("pipeline.yaml: %s", l)
	}
}
