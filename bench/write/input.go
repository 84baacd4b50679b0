package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// batchRows is the length of the record batches in the input.
const batchRows = 8192

// input is the Arrow IPC file of a scenario, made unless it is there.
func input(cache string, s *scenario, rows int) (string, error) {
	name := filepath.Join(cache, fmt.Sprintf("%s-%d.arrow", s.name, rows))
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	f, err := os.CreateTemp(cache, s.name)
	if err != nil {
		return "", err
	}
	err = errors.Join(write(f, s, rows), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("writing the input of %s: %w", s.name, err), os.Remove(f.Name()))
	}
	return name, nil
}

func write(f *os.File, s *scenario, rows int) error {
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(s.schema()))
	if err != nil {
		return err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, s.schema())
	defer b.Release()
	for from := 0; from < rows; from += batchRows {
		s.fill(b, from, min(from+batchRows, rows))
		rec := b.NewRecordBatch()
		err := w.Write(rec)
		rec.Release()
		if err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return w.Close()
}
