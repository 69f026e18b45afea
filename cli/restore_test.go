package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"postern/backup"
	"postern/config"
	"postern/store"
)

// TestFailedRestoreKeepsSecretsAndDataTogether: the data file cannot be kept aside, or is
// missing.
func TestFailedRestoreKeepsSecretsAndDataTogether(t *testing.T) {
	for _, there := range []bool{true, false} {
		cfg := config.Default()
		cfg.Store.Path = filepath.Join(t.TempDir(), "p.db")
		path, folder := cfg.Store.Path, t.TempDir()
		former, _, err := config.LoadSecrets(cfg)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := config.NewSecrets().File()
		if err != nil {
			t.Fatal(err)
		}
		written := map[string]string{filepath.Join(folder, backup.SecretsMember): string(raw), filepath.Join(folder, backup.DataMember): "the new"}
		if there {
			written[path], written[path+replacedSuffix+"stamp"] = "old", "in the way"
		}
		for name, text := range written {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		held, err := store.Hold(path)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := (&restoreOptions{force: true}).place(cfg, held, path, folder, "stamp")
		held.Close()
		now, made, unread := config.LoadSecrets(cfg)
		data, _ := os.ReadFile(path)
		secrets := config.SecretsPath(cfg) + replacedSuffix + "stamp"
		switch {
		case unread != nil || made:
			t.Errorf("there %t: the secrets: %t, %v", there, made, unread)
		case there && (err == nil || string(data) != "old" || now != former || slices.Contains(kept, secrets)):
			t.Errorf("it failed with %v and kept %v; the data file is %q, the secrets are the former ones: %t", err, kept, data, now == former)
		case !there && (err != nil || string(data) != "the new" || now == former || !slices.Equal(kept, []string{secrets})):
			t.Errorf("%v, kept %v; the data file is %q, the secrets are the former ones: %t", err, kept, data, now == former)
		}
	}
}
