package kafka

import (
	"context"
	"fmt"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kgo"
)

// oldName is what the components were called before, with the same fields.
const oldName, name = "kafka_franz", "redpanda"

func init() {
	for _, n := range []string{name, oldName} {
		service.MustRegisterBatchInput(n, inputOf(n), func(conf *service.ParsedConfig, mgr *service.Resources) (service.BatchInput, error) {
			warn(n, mgr)
			in, err := newInput(conf, mgr)
			if err != nil {
				return nil, err // not in: an interface that holds a nil pointer is not nil
			}
			return in, nil
		})
		service.MustRegisterBatchOutput(n, outputOf(n), func(conf *service.ParsedConfig, mgr *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
			warn(n, mgr)
			out, policy, inFlight, err := newOutput(conf, mgr)
			if err != nil {
				return nil, policy, 0, err
			}
			return out, policy, inFlight, nil
		})
	}
}

func inputOf(n string) *service.ConfigSpec {
	// regexp_topics is of both, and for configurations that have it: the patterns are in topics then.
	spec := inputSpec().Field(service.NewBoolField(fieldRegexpTopics).
		Description("The older form of `regexp_topics_include`: if true, `topics` are patterns.").
		Default(false).
		Deprecated())
	if n == oldName {
		return spec.Deprecated()
	}
	return spec
}

func outputOf(n string) *service.ConfigSpec {
	if n == oldName {
		return outputSpec().Deprecated()
	}
	return outputSpec()
}

func warn(n string, mgr *service.Resources) {
	if n == oldName {
		mgr.Logger().Warnf("%s is deprecated: write %s instead; the fields are the same", oldName, name)
	}
}

// testConnection reaches a broker with a client of its own.
func testConnection(ctx context.Context, opts []kgo.Opt) service.ConnectionTestResults {
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return service.ConnectionTestFailed(err).AsList()
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		return service.ConnectionTestFailed(fmt.Errorf("connecting to Kafka: %w", err)).AsList()
	}
	return service.ConnectionTestSucceeded().AsList()
}
