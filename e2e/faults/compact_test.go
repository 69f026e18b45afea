package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/app"
	"postern/e2e/rig"
	"postern/store"
)

// TestCompactAndStatsAsAnOperatorUsesThem: of the file that the configuration names,
// while a program runs on it, in place of a file that is not there.
func TestCompactAndStatsAsAnOperatorUsesThem(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	folder := t.TempDir()
	env := []string{"STORE_PATH=" + filepath.Join(folder, "postern.db")}
	path := filepath.Join(folder, "postern.db")
	run := func(want int, says string, args ...string) string {
		t.Helper()
		status, output := rig.Program(t, folder, env, args...)
		if status != want || !strings.Contains(output, says) {
			t.Errorf("%q: %d %s", args, status, output)
		}
		return output
	}
	for _, command := range []string{"compact", "stats", "check"} {
		run(1, "no such file", command)
		run(1, "no such file", command, filepath.Join(folder, "other.db"))
		run(2, "unexpected argument", command, path, path)
	}
	s, err := store.Open(store.Options{Path: path, Buckets: app.Buckets(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	fill := func(value string) {
		t.Helper()
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			for i := range 20_000 {
				if err := tx.Put("access_audit", store.Key(i+1), fmt.Appendf(nil, `{"action":%q}`, value)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fill(strings.Repeat("x", 1000))
	fill("y")
	run(1, "in use", "compact")
	run(1, "has the data file open", "stats", path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	big, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	free := func() (i store.Inspection) {
		t.Helper()
		if err := json.Unmarshal([]byte(run(0, "", "stats", "--json")), &i); err != nil {
			t.Fatal(err)
		}
		for _, b := range i.Buckets {
			if b.Bucket == "access_audit" && (b.Rows != 20_000 || b.Owner != "access") {
				t.Errorf("%+v", b)
			}
		}
		return i
	}
	if i := free(); i.Bytes != big.Size() || i.Free < 20<<20 || i.Path != path {
		t.Errorf("%d bytes, %d free", i.Bytes, i.Free)
	}
	run(0, "of them", "stats", path)
	run(0, " before, ", "compact")
	if i := free(); i.Bytes > 3<<20 || i.Free > 1<<20 {
		t.Errorf("compacted: %d bytes, %d free", i.Bytes, i.Free)
	}
	run(0, "no fault", "check")
}
