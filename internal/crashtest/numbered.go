//go:build unix

package crashtest

import (
	"context"
	"encoding/json"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// numbered makes each message a row of the target, which says of which batch it is and how many rows that has.
type numbered struct{ run, batches int }

// row is a message in the target.
type row struct {
	Run   int `json:"run"`
	Batch int `json:"batch"`
	Size  int `json:"size"`
	Message
}

// ProcessBatch is of the processor.
func (n *numbered) ProcessBatch(_ context.Context, batch service.MessageBatch) ([]service.MessageBatch, error) {
	n.batches++
	for _, m := range batch {
		out, err := newMessage(m)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(row{Run: n.run, Batch: n.batches, Size: len(batch), Message: out})
		if err != nil {
			return nil, err
		}
		m.SetBytes(text)
	}
	return []service.MessageBatch{batch}, nil
}

// Close is of the processor.
func (n *numbered) Close(context.Context) error { return nil }
