package exec

import (
	"context"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// BulkColumn is one column of an INSERT BULK statement: the type that the client declared and the column it fills.
type BulkColumn struct {
	Name     string
	Declared value.Type
	Target   value.Type
	Nullable bool
}
