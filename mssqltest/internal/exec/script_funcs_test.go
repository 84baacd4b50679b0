package exec

import "testing"

func TestFunctionsOfScripts(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"choose", "SELECT CHOOSE(2, 'a', 'b'), CHOOSE(3, 'a', 'b'), CHOOSE(1, 1, 2.5)", "b|NULL|1.0"},
		{"formatmessage", "SELECT FORMATMESSAGE('%s has %d', 'a', 5)", "a has 5"},
		{"difference", "SELECT DIFFERENCE('Green', 'Greene'), DIFFERENCE('Blotchet-Halls', 'Greene')", "4|0"},
		{"datetrunc", "SELECT DATETRUNC(month, CAST('2024-05-17 10:11:12' AS datetime2(0))), DATETRUNC(hour, CAST('2024-05-17 10:11:12.5' AS datetime2(1))), DATETRUNC(week, CAST('2024-05-17' AS date)), DATETRUNC(iso_week, CAST('2024-05-17' AS date)), DATETRUNC(quarter, CAST('2024-05-17' AS date))", "2024-05-01 00:00:00|2024-05-17 10:00:00.0|2024-05-12|2024-05-13|2024-04-01"},
	})
}
