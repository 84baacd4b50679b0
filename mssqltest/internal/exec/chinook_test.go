package exec

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestChinook loads the public Chinook script unchanged, as a client would: split at its GO lines.
func TestChinook(t *testing.T) {
	var text []byte
	for _, p := range []string{"../../../../shared/data/chinook.sql", "../../../data/chinook.sql"} {
		if b, err := os.ReadFile(filepath.FromSlash(p)); err == nil {
			text = b
			break
		}
	}
	if text == nil {
		t.Skip("the Chinook script is not there")
	}
	in := newInstance(t)
	in.Registry.AddView(testSysdatabases())
	s := open(t, in, SessionOptions{Database: "master"})
	for round := range 2 {
		for _, b := range regexp.MustCompile(`(?im)^\s*GO\s*$`).Split(string(text), -1) {
			sink := &textSink{}
			if err := s.Batch(context.Background(), b, sink); err != nil {
				t.Fatal(err)
			}
			for _, e := range sink.errs {
				t.Fatalf("round %d: %v in %.200s", round, e, b)
			}
		}
		check(t, s, []sqlTest{
			{"rows", "SELECT COUNT(*) FROM Track; SELECT COUNT(*) FROM PlaylistTrack; SELECT SUM(Total) FROM Invoice", "3503\n8715\n2328.60"},
			{"join", "SELECT TOP 3 a.Name, COUNT(*) AS n FROM Artist a JOIN Album b ON b.ArtistId = a.ArtistId JOIN Track t ON t.AlbumId = b.AlbumId GROUP BY a.Name ORDER BY n DESC, a.Name", "Iron Maiden|213\nU2|135\nLed Zeppelin|114"},
			{"dates", "SELECT MIN(InvoiceDate), MAX(InvoiceDate) FROM Invoice WHERE InvoiceDate >= '2009/1/1'", chinookDates},
			{"foreign key", "DELETE Artist WHERE ArtistId = 1", "msg 547"},
			{"back to master", "USE master", ""},
		})
	}
}
