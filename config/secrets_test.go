package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"postern/store/files"
)

func TestReadableSecretFileIsAWarning(t *testing.T) {
	const name = "AUTHENTICATION_GLOBAL_AUTH_TOKEN_FILE"
	for mode, want := range map[os.FileMode]int{0o600: 0, 0o400: 0, 0o640: 1, 0o604: 1, 0o620: 1, 0o644: 1} {
		path := writeSecret(t, strongKey, 0o600)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, warnings, err := Load(writeConfig(t, ""), []string{name + "=" + path})
		if err != nil || len(warnings) != want || want > 0 && (!strings.Contains(warnings[0], path) || !strings.Contains(warnings[0], "chmod 600")) {
			t.Errorf("mode %o: %v, %v", mode, warnings, err)
		}
		// The engine that fills a credentials folder chooses the mode.
		_, warnings, err = Load(writeConfig(t, ""), []string{name + "=" + path, "CREDENTIALS_DIRECTORY=" + filepath.Dir(path)})
		if err != nil || len(warnings) != 0 {
			t.Errorf("mode %o, credentials folder: %v, %v", mode, warnings, err)
		}
	}
}

func TestCredentialsFolderIsExemptFromTheWarning(t *testing.T) {
	env := []string{"HOME=/root", "CREDENTIALS_DIRECTORY=/run/user/1/c"}
	for path, want := range map[string]bool{
		"/run/secrets/key": true, "/run/credentials/postern.service/key": true, "/run/user/1/c/key": true,
		"/run/secrets": true, "/run/secrets2/key": false, "/run/secrets/../key": false, "/etc/key": false, "key": false, "run/secrets/key": false,
	} {
		if got := handedOver(path, env); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if handedOver("/etc/key", []string{"CREDENTIALS_DIRECTORY="}) || handedOver("/etc/key", []string{"CREDENTIALS_DIRECTORY=."}) {
		t.Error("a folder without an absolute path counts")
	}
}

func TestFinalLineBreakOfASecretIsRemoved(t *testing.T) {
	for _, end := range []string{"", "\n", "\r\n"} {
		text := strongKey + end
		c, _, err := Load(writeConfig(t, ""), []string{"AUTHENTICATION_GLOBAL_AUTH_TOKEN_FILE=" + writeSecret(t, text, 0o600)})
		if want := strongKey; err != nil || c.Authentication.GlobalAuthToken != want {
			t.Errorf("%q: %q, %v", text, c.Authentication.GlobalAuthToken, err)
		}
	}
	for _, end := range []string{"\n\n", " \n", "\nk\n"} {
		text := strongKey + end
		if text := refused(t, text, "", "AUTHENTICATION_GLOBAL_AUTH_TOKEN_FILE="+writeSecret(t, text, 0o600)); !strings.Contains(text, "no HTTP header") {
			t.Error(text)
		}
	}
}

// TestFirstStartsOnOneFolderShareTheirSecrets: one of them made them.
func TestFirstStartsOnOneFolderShareTheirSecrets(t *testing.T) {
	for range 20 {
		c := Default()
		c.Store.Path = filepath.Join(t.TempDir(), "p.db")
		var wg sync.WaitGroup
		var mu sync.Mutex
		loaded, firsts := map[Secrets]bool{}, 0
		for range 4 {
			wg.Go(func() {
				s, made, err := LoadSecrets(c)
				mu.Lock()
				defer mu.Unlock()
				if loaded[s] = true; err != nil {
					t.Error(err)
				}
				if made {
					firsts++
				}
			})
		}
		wg.Wait()
		if len(loaded) != 1 || firsts != 1 {
			t.Errorf("%d different secrets, made by %d", len(loaded), firsts)
		}
		if left := LeftSecrets(c); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestARunningProgramsSecretsAreNotDropped, nor those that another start made since.
func TestARunningProgramsSecretsAreNotDropped(t *testing.T) {
	c := Default()
	c.Store.Path = filepath.Join(t.TempDir(), "p.db")
	made, _, err := LoadSecrets(c)
	if err != nil {
		t.Fatal(err)
	}
	dropped := func(s Secrets) bool {
		if err := DropSecrets(c, s); err != nil {
			t.Error(err)
		}
		_, err := os.Stat(SecretsPath(c))
		return err != nil
	}
	if err := os.WriteFile(c.Store.Path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	running, err := files.Lock(c.Store.Path)
	if err != nil {
		t.Fatal(err)
	}
	if dropped(made) {
		t.Error("those of a running program were dropped")
	}
	running.Close()
	if dropped(NewSecrets()) {
		t.Error("those of another start were dropped")
	}
	if !dropped(made) {
		t.Error("its own were not dropped")
	}
	if err := ConfirmSecrets(c, made); err != nil {
		t.Error(err)
	}
	if again, _, err := LoadSecrets(c); err != nil || again != made {
		t.Errorf("missing ones were not put back: %v", err)
	}
	if err := ConfirmSecrets(c, NewSecrets()); err == nil || !strings.Contains(err.Error(), "start again") {
		t.Errorf("others: %v", err)
	}
}
