package mssqltest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// TestScripts runs scripts in the manner of the sample databases that everybody knows, twice each, and looks at what they made.
func TestScripts(t *testing.T) {
	for name, checks := range map[string][][2]string{
		"traders": {
			{`SELECT OrderID, Total FROM Traders.dbo."Order Totals" ORDER BY 1`, "100 226.5000;101 23.2500"},
			{"USE Traders; EXEC SalesOfYear '1996'", "Haas 227.00"},
			{`USE Traders; EXEC "Ten Dearest"`, "Ikura 31.0000;Tofu 23.2500"},
			{"SELECT is_not_trusted, is_disabled FROM Traders.sys.foreign_keys WHERE name = 'FK_Clerks_Clerks'", "1 0"},
			{"SELECT COUNT(*) FROM Traders.INFORMATION_SCHEMA.COLUMNS WHERE DATA_TYPE IN ('image', 'ntext')", "2"},
		},
		"press": {
			{"USE press; SELECT * FROM writerview", "Bennet 415 658-9932"},
			{"USE press; EXEC bylevel 89", "PSA89086M"},
			{"USE press; BEGIN TRY INSERT staff VALUES ('PTC11962M', 2, 215, '11/11/89') END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH", "The level for job_id:2 should be between 25 and 100."},
			{"SELECT COUNT(*) FROM press..staff", "2"},
		},
		"works": {
			{"SELECT FullName, Total, Place FROM Works.Sales.vTop WHERE Total IS NOT NULL ORDER BY Place", "Bo 90.000000 1;Ann 35.000000 2"},
			{"USE Works; EXEC uspCopyAll", "1 2;2 1;3 0"},
			{"SELECT AccountNumber FROM Works.Sales.Customer WHERE CustomerID = 2", "AW00000002"},
			{"USE Works; UPDATE Sales.Customer SET FullName = N'Bea' WHERE CustomerID = 2; SELECT YEAR(ModifiedDate) FROM Sales.Customer WHERE CustomerID = 2", "2030"},
			{"SELECT ErrorNumber, UserName FROM Works.dbo.ErrorLog", "547 dbo"},
			{"USE Works; SELECT dbo.ufnLeadingZeros(42)", "00000042"},
			{"USE Works; DELETE Sales.Customer WHERE CustomerID = 1; SELECT COUNT(*) FROM Sales.OrderLine", "1"},
		},
		"wholesale": {
			{"USE Wholesale; SELECT Warehouse.ItemsJson()", `{"items":[{"id":1,"item":{"name":"mug","price":10.00},"tags":["red","small"]},{"id":2,"item":{"name":"box","price":1.00}},{"id":3,"item":{"name":"cup","price":3.25},"tags":["blue"]}]}`},
			{"SELECT FirstTag FROM Wholesale.dbo.Stock WHERE ItemName = N'MUG'", "red"},
			{"SELECT two FROM Wholesale.Warehouse.Sums ORDER BY n", "1;3;5;7;9"},
			{"USE Wholesale; BEGIN TRY EXEC Warehouse.LoadItems N'x' END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", "51000"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "scripts", name+".sql"))
			if err != nil {
				t.Fatal(err)
			}
			s := mssqltest.Start(t, mssqltest.Config{})
			for range 2 {
				if err := s.Exec(string(text)); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range checks {
				rows, err := s.Query(c[0])
				if err != nil {
					t.Errorf("%s: %v", c[0], err)
					continue
				}
				lines := make([]string, len(rows))
				for i, r := range rows {
					lines[i] = strings.Join(r, " ")
				}
				if got := strings.Join(lines, ";"); got != c[1] {
					t.Errorf("%s\n got %s\nwant %s", c[0], got, c[1])
				}
			}
		})
	}
}
