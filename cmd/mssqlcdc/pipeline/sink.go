package pipeline

import (
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// SinkFields are the fields of mssql_bulk that say which server it writes to, and which table.
func SinkFields() []*service.ConfigField {
	return []*service.ConfigField{
		service.NewStringField("connection_string"),
		service.NewStringField("table").Default(""),
		service.NewTLSToggledField("tls"),
	}
}

// Sink is the server that an output writes to, and its table; zero where messages name it.
type Sink struct {
	Session session.Config
	Table   catalog.Name
}

// ParseSink reads SinkFields.
func ParseSink(conf *service.ParsedConfig) (sink Sink, err error) {
	if sink.Session.ConnectionString, err = conf.FieldString("connection_string"); err != nil {
		return sink, err
	}
	tls, on, err := conf.FieldTLSToggled("tls")
	if err != nil {
		return sink, err
	}
	if on {
		sink.Session.TLSConfig = tls
	}
	name, err := conf.FieldString("table")
	if err != nil || name == "" || strings.Contains(name, "${!") {
		return sink, err
	}
	sink.Table, err = catalog.ParseName(name)
	return sink, err
}
