// Command connect-build is a Benthos with mssql_cdc and mssql_bulk in it, built as a user of the plugin would: from a module of its own.
// A main of Redpanda Connect needs the same import.
package main

import (
	"context"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure/extended"

	_ "example.com/mssqlcdc"
)

func main() { service.RunCLI(context.Background()) }
