package kafka

import (
	"context"
	"fmt"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const (
	fieldSASL           = "sasl"
	fieldSASLMechanism  = "mechanism"
	fieldSASLUsername   = "username"
	fieldSASLPassword   = "password"
	fieldSASLToken      = "token"
	fieldSASLExtensions = "extensions"
)

func saslField() *service.ConfigField {
	return service.NewObjectListField(fieldSASL,
		service.NewStringAnnotatedEnumField(fieldSASLMechanism, map[string]string{
			"none":          "No authentication.",
			"PLAIN":         "User name and password as they are; use it with TLS.",
			"SCRAM-SHA-256": "User name and password, proven by a challenge (RFC 7677).",
			"SCRAM-SHA-512": "The same with SHA-512.",
			"OAUTHBEARER":   "A bearer token (RFC 7628), as it is given in `token`.",
		}).Description("The mechanism."),
		service.NewStringField(fieldSASLUsername).Description("User name, for PLAIN and SCRAM.").Default(""),
		service.NewStringField(fieldSASLPassword).Description("Password, for PLAIN and SCRAM.").Default("").Secret(),
		service.NewStringField(fieldSASLToken).Description("Token, for OAUTHBEARER. It is not renewed.").Default("").Secret(),
		service.NewStringMapField(fieldSASLExtensions).Description("Keys and values that go with the token, for OAUTHBEARER.").Optional(),
	).
		Description("How to log in: the first mechanism of the list that the broker has.").
		Example([]any{map[string]any{"mechanism": "SCRAM-SHA-512", "username": "shop", "password": "${KAFKA_PASSWORD}"}}).
		Optional().
		Advanced()
}

func parseSASL(conf *service.ParsedConfig) ([]sasl.Mechanism, error) {
	if !conf.Contains(fieldSASL) {
		return nil, nil
	}
	list, err := conf.FieldObjectList(fieldSASL)
	if err != nil {
		return nil, err
	}
	var out []sasl.Mechanism
	for i, c := range list {
		m, err := parseMechanism(c)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		if m != nil {
			out = append(out, m)
		}
	}
	return out, nil
}

func parseMechanism(conf *service.ParsedConfig) (sasl.Mechanism, error) {
	p := &parser{conf: conf}
	name, user, password, token := p.text(fieldSASLMechanism), p.text(fieldSASLUsername), p.text(fieldSASLPassword), p.text(fieldSASLToken)
	var extensions map[string]string
	if conf.Contains(fieldSASLExtensions) {
		extensions = field(p, conf.FieldStringMap, fieldSASLExtensions)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	switch name {
	case "none":
		return nil, nil
	case "OAUTHBEARER":
		if token == "" {
			return nil, fmt.Errorf("%s needs a %s", name, fieldSASLToken)
		}
		return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
			return oauth.Auth{Token: token, Extensions: extensions}, nil
		}), nil
	}
	if user == "" {
		return nil, fmt.Errorf("%s needs a %s", name, fieldSASLUsername)
	}
	switch name {
	case "PLAIN":
		return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	default:
		return nil, fmt.Errorf("there is no mechanism %q", name)
	}
}
