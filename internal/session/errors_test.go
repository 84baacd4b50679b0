package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
)

func TestIsTransient(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"nil", nil, false},
		{"deadlock", mssql.Error{Number: 1205, Class: 13}, true},
		{"deadlock, wrapped twice", fmt.Errorf("a: %w", fmt.Errorf("b: %w", mssql.Error{Number: 1205})), true},
		{"lock timeout", mssql.Error{Number: 1222, Class: 16}, true},
		{"page lost under NOLOCK", mssql.Error{Number: 601}, true},
		{"azure failover", mssql.Error{Number: 40613}, true},
		{"deadlock inside of a CDC error", mssql.Error{Number: 22837, Message: "Could not delete… The failure occurred when executing the command 'x'. The error returned was 1205: 'Transaction (Process ID 55) was deadlocked…'."}, true},
		{"deadlock inside of another CDC error", mssql.Error{Number: 22933, Message: "The error returned was 1205: 'Transaction (Process ID 55) was deadlocked…'."}, true},
		{"database that cannot be opened is configuration", mssql.Error{Number: 4060, Class: 11}, false},
		{"other error inside of a CDC error", mssql.Error{Number: 22837, Message: "The error returned was 208: 'Invalid object name'."}, false},
		{"earlier message of the same reply", mssql.Error{Number: 3621, All: []mssql.Error{{Number: 1205}, {Number: 3621}}}, true},
		{"snapshot not allowed is configuration", mssql.Error{Number: 3952, Class: 16}, false},
		{"no such object", mssql.Error{Number: 208, Class: 16}, false},
		{"session ended", mssql.Error{Number: 596, Class: 21}, true},
		{"network", &net.OpError{Op: "read", Err: errors.New("reset")}, true},
		{"unexpected end", fmt.Errorf("x: %w", io.ErrUnexpectedEOF), true},
		{"socket deadline", os.ErrDeadlineExceeded, true},
		{"connection closed", ErrClosed, true},
		{"cancelled", fmt.Errorf("x: %w", context.Canceled), false},
		{"anything else", errors.New("x"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := IsTransient(tt.err); got != tt.want {
				t.Errorf("IsTransient(%v) = %v, want %v", tt.err, got, tt.want)
			}
			if tt.want && IsFatal(tt.err) {
				t.Errorf("IsFatal(%v) although it is transient", tt.err)
			}
		})
	}
	if !IsFatal(mssql.Error{Number: 208, Class: 16}) {
		t.Error("IsFatal(208) = false")
	}
}

// The numbers that pass, on both sides.
func TestEveryTransientNumber(t *testing.T) {
	want := []int32{
		64, 233, 601, 701, 976, 983, 1204, 1205, 1219, 1222, 3947, 3960, 3961, 8645, 9002, 10053, 10054, 10928, 10929,
		40197, 40501, 40613, 49918, 49919, 49920,
	}
	if got := slices.Sorted(maps.Keys(transient)); !slices.Equal(got, want) {
		t.Errorf("transient are %v, want %v", got, want)
	}
}

func TestArguments(t *testing.T) {
	for _, tt := range []struct {
		name, decl string
		values     int
		want       []string // nil = error
	}{
		{"none", "", 0, []string{}},
		{"one", "@a binary(10)", 1, []string{"a"}},
		{"commas inside of a type", "@a decimal(10,2), @b nvarchar(128) , @c int", 3, []string{"a", "b", "c"}},
		{"too few values", "@a int, @b int", 1, nil},
		{"too many values", "", 1, nil},
		{"no at-sign", "a int", 1, nil},
		{"no type", "@a", 1, nil},
		{"empty part", "@a int, ", 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := arguments("SELECT 1", tt.decl, make([]driver.Value, tt.values))
			if (err == nil) != (tt.want != nil) {
				t.Fatalf("arguments(%q, %d values): error %v, want one: %v", tt.decl, tt.values, err, tt.want == nil)
			}
			if err != nil {
				return
			}
			if got[0].Name != "stmt" || len(tt.want) > 0 && got[1].Name != "params" {
				t.Errorf("arguments(%q) begins with %v", tt.decl, got)
			}
			for i, name := range tt.want {
				if got[i+2].Name != name {
					t.Errorf("arguments(%q)[%d] is %s, want %s", tt.decl, i, got[i+2].Name, name)
				}
			}
		})
	}
}
