package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/urfave/cli/v2"

	"example.com/mssqlcdc/cmd/mssqlcdc/pipeline"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/verify"
)

var (
	inputSpec  = service.NewConfigSpec().Fields(pipeline.SourceFields()...)
	outputSpec = service.NewConfigSpec().Fields(pipeline.SinkFields()...)
)

// wanted is what the flags and the pipeline say.
type wanted struct {
	verify.Config
	include, exclude []string
	captured         bool          // only captured tables
	into             *catalog.Name // the output's one table
	named            []verify.Pair
	renamed          map[string]catalog.Name
}

func configure(ctx context.Context, c *cli.Context, args []string) (*verify.Config, error) {
	w := &wanted{include: c.StringSlice("include"), exclude: c.StringSlice("exclude"), renamed: map[string]catalog.Name{}}
	w.Columns, w.Skip, w.Lossy = c.StringSlice("column"), c.StringSlice("skip-column"), c.Bool("lossy")
	w.Chunk, w.Pause, w.Settle = c.Int("chunk"), c.Duration("pause"), c.Duration("settle")
	w.List, w.State = c.Int("list"), c.String("state")
	if c.String("source") == "" {
		if len(args) == 0 {
			return nil, errors.New("give a pipeline, or --source and --target")
		}
		if err := w.fromPipeline(c, args[0]); err != nil {
			return nil, err
		}
		args = args[1:]
	} else {
		w.Source.ConnectionString = c.String("source")
	}
	if dsn := c.String("target"); dsn != "" {
		w.Target, w.into = session.Config{ConnectionString: dsn}, nil
	}
	if w.Target.ConnectionString == "" {
		return nil, errors.New("give --target, the connection string of the target")
	}
	for _, s := range []*session.Config{&w.Source, &w.Target} {
		s.AppName, s.LockTimeout = "mssqlcdc verify", c.Duration("lock-timeout")
		s.Dial = session.InProcess(*s)
		if err := s.Validate(); err != nil {
			return nil, err
		}
	}
	if err := w.names(c.StringSlice("map"), args); err != nil {
		return nil, err
	}
	return &w.Config, w.choose(ctx)
}

// fromPipeline takes the servers of an input and an output.
func (w *wanted) fromPipeline(c *cli.Context, file string) error {
	var sources []pipeline.Source
	doc, err := pipeline.Load(file, c.StringSlice("resources"), func(in *pipeline.Input) error {
		conf, err := pipeline.ParseFields(inputSpec, in)
		if err != nil {
			return err
		}
		src, err := pipeline.ParseSource(conf)
		sources = append(sources, src)
		return err
	})
	if err != nil {
		return err
	}
	chosen, err := doc.Choose(c.String("label"), c.Int("index"), false)
	if err != nil {
		return err
	}
	src := sources[chosen[0]]
	w.Source, w.captured = src.Session, true
	w.include, w.exclude = append(src.Include, w.include...), append(src.Exclude, w.exclude...)
	if c.String("target") != "" {
		return nil
	}
	var outputs []*pipeline.Input
	for _, o := range doc.Outputs {
		if label := c.String("output"); label == "" || o.Label == label {
			outputs = append(outputs, o)
		}
	}
	if len(outputs) != 1 {
		return fmt.Errorf("the pipeline has %d mssql_bulk outputs to choose from; name one by --output, or give --target", len(outputs))
	}
	return w.fromOutput(outputs[0])
}

func (w *wanted) fromOutput(out *pipeline.Input) error {
	conf, err := pipeline.ParseFields(outputSpec, out)
	if err != nil {
		return fmt.Errorf("%s.mssql_bulk: %w", out.Path, err)
	}
	sink, err := pipeline.ParseSink(conf)
	if err != nil {
		return err
	}
	w.Target.ConnectionString, w.Target.TLSConfig = sink.Session.ConnectionString, sink.Session.TLSConfig
	if sink.Table.Object != "" {
		w.into = &sink.Table
	}
	return nil
}

// names reads the tables of the arguments and of --map.
func (w *wanted) names(renamed, args []string) error {
	for _, text := range renamed {
		p, err := parsePair(text)
		if err != nil {
			return fmt.Errorf("--map %s: %w", text, err)
		}
		if p.Source == p.Target {
			return fmt.Errorf("--map %s: write it as source=target", text)
		}
		w.renamed[p.Source.String()] = p.Target
	}
	for _, text := range args {
		p, err := parsePair(text)
		if err != nil {
			return err
		}
		if strings.Contains(text, "=") {
			w.renamed[p.Source.String()] = p.Target
		}
		w.named = append(w.named, p)
	}
	return nil
}

func parsePair(text string) (p verify.Pair, err error) {
	from, to, found := strings.Cut(text, "=")
	if p.Source, err = catalog.ParseName(from); err != nil {
		return p, err
	}
	p.Target = p.Source
	if found {
		p.Target, err = catalog.ParseName(to)
	}
	return p, err
}

// choose asks the source which tables there are, unless they were named.
func (w *wanted) choose(ctx context.Context) error {
	if len(w.named) == 0 {
		if err := w.ask(ctx); err != nil {
			return err
		}
	}
	for _, p := range w.named {
		if to, ok := w.renamed[p.Source.String()]; ok {
			p.Target = to
		} else if w.into != nil {
			p.Target = *w.into
		}
		delete(w.renamed, p.Source.String())
		w.Tables = append(w.Tables, p)
	}
	for name := range w.renamed {
		return fmt.Errorf("--map names table %s, which is not compared", name)
	}
	if w.into != nil && len(w.Tables) > 1 {
		return fmt.Errorf("the output writes every table into %s: name the one to compare with it", w.into)
	}
	return nil
}

func (w *wanted) ask(ctx context.Context) error {
	m, err := catalog.NewMatcher(w.include, w.exclude)
	if err != nil {
		return err
	}
	conn, err := session.Open(ctx, w.Source)
	if err != nil {
		return err
	}
	all, err := catalog.UserTables(ctx, conn)
	if err = errors.Join(err, conn.Close()); err != nil {
		return err
	}
	for _, t := range all {
		if m.Match(t.Name) && (t.Captured || !w.captured) {
			w.named = append(w.named, verify.Pair{Source: t.Name, Target: t.Name})
		}
	}
	if len(w.named) == 0 {
		return errors.New("the source has no table that is chosen, or the login may not see it")
	}
	return nil
}
