package positions

import (
	"context"
	"errors"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/cmd/mssqlcdc/pipeline"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/stores"
)

const (
	defaultTable = "dbo.mssql_cdc_checkpoint"
	defaultKey   = "mssql_cdc"
)

// inputSpec are the fields of mssql_cdc that matter here, with their defaults; a test compares them with the input's.
var inputSpec = service.NewConfigSpec().Fields(pipeline.SourceFields()...).Fields(
	service.NewStringField("start_from").Default("earliest"),
	service.NewBoolField("stream_snapshot").Default(false),
	service.NewStringAnnotatedEnumField("snapshot_mode", map[string]string{"none": "", "snapshot_and_stream": "", "snapshot_only": ""}).Optional(),
	service.NewStringField("checkpoint_cache").Default(""),
	service.NewStringField("checkpoint_cache_key").Default(defaultKey),
	service.NewStringField("checkpoint_file").Default(""),
	service.NewStringField("checkpoint_cache_table_name").Default(defaultTable),
	service.NewStringField("checkpoint_cache_connection_string").Default(""),
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

// document is a pipeline's YAML, or what flags say in its place.
type document struct {
	*pipeline.Pipeline
	inputs []*input // of the pipeline's inputs, in their order
}

// loadPipeline reads a pipeline and files with resources.
func loadPipeline(file string, resources []string) (_ *document, err error) {
	d := &document{}
	d.Pipeline, err = pipeline.Load(file, resources, func(found *pipeline.Input) error {
		in, err := parseInput(found)
		d.inputs = append(d.inputs, in)
		return err
	})
	return d, err
}

func parseInput(found *pipeline.Input) (*input, error) {
	conf, err := pipeline.ParseFields(inputSpec, found)
	if err != nil {
		return nil, err
	}
	in := &input{label: found.Label, path: found.Path}
	src, err := pipeline.ParseSource(conf)
	in.source = src.Session
	read := func(name string, to *string) {
		if err == nil {
			*to, err = conf.FieldString(name)
		}
	}
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
		in.tables, err = catalog.NewMatcher(src.Include, src.Exclude)
	}
	if err != nil {
		return nil, err
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
func (c *call) choose(all bool) (*document, []*input, error) {
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
		return &document{Pipeline: &pipeline.Pipeline{}, inputs: []*input{in}}, []*input{in}, err
	}
	if len(c.args) == 0 {
		return nil, nil, errors.New("name a pipeline's YAML, or give --connection or --file")
	}
	p, err := loadPipeline(c.args[0], c.StringSlice("resources"))
	if err != nil {
		return nil, nil, err
	}
	c.args = c.args[1:]
	numbers, err := p.Choose(c.String("label"), c.Int("index"), all)
	if err != nil {
		return nil, nil, err
	}
	var chosen []*input
	for _, n := range numbers {
		chosen = append(chosen, p.inputs[n])
	}
	return p, chosen, nil
}

// open opens the store of an input. done closes the cache resource, if there is one.
func (p *document) open(in *input) (_ stores.Store, done func(context.Context) error, _ error) {
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
