package catalog

import (
	"context"
	"strings"
	"testing"

	"github.com/sqlc-dev/teesql/parser"
)

// TestStatementsParse gives every statement to a T-SQL parser.
func TestStatementsParse(t *testing.T) {
	for name, text := range map[string]string{
		"database": sqlDatabase, "time zone": sqlTimeZone, "state": sqlWatermark + sqlInstancesAll,
		"instance": sqlInstancesOne + sqlCapturedColumns + sqlCaptureKey + sqlSourceKeys + sqlClusteredIndex + sqlHasCommandID,
		"range":    sqlMappingRange, "at or below": sqlMappingAtOrBelow, "window": sqlWindow, "time": sqlFirstAtTime,
		"ddl": sqlDDLSince, "rights": sqlMetadataRights, "table right": sqlTableRight, "insert right": sqlInsertRight, "jobs": sqlJobs,
		"agent": sqlAgent, "scan errors": sqlScanErrors, "scan": sqlScanLatency,
		"table": sqlTableColumns, "user tables": sqlUserTables, "source": sqlSourceTable + sqlSourcePolicies + sqlSourceIndexes,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parser.Parse(context.Background(), strings.NewReader(text)); err != nil {
				t.Errorf("parsing: %v\n%s", err, text)
			}
			if strings.Contains(strings.ToUpper(text), "NOLOCK") {
				t.Error("metadata is read dirty")
			}
		})
	}
}
