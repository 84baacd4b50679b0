package checkpoint

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func openFile(t *testing.T, path, key string) *FileStore {
	t.Helper()
	s, err := NewFileStore(path, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func equalPositions(a, b map[string]Position) bool {
	return maps.EqualFunc(a, b, Position.Equal)
}

func TestFileStoreKeepsPositions(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "positions.json")
	s := openFile(t, path, "k")
	if got, err := s.Load(ctx); err != nil || len(got) != 0 {
		t.Fatalf("Load without a file = %v, %v", got, err)
	}
	want := map[string]Position{"[dbo].[T]": at(1), "[dbo].[t]": at(2), "[my schema].[Or'der ]]$1.x]": at(3)}
	if err := s.Save(ctx, want); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(ctx, map[string]Position{"[dbo].[t]": at(5)}); err != nil {
		t.Fatal(err)
	}
	want["[dbo].[t]"] = at(5)
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(ctx, want); !errors.Is(err, ErrClosed) {
		t.Errorf("Save after Close: %v", err)
	}
	got, err := openFile(t, path, "k").Load(ctx)
	if err != nil || !equalPositions(got, want) {
		t.Errorf("Load = %v, %v, want %v", got, err, want)
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file beside is left: %v", err)
	}
}

func TestFileStoreIsOneProcess(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "positions.json")
	first, second := openFile(t, path, "k"), openFile(t, path, "k")
	if _, err := first.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Load(ctx); !errors.Is(err, ErrFileInUse) {
		t.Fatalf("Load of a second store: %v, want ErrFileInUse", err)
	}
	if err := second.Save(ctx, map[string]Position{"t": at(1)}); err == nil {
		t.Error("a store without the lock saves")
	}
	if err := first.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Load(ctx); err != nil {
		t.Errorf("Load after the first has closed: %v", err)
	}
}

func TestFileStoreRefuses(t *testing.T) {
	ctx := context.Background()
	good := `{"format":"mssql_cdc positions","version":1,"key":"k","positions":{"t":{"v":1,"instance":"i","lsn":"0x00000000000000000001","done":true}}}`
	tests := []struct{ name, text, want string }{
		{"empty", "", "damaged or not positions of mssql_cdc"},
		{"cut", good[:len(good)-3], "damaged or not positions of mssql_cdc"},
		{"other text", "hello: world\n", "damaged or not positions of mssql_cdc"},
		{"other JSON", `{"a":1}`, "not positions of mssql_cdc"},
		{"array", `[]`, "not positions of mssql_cdc"},
		{"later version", strings.Replace(good, `"version":1`, `"version":2`, 1), "version is 2"},
		{"other key", strings.Replace(good, `"k"`, `"other"`, 1), `belongs to the key "other", not to "k"`},
		{"bad position", strings.Replace(good, `0x0`, `0x`, 1), "damaged"},
		{"unknown field", strings.Replace(good, `"key"`, `"more":1,"key"`, 1), "damaged"},
		{"tail", good + "x", "damaged"},
		{"no positions", `{"format":"mssql_cdc positions","version":1,"key":"k"}`, "positions is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			s := openFile(t, path, "k")
			got, err := s.Load(ctx)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("Load = %v, %v, want an error with %q and the path", got, err, tt.want)
			}
			if err := s.Save(ctx, map[string]Position{"t": at(1)}); err == nil {
				t.Error("the file is overwritten")
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != tt.text {
				t.Errorf("the file is now %q, %v", after, err)
			}
		})
	}
}

// A save that fails leaves the old file, and the next one that works has everything.
func TestFileStoreFailedSave(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "p.json")
	s := openFile(t, path, "k")
	if _, err := s.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(ctx, map[string]Position{"a": at(1)}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".new", 0o700); err != nil { // in the way of the file beside
		t.Fatal(err)
	}
	if err := s.Save(ctx, map[string]Position{"a": at(2), "b": at(2)}); err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("Save = %v, want an error with the path", err)
	}
	if err := os.Remove(path + ".new"); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(ctx, map[string]Position{"c": at(3)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	want := map[string]Position{"a": at(1), "c": at(3)}
	if got, err := openFile(t, path, "k").Load(ctx); err != nil || !equalPositions(got, want) {
		t.Errorf("Load = %v, %v, want %v", got, err, want)
	}
	if err := s.Save(ctx, map[string]Position{"": at(1)}); err == nil {
		t.Error("a table without a name is saved")
	}
}

func TestFileStoreDeletesAndPeeks(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "p.json")
	looker := openFile(t, path, "k")
	if got, holder, err := looker.Peek(ctx); err != nil || holder != "" || len(got) != 0 {
		t.Errorf("Peek without a file = %v, %q, %v", got, holder, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("Peek made %v, %v", files, err)
	}
	s := openFile(t, path, "k")
	if err := s.Delete(ctx, "a"); err == nil {
		t.Error("a store that was not loaded deletes")
	}
	if _, err := s.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Save(ctx, map[string]Position{"a": at(1), "b": at(2)}), s.Delete(ctx, "a", "never there")); err != nil {
		t.Fatal(err)
	}
	want := map[string]Position{"b": at(2)}
	if got, holder, err := looker.Peek(ctx); err != nil || holder == "" || !equalPositions(got, want) {
		t.Errorf("Peek = %v, %q, %v, want %v and a holder", got, holder, err, want)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got, holder, err := looker.Peek(ctx); err != nil || holder != "" || !equalPositions(got, want) {
		t.Errorf("Peek after Close = %v, %q, %v", got, holder, err)
	}
	if _, err := looker.Load(ctx); err != nil {
		t.Errorf("Peek keeps the lock: %v", err)
	}
}
