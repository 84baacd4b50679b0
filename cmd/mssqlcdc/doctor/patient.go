package doctor

import (
	"errors"
	"fmt"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/urfave/cli/v2"

	"example.com/mssqlcdc/cmd/mssqlcdc/pipeline"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// inputSpec are the fields of mssql_cdc that matter here.
var inputSpec = service.NewConfigSpec().Fields(pipeline.SourceFields()...)

// patient is what is examined: the source of an input, or what flags say in its place.
type patient struct {
	name string
	pipeline.Source
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
	if err != nil {
		return nil, err
	}
	numbers, err := doc.Choose(c.String("label"), c.Int("index"), true)
	if err != nil {
		return nil, err
	}
	var chosen []*patient
	for _, n := range numbers {
		chosen = append(chosen, all[n])
	}
	return chosen, nil
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
