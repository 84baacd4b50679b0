package kafka

import (
	"fmt"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kgo"
)

// clientLog passes what the client has to say to Benthos' log. What it calls information is for debugging here: it speaks of
// every rebalance and every connection.
type clientLog struct {
	log *service.Logger
}

func (clientLog) Level() kgo.LogLevel { return kgo.LogLevelWarn }

func (l clientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	var b strings.Builder
	b.WriteString("Kafka client: " + msg)
	for i := 0; i+1 < len(keyvals); i += 2 {
		fmt.Fprintf(&b, ", %v: %v", keyvals[i], keyvals[i+1])
	}
	if level == kgo.LogLevelError {
		l.log.Error(b.String())
	} else {
		l.log.Warn(b.String())
	}
}
