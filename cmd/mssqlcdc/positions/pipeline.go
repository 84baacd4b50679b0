package positions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/stores"
)

const (
	defaultTable = "dbo.mssql_cdc_checkpoint"
	defaultKey   = "mssql_cdc"
)

// inputSpec are the fields of mssql_cdc that matter here, with their defaults; a test compares them with the input's.
var inputSpec = service.NewConfigSpec().Fields(
	service.NewStringField("connection_string"),
	service.NewStringListField("include").Default([]any{}),
	service.NewStringListField("exclude").Default([]any{}),
	service.NewStringField("start_from").Default("earliest"),
	service.NewBoolField("stream_snapshot").Default(false),
	service.NewStringAnnotatedEnumField("snapshot_mode", map[string]string{"none": "", "snapshot_and_stream": "", "snapshot_only": ""}).Optional(),
	service.NewStringField("checkpoint_cache").Default(""),
	service.NewStringField("checkpoint_cache_key").Default(defaultKey),
	service.NewStringField("checkpoint_file").Default(""),
	service.NewStringField("checkpoint_cache_table_name").Default(defaultTable),
	service.NewStringField("checkpoint_cache_connection_string").Default(""),
	service.NewTLSToggledField("tls"),
)

// input is an mssql_cdc input, or what flags say in its place.
type input struct {
	label, path string
	source      session.Config // without a connection string when only a file was named
	tables      *catalog.Matcher
	begin       string // where a table without a position begins
	store       stores.Config
	cache       string // label of the cache resource of the store, or ""
}

func (in *input) name() string {
	if in.label != "" {
		return in.label
	}
	return in.path
}

// pipeline is what is read of a pipeline's YAML. Components that this program does not have do not matter.
type pipeline struct {
	inputs []*input
	caches []map[string]any
}

// documentSpec are the parts of a pipeline in which inputs and caches are.
var documentSpec = service.NewConfigSpec().Fields(
	service.NewAnyField("input").Optional(),
	service.NewAnyListField("input_resources").Optional(),
	service.NewAnyListField("cache_resources").Optional(),
)

// loadPipeline reads a pipeline and files with resources. Environment variables are put in as run does it.
func loadPipeline(file string, resources []string) (*pipeline, error) {
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
	p := &pipeline{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("reading the pipeline: %w", err)
		}
		if err := p.add(interpolate(string(text), os.LookupEnv)); err != nil {
			return nil, fmt.Errorf("reading %s: %w", f, err)
		}
	}
	if len(p.inputs) == 0 {
		return nil, fmt.Errorf("reading %s: it has no mssql_cdc input", file)
	}
	return p, nil
}

func (p *pipeline) add(text string) error {
	doc, err := documentSpec.ParseYAML(text, nil)
	if err != nil {
		return err
	}
	if doc.Contains("input") {
		v, err := doc.FieldAny("input")
		if err != nil {
			return err
		}
		if err := p.find("input", v); err != nil {
			return err
		}
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
		list("input_resources", p.find),
		list("cache_resources", func(_ string, v any) error {
			if m, ok := v.(map[string]any); ok {
				p.caches = append(p.caches, m)
			}
			return nil
		}))
}

// find looks for inputs at any depth: below broker, sequence, read_until and others.
func (p *pipeline) find(path string, v any) error {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if err := p.find(path+"."+strconv.Itoa(i), item); err != nil {
				return err
			}
		}
	case map[string]any:
		if fields, ok := v["mssql_cdc"].(map[string]any); ok {
			label, _ := v["label"].(string)
			in, err := parseInput(label, path, fields)
			if err != nil {
				return fmt.Errorf("%s.mssql_cdc: %w", path, err)
			}
			p.inputs = append(p.inputs, in)
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k == "mssql_cdc" {
				continue
			}
			if err := p.find(path+"."+k, v[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

func parseInput(label, path string, fields map[string]any) (*input, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	conf, err := inputSpec.ParseYAML(string(text), nil)
	if err != nil {
		return nil, err
	}
	in := &input{label: label, path: path}
	var include, exclude []string
	var tlsOn bool
	read := func(name string, to *string) {
		if err == nil {
			*to, err = conf.FieldString(name)
		}
	}
	read("connection_string", &in.source.ConnectionString)
	read("start_from", &in.begin)
	in.begin = "begins at " + in.begin
	read("checkpoint_cache", &in.cache)
	read("checkpoint_cache_key", &in.store.Key)
	read("checkpoint_file", &in.store.File)
	read("checkpoint_cache_table_name", &in.store.Table)
	read("checkpoint_cache_connection_string", &in.store.Connection)
	snapshot := false
	if err == nil {
		snapshot, err = conf.FieldBool("stream_snapshot")
	}
	if conf.Contains("snapshot_mode") {
		mode := ""
		read("snapshot_mode", &mode)
		snapshot = mode != "none"
	}
	if snapshot {
		in.begin = "begins with its snapshot"
	}
	if err == nil {
		include, err = conf.FieldStringList("include")
	}
	if err == nil {
		exclude, err = conf.FieldStringList("exclude")
	}
	if err == nil {
		in.source.TLSConfig, tlsOn, err = conf.FieldTLSToggled("tls")
	}
	if err == nil {
		in.tables, err = catalog.NewMatcher(include, exclude)
	}
	if err != nil {
		return nil, err
	}
	if !tlsOn {
		in.source.TLSConfig = nil
	}
	in.finish()
	return in, in.source.Validate()
}

// finish makes the store's configuration reach the source's server.
func (in *input) finish() {
	in.source.AppName = "mssqlcdc positions"
	in.source.Dial = session.InProcess(in.source)
	in.store.Source = in.source
}

// choose gives the input that the flags name. Several are given only where all of them can be used.
func (c *call) choose(all bool) (*pipeline, []*input, error) {
	if c.IsSet("connection") || c.IsSet("file") {
		in := &input{
			path: "--connection", source: session.Config{ConnectionString: c.String("connection")}, begin: "begins where start_from says",
			store: stores.Config{Key: c.String("key"), File: c.String("file"), Table: c.String("table"), Connection: c.String("checkpoint-connection")},
		}
		var err error
		if in.tables, err = catalog.NewMatcher(nil, nil); err != nil {
			return nil, nil, err
		}
		in.finish()
		if c.IsSet("connection") {
			err = in.source.Validate()
		} else {
			in.path = "--file"
		}
		return &pipeline{inputs: []*input{in}}, []*input{in}, err
	}
	if len(c.args) == 0 {
		return nil, nil, errors.New("name a pipeline's YAML, or give --connection or --file")
	}
	p, err := loadPipeline(c.args[0], c.StringSlice("resources"))
	if err != nil {
		return nil, nil, err
	}
	c.args = c.args[1:]
	chosen := p.inputs
	switch label, index := c.String("label"), c.Int("index"); {
	case label != "":
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(in *input) bool { return in.label != label })
	case index >= len(chosen):
		chosen = nil
	case index >= 0:
		chosen = chosen[index : index+1]
	}
	if len(chosen) == 1 || all && len(chosen) > 1 {
		return p, chosen, nil
	}
	var names []string
	for i, in := range p.inputs {
		label := "no label"
		if in.label != "" {
			label = "label " + in.label
		}
		names = append(names, fmt.Sprintf("%d: %s, at %s", i, label, in.path))
	}
	return nil, nil, fmt.Errorf("choose one mssql_cdc input with --label or --index: %s", strings.Join(names, "; "))
}

// open opens the store of an input. done closes the cache resource, if there is one.
func (p *pipeline) open(in *input) (_ stores.Store, done func(context.Context) error, _ error) {
	done = func(context.Context) error { return nil }
	conf := in.store
	if in.cache != "" {
		cache, closeCache, err := p.cacheValue(in.cache, conf.Key)
		if err != nil {
			return nil, nil, err
		}
		conf.Cache, done = cache, closeCache
	}
	store, err := stores.Open(conf)
	if err != nil {
		return nil, nil, errors.Join(err, done(context.Background()))
	}
	return store, done, nil
}

// describe names the store of an input for people.
func (in *input) describe() string {
	conf := in.store
	if in.cache != "" {
		conf.Cache = &stores.Cache{Label: in.cache}
	}
	return conf.Describe()
}
