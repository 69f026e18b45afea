package faults

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/app"
	"postern/e2e/rig"
	"postern/sandbox"
	"postern/store"
)

// TestCheckReportsFaultsAndChangesNothing damages a copy of a file in the ways
// that a start treats differently.
func TestCheckReportsFaultsAndChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "postern.db")
	s, err := store.Open(store.Options{Path: path, Buckets: app.Buckets(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), func(tx *store.Tx) error {
		for i := range 500 {
			if err := tx.Put("access_audit", store.Key(i+1), fmt.Appendf(nil, `{"action":"contact %d of some length"}`, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	status, output := rig.Program(t, t.TempDir(), nil, "check", path)
	if status != 1 || !strings.Contains(output, "in use") {
		t.Errorf("while a program runs on it: %d %s", status, output)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	simulated := filepath.Join(t.TempDir(), "sandbox.db")
	network, err := sandbox.Open(sandbox.Config{Path: simulated})
	if err == nil {
		err = network.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if status, output := rig.Program(t, t.TempDir(), nil, "check", simulated); status != 0 {
		t.Errorf("the sandbox's file: %d %s", status, output)
	}
	page := os.Getpagesize()
	at := bytes.Index(image, []byte(`{"action":"contact 77 of`))
	head := at / page * page
	for name, c := range map[string]struct {
		at     int
		status int
		says   []string
	}{
		"whole":             {-1, 0, []string{"500 records", "no fault"}},
		"a value":           {at + 2, 1, []string{fmt.Sprintf("record access_audit/%x is damaged", store.Key(78)), "sets it aside", "has 1 fault"}},
		"a key":             {at - 5, 1, []string{"record access_audit/", "puts it right"}},
		"a page":            {head + 8, 1, []string{fmt.Sprintf("page %d of bucket access_audit: it is neither a leaf nor a branch", head/page), "costs the records of access_audit", "the bucket access_audit has"}},
		"a head page":       {16 + 50, 1, []string{"a head page has a flipped bit; the next start puts it right"}},
		"the root's number": {page + 16 + 16, 1, []string{"a head page has a flipped bit"}},
	} {
		broken := bytes.Clone(image)
		if c.at >= 0 {
			broken[c.at] ^= 8
		}
		copied := filepath.Join(t.TempDir(), "copy.db")
		if err := os.WriteFile(copied, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		status, output := rig.Program(t, t.TempDir(), nil, "check", copied)
		if status != c.status {
			t.Errorf("%s: exit status %d", name, status)
		}
		for _, want := range append(c.says, copied) {
			if !strings.Contains(output, want) {
				t.Errorf("%s: no %q in\n%s", name, want, output)
			}
		}
		if after, err := os.ReadFile(copied); err != nil || !bytes.Equal(after, broken) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
		// What check finds is what a start refuses, and the other way round.
		s, err := store.Open(store.Options{Path: copied, Buckets: app.Buckets(), NoSync: true})
		if refused := name == "a page"; errors.Is(err, store.ErrCorrupt) != refused {
			t.Errorf("%s: the start: %v", name, err)
		}
		if err == nil {
			_ = s.Close()
		}
	}
}
