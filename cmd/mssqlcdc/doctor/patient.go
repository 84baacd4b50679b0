package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/urfave/cli/v2"

	"example.com/mssqlcdc/cmd/mssqlcdc/pipeline"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/diagnose"
	"example.com/mssqlcdc/internal/session"
)

// The fields of mssql_cdc and of mssql_bulk that matter here.
var (
	inputSpec  = service.NewConfigSpec().Fields(pipeline.SourceFields()...)
	outputSpec = service.NewConfigSpec().Fields(pipeline.SinkFields()...).Fields(
		service.NewStringField("mode").Default("insert"),
		service.NewStringListField("key_columns").Default([]any{}),
		service.NewBoolField("create_table").Default(false),
	)
)

// patient is what is examined: the source of an input, or what flags say in its place, or the target of an output.
type patient struct {
	name string
	pipeline.Source
	target *diagnose.TargetOptions // nil for a source
}

func (p *patient) examine(ctx context.Context) *diagnose.Report {
	if p.target != nil {
		p.target.Session = p.Session
		return diagnose.RunTarget(ctx, *p.target)
	}
	return diagnose.Run(ctx, diagnose.Options{Session: p.Session, Include: p.Include, Exclude: p.Exclude, Signals: p.Signals})
}

// choose gives the sources that the command line names.
func choose(c *cli.Context, args []string) ([]*patient, error) {
	if c.IsSet("connection") {
		if len(args) > 0 || c.IsSet("label") || c.IsSet("index") || c.IsSet("resources") {
			return nil, errors.New("--connection takes the place of a pipeline: give one of them")
		}
		p := &patient{name: "--connection", Source: pipeline.Source{
			Session: session.Config{ConnectionString: c.String("connection")},
			Include: c.StringSlice("include"), Exclude: c.StringSlice("exclude"),
		}}
		return []*patient{p}, p.finish()
	}
	switch {
	case len(args) == 0:
		return nil, errors.New("name a pipeline's YAML, or give --connection")
	case len(args) > 1:
		return nil, fmt.Errorf("one pipeline is examined at a time, and %d were given", len(args))
	case c.IsSet("include") || c.IsSet("exclude"):
		return nil, errors.New("--include and --exclude go with --connection; a pipeline says its tables itself")
	}
	var all []*patient
	doc, err := pipeline.Load(args[0], c.StringSlice("resources"), func(in *pipeline.Input) error {
		conf, err := pipeline.ParseFields(inputSpec, in)
		if err != nil {
			return err
		}
		p := &patient{name: in.Name()}
		if p.Source, err = pipeline.ParseSource(conf); err != nil {
			return err
		}
		all = append(all, p)
		return p.finish()
	})
	one := c.IsSet("label") || c.IsSet("index")
	if err != nil && (one || !errors.Is(err, pipeline.ErrNoInput) || len(doc.Outputs) == 0) {
		return nil, err
	}
	var targets []*patient
	if !one {
		for _, out := range doc.Outputs {
			p, err := target(out)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %s.mssql_bulk: %w", args[0], out.Path, err)
			}
			targets = append(targets, p)
		}
	}
	if err != nil {
		return targets, nil
	}
	numbers, err := doc.Choose(c.String("label"), c.Int("index"), true)
	if err != nil {
		return nil, err
	}
	var chosen []*patient
	for _, n := range numbers {
		chosen = append(chosen, all[n])
	}
	return append(chosen, targets...), nil
}

// target is the target of an output.
func target(out *pipeline.Input) (*patient, error) {
	conf, err := pipeline.ParseFields(outputSpec, out)
	if err != nil {
		return nil, err
	}
	sink, err := pipeline.ParseSink(conf)
	if err != nil {
		return nil, err
	}
	mode, err := conf.FieldString("mode")
	if err == nil && mode != "insert" && mode != "upsert" && mode != "apply" {
		err = fmt.Errorf("mode must be insert, upsert or apply, and is %q", mode)
	}
	if err != nil {
		return nil, err
	}
	p := &patient{name: out.Name(), Source: pipeline.Source{Session: sink.Session},
		target: &diagnose.TargetOptions{Table: sink.Table, Keyed: mode != "insert", Apply: mode == "apply"}}
	if p.target.KeyColumns, err = conf.FieldStringList("key_columns"); err != nil {
		return nil, err
	}
	if p.target.Create, err = conf.FieldBool("create_table"); err != nil {
		return nil, err
	}
	return p, p.finish()
}

// finish completes the configuration and says what is wrong with it, before anything is asked.
func (p *patient) finish() error {
	p.Session.AppName = "mssqlcdc doctor"
	p.Session.Dial = session.InProcess(p.Session)
	if _, err := catalog.NewMatcher(p.Include, p.Exclude); err != nil {
		return err
	}
	return p.Session.Validate()
}
