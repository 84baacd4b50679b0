package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// Input is an mssql_cdc input, as the YAML has it.
type Input struct {
	Label  string
	Path   string // where it is, such as input.broker.inputs.0
	Fields map[string]any
}

// Name is what people call it.
func (in *Input) Name() string {
	if in.Label != "" {
		return in.Label
	}
	return in.Path
}

// Pipeline is what is read of a pipeline's YAML.
type Pipeline struct {
	Inputs  []*Input
	Outputs []*Input         // mssql_bulk outputs
	Caches  []map[string]any // the cache resources
}

// documentSpec are the parts of a pipeline in which inputs and caches are.
var documentSpec = service.NewConfigSpec().Fields(
	service.NewAnyField("input").Optional(),
	service.NewAnyField("output").Optional(),
	service.NewAnyListField("output_resources").Optional(),
	service.NewAnyListField("input_resources").Optional(),
	service.NewAnyListField("cache_resources").Optional(),
)

// ErrNoInput is what Load returns, beside what it has read, for a pipeline without an mssql_cdc input.
var ErrNoInput = errors.New("it has no mssql_cdc input")

// Load reads a pipeline and files with resources. Environment variables are put in as run does it. Each input is given to parse,
// whose error is returned with the file and the place.
func Load(file string, resources []string, parse func(*Input) error) (*Pipeline, error) {
	files := []string{file}
	for _, pattern := range resources {
		found, err := filepath.Glob(pattern)
		if err == nil && len(found) == 0 {
			err = errors.New("there is no such file")
		}
		if err != nil {
			return nil, fmt.Errorf("reading resources %s: %w", pattern, err)
		}
		files = append(files, found...)
	}
	l := &loader{parse: parse}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("reading the pipeline: %w", err)
		}
		var unread error
		lookup := func(name string) (string, bool) {
			return LookupEnv(name, func(err error) { unread = errors.Join(unread, err) })
		}
		err = l.add(interpolate(string(text), lookup))
		if err = cmp.Or(unread, err); err != nil {
			return nil, fmt.Errorf("reading %s: %w", f, err)
		}
	}
	if len(l.Inputs) == 0 {
		return &l.Pipeline, fmt.Errorf("reading %s: %w", file, ErrNoInput)
	}
	return &l.Pipeline, nil
}

// loader is one Load.
type loader struct {
	Pipeline
	parse func(*Input) error
}

func (l *loader) add(text string) error {
	doc, err := documentSpec.ParseYAML(text, nil)
	if err != nil {
		return err
	}
	if doc.Contains("input") {
		v, err := doc.FieldAny("input")
		if err != nil {
			return err
		}
		if err := l.find("input", v); err != nil {
			return err
		}
	}
	if doc.Contains("output") {
		v, err := doc.FieldAny("output")
		if err != nil {
			return err
		}
		l.findOutputs("output", v)
	}
	list := func(name string, each func(path string, v any) error) error {
		if !doc.Contains(name) {
			return nil
		}
		items, err := doc.FieldAnyList(name)
		if err != nil {
			return err
		}
		for i, item := range items {
			v, err := item.FieldAny()
			if err != nil {
				return err
			}
			if err := each(name+"."+strconv.Itoa(i), v); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(
		list("input_resources", l.find),
		list("output_resources", func(path string, v any) error { l.findOutputs(path, v); return nil }),
		list("cache_resources", func(_ string, v any) error {
			if m, ok := v.(map[string]any); ok {
				l.Caches = append(l.Caches, m)
			}
			return nil
		}))
}

// find looks for inputs at any depth: below broker, sequence, read_until and others.
func (l *loader) find(path string, v any) error {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if err := l.find(path+"."+strconv.Itoa(i), item); err != nil {
				return err
			}
		}
	case map[string]any:
		if fields, ok := v["mssql_cdc"].(map[string]any); ok {
			label, _ := v["label"].(string)
			in := &Input{Label: label, Path: path, Fields: fields}
			if err := l.parse(in); err != nil {
				return fmt.Errorf("%s.mssql_cdc: %w", path, err)
			}
			l.Inputs = append(l.Inputs, in)
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k == "mssql_cdc" {
				continue
			}
			if err := l.find(path+"."+k, v[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// findOutputs looks for outputs at any depth.
func (l *loader) findOutputs(path string, v any) {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			l.findOutputs(path+"."+strconv.Itoa(i), item)
		}
	case map[string]any:
		if fields, ok := v["mssql_bulk"].(map[string]any); ok {
			label, _ := v["label"].(string)
			l.Outputs = append(l.Outputs, &Input{Label: label, Path: path, Fields: fields})
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k != "mssql_bulk" {
				l.findOutputs(path+"."+k, v[k])
			}
		}
	}
}

// Choose gives the numbers of the inputs that a label or an index picks; without either (index below 0) all of them. Several
// are given only where all can be used.
func (p *Pipeline) Choose(label string, index int, all bool) ([]int, error) {
	var chosen []int
	for i, in := range p.Inputs {
		if label != "" && in.Label == label || label == "" && (index < 0 || index == i) {
			chosen = append(chosen, i)
		}
	}
	if len(chosen) == 1 || all && len(chosen) > 1 {
		return chosen, nil
	}
	var names []string
	for i, in := range p.Inputs {
		label := "no label"
		if in.Label != "" {
			label = "label " + in.Label
		}
		names = append(names, fmt.Sprintf("%d: %s, at %s", i, label, in.Path))
	}
	return nil, fmt.Errorf("choose one mssql_cdc input with --label or --index: %s", strings.Join(names, "; "))
}
