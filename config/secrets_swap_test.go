package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/store/files"
)

// swapped is a folder with secrets and a data file, and the new ones of a restore.
type swapped struct {
	c             *Config
	former, after Secrets
	raw           []byte // the secrets of the restore
	file          string // its data file
}

func newSwapped(t *testing.T) *swapped {
	t.Helper()
	s := &swapped{c: Default(), after: NewSecrets()}
	s.c.Store.Path = filepath.Join(t.TempDir(), "p.db")
	s.file = s.c.Store.Path + ".aside"
	var err error
	if s.former, _, err = LoadSecrets(s.c); err != nil {
		t.Fatal(err)
	}
	s.raw, err = s.after.File()
	if err := errors.Join(err, os.WriteFile(s.c.Store.Path, []byte("old data"), 0o600), os.WriteFile(s.file, []byte("the new data"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *swapped) swap(place func() error) (kept string, err error) {
	return SwapSecrets(s.c, s.raw, true, "stamp", s.file, place)
}

// cutOff returns the configuration of a copy of the folder as it is now.
func (s *swapped) cutOff(t *testing.T) *Config {
	t.Helper()
	from, to := filepath.Dir(s.c.Store.Path), t.TempDir()
	all, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if err := os.Link(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
			t.Fatal(err)
		}
	}
	c := Default()
	c.Store.Path = filepath.Join(to, "p.db")
	return c
}

func fits(t *testing.T, what string, c *Config, want Secrets, beside int) {
	t.Helper()
	if s, made, err := LoadSecrets(c); err != nil || made || s != want {
		t.Errorf("%s: other secrets, made %t, %v", what, made, err)
	}
	if all, err := filepath.Glob(SecretsPath(c) + ".*"); err != nil || len(all) != beside {
		t.Errorf("%s: beside the secrets are %v, %v", what, all, err)
	}
}

// TestCutOffRestoreLeavesFittingSecrets, wherever the power goes.
func TestCutOffRestoreLeavesFittingSecrets(t *testing.T) {
	s := newSwapped(t)
	var begun, before, after *Config
	kept, err := s.swap(func() error {
		before, begun = s.cutOff(t), s.cutOff(t)
		if _, err := ReadSecrets(before); !errors.Is(err, errCutOff) {
			t.Errorf("secrets that fit nothing were read: %v", err)
		}
		err := os.Rename(s.file, s.c.Store.Path)
		after = s.cutOff(t)
		return err
	})
	if err != nil || kept != SecretsPath(s.c)+".replaced-stamp" {
		t.Fatalf("kept %q, %v", kept, err)
	}
	if err := os.Rename(SecretsPath(begun)+".replaced-stamp", SecretsPath(begun)); err != nil { // as it was before the swap
		t.Fatal(err)
	}
	fits(t, "before the secrets", begun, s.former, 0)
	fits(t, "before the data file", before, s.former, 0)
	fits(t, "after the data file", after, s.after, 1)
	fits(t, "at the end", s.c, s.after, 1)
	if former, err := os.ReadFile(kept); err != nil || !strings.Contains(string(former), s.former.JWTSecret) {
		t.Errorf("other secrets were kept: %v", err)
	}
}

func TestFormerSecretsReturnWhenThePlacingFails(t *testing.T) {
	failure := errors.New("no room")
	s := newSwapped(t)
	running, err := files.Lock(s.c.Store.Path)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := s.swap(func() error {
		if _, _, err := LoadSecrets(s.c); !errors.Is(err, files.ErrLocked) || Lasts(err) {
			t.Errorf("a start during the restore: %v", err)
		}
		return failure
	})
	if !errors.Is(err, failure) || kept != "" {
		t.Errorf("kept %q, %v", kept, err)
	}
	running.Close()
	fits(t, "with former ones", s.c, s.former, 0)

	if err := os.Remove(SecretsPath(s.c)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.swap(func() error { return failure }); !errors.Is(err, failure) {
		t.Error(err)
	}
	if _, err := os.Stat(SecretsPath(s.c)); err == nil {
		t.Error("without former ones, the new ones are there")
	}

	kept, err = s.swap(func() error { // the file is in its place when the folder cannot be synced
		return errors.Join(failure, os.Rename(s.file, s.c.Store.Path))
	})
	if !errors.Is(err, failure) || kept != "" {
		t.Errorf("kept %q, %v", kept, err)
	}
	fits(t, "with the new data file", s.c, s.after, 0)
}
