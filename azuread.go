//go:build azuread

package mssqlcdc

import (
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/azuread"

	"example.com/mssqlcdc/internal/session"
)

// With the build tag azuread a connection string may have fedauth, which logs in through Microsoft Entra ID. It is left out
// by default, because it brings the Azure SDK along; the binary cmd/mssqlcdc has it always.
func init() {
	session.OpenFedAuth = func(connectionString string) (*mssql.Connector, error) {
		return azuread.NewConnector(connectionString)
	}
}
