package mssqlcdc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// cdcMessage is what a message held when it came.
type cdcMessage struct {
	body string
	null bool // without a body, as a tombstone is
	meta map[string]any
}

func newCDCMessages(t *testing.T, batch service.MessageBatch) []*cdcMessage {
	t.Helper()
	out := make([]*cdcMessage, len(batch))
	for i, m := range batch {
		body, err := m.AsBytes()
		if err != nil {
			t.Fatal(err)
		}
		out[i] = &cdcMessage{body: string(body), null: body == nil, meta: map[string]any{}}
		if err := m.MetaWalkMut(func(k string, v any) error {
			out[i].meta[k] = v
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (m *cdcMessage) String() string {
	return fmt.Sprintf("%v %v.%v %s", m.meta["operation"], m.meta["database_schema"], m.meta["table"], m.body)
}

// text is a metadata value that is a string; "" for none.
func (m *cdcMessage) text(key string) string {
	s, _ := m.meta[key].(string)
	return s
}

func (m *cdcMessage) has(key string) bool {
	_, ok := m.meta[key]
	return ok
}

// keys are the names of the metadata, sorted.
func (m *cdcMessage) keys() string {
	return strings.Join(slices.Sorted(maps.Keys(m.meta)), " ")
}

// want compares the operation and the body.
func (m *cdcMessage) want(t *testing.T, operation, body string) {
	t.Helper()
	if m.text("operation") != operation || m.body != body {
		t.Errorf("got %v %s, want %s %s", m.meta["operation"], m.body, operation, body)
	}
}

// spoil changes everything of a message that a processor may change.
func spoil(t *testing.T, m *service.Message, i int) {
	t.Helper()
	body, err := m.AsBytes()
	if err != nil {
		t.Fatal(err)
	}
	_ = append(body, "spoilt"...) // a body has no room behind it that is another's
	root, err := m.AsStructuredMut()
	if err != nil {
		t.Fatal(err)
	}
	root.(map[string]any)["v"] = "spoilt"
	if err := m.MetaWalkMut(func(key string, _ any) error {
		v, _ := m.MetaGetMut(key)
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = "spoilt"
			}
		case []any:
			for k := range v {
				v[k] = "spoilt"
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	m.MetaSetMut("operation", "spoilt")
	m.MetaDelete("lsn")
	m.MetaSetMut(fmt.Sprint("more", i), i)
}
