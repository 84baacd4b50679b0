package pipeline

import (
	"encoding/json"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// SourceFields are the fields of mssql_cdc that say which server it reads, and which tables; a test of package positions
// compares them with the input's.
func SourceFields() []*service.ConfigField {
	return []*service.ConfigField{
		service.NewStringField("connection_string"),
		service.NewStringListField("include").Default([]any{}),
		service.NewStringListField("exclude").Default([]any{}),
		service.NewTLSToggledField("tls"),
		service.NewStringField("signal_table").Default(""),
	}
}

// Source is the server that an input reads, and the patterns of its tables.
type Source struct {
	Session          session.Config
	Include, Exclude []string
	Signals          catalog.Name // the signal table; zero for none
}

// ParseFields reads the fields of an input by a spec.
func ParseFields(spec *service.ConfigSpec, in *Input) (*service.ParsedConfig, error) {
	text, err := json.Marshal(in.Fields)
	if err != nil {
		return nil, err
	}
	return spec.ParseYAML(string(text), nil)
}

// ParseSource reads SourceFields.
func ParseSource(conf *service.ParsedConfig) (src Source, err error) {
	if src.Session.ConnectionString, err = conf.FieldString("connection_string"); err != nil {
		return src, err
	}
	if src.Include, err = conf.FieldStringList("include"); err != nil {
		return src, err
	}
	if src.Exclude, err = conf.FieldStringList("exclude"); err != nil {
		return src, err
	}
	signals, err := conf.FieldString("signal_table")
	if err == nil && signals != "" {
		src.Signals, err = catalog.ParseName(signals)
	}
	if err != nil {
		return src, err
	}
	tls, on, err := conf.FieldTLSToggled("tls")
	if on {
		src.Session.TLSConfig = tls
	}
	return src, err
}
