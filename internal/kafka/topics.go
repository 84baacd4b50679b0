package kafka

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// topicSet is what to read: whole topics, or partitions of topics from a place.
type topicSet struct {
	topics     []string
	partitions map[string]map[int32]kgo.Offset
}

// parseTopics reads items of the forms topic, topic:partition, topic:first-last and, with an offset, topic:partition:offset.
func parseTopics(items []string, start kgo.Offset) (topicSet, error) {
	s := topicSet{partitions: map[string]map[int32]kgo.Offset{}}
	var errs []error
	for _, item := range split(items) {
		if !strings.Contains(item, ":") {
			s.topics = append(s.topics, item)
			continue
		}
		if err := s.explicit(item, start); err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", item, err))
		}
	}
	if len(s.topics) > 0 && len(s.partitions) > 0 {
		errs = append(errs, errors.New("whole topics and single partitions cannot be mixed: name the partitions of all topics, or of none"))
	}
	return s, errors.Join(errs...)
}

func (s *topicSet) explicit(item string, start kgo.Offset) error {
	parts := strings.Split(item, ":")
	if len(parts) > 3 || parts[0] == "" {
		return errors.New("want topic:partition or topic:partition:offset")
	}
	first, last, err := partitionRange(parts[1])
	if err != nil {
		return err
	}
	if len(parts) == 3 {
		n, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is no offset", parts[2])
		}
		start = kgo.NewOffset().At(n)
	}
	if s.partitions[parts[0]] == nil {
		s.partitions[parts[0]] = map[int32]kgo.Offset{}
	}
	for p := first; p <= last; p++ {
		s.partitions[parts[0]][p] = start
	}
	return nil
}

// mostPartitions bounds a range, so that a slip does not ask for thousands of millions.
const mostPartitions = 100_000

func partitionRange(text string) (first, last int32, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	a, errA := strconv.ParseInt(from, 10, 32)
	b, errB := strconv.ParseInt(to, 10, 32)
	if errA != nil || errB != nil || a < 0 || b < a || b-a >= mostPartitions {
		return 0, 0, fmt.Errorf("%q is no partition, and no range of them", text)
	}
	return int32(a), int32(b), nil
}
