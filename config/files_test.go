package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeSecret(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecretIsReadFromItsFile(t *testing.T) {
	const key = "a key of more than thirty-two bytes"
	c, warnings, err := Load(writeConfig(t, ""), []string{
		"AUTHENTICATION_JWT_SECRET_FILE=" + writeSecret(t, key+"\n", 0o600), "AUTHENTICATION_GLOBAL_AUTH_TOKEN_FILE=",
	})
	if err != nil || len(warnings) != 0 || c.Authentication.JWTSecret != key || c.Authentication.GlobalAuthToken != "" {
		t.Errorf("%q, %v, %v", c.Authentication.JWTSecret, warnings, err)
	}
}

func TestABadSecretFileStopsTheStart(t *testing.T) {
	const name = "AUTHENTICATION_JWT_SECRET"
	good := writeSecret(t, strings.Repeat("s3cr3t", 8), 0o600)
	for problem, c := range map[string]struct {
		env  []string
		want string
	}{
		"missing":              {[]string{name + "_FILE=/nowhere/at/all"}, "/nowhere/at/all"},
		"empty":                {[]string{name + "_FILE=" + writeSecret(t, "\n", 0o600)}, "file is empty"},
		"a folder":             {[]string{name + "_FILE=" + t.TempDir()}, name + "_FILE"},
		"too large":            {[]string{name + "_FILE=" + writeSecret(t, strings.Repeat("x", maxSecretFile+1), 0o600)}, "too large for a secret"},
		"too short":            {[]string{name + "_FILE=" + writeSecret(t, "short", 0o600)}, "needs 32"},
		"both":                 {[]string{name + "=" + strings.Repeat("x", 32), name + "_FILE=" + good}, "both set"},
		"both, the file first": {[]string{name + "_FILE=" + good, name + "=" + strings.Repeat("x", 32)}, "both set"},
	} {
		_, _, err := Load(writeConfig(t, ""), c.env)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", problem, err)
		}
	}
}

func TestOnlySecretsAreReadFromFiles(t *testing.T) {
	_, warnings, err := Load(writeConfig(t, ""), []string{"WEBHOOK_WORKERS_FILE=/etc/passwd"})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "WEBHOOK_WORKERS_FILE is not a setting") {
		t.Errorf("%v, %v", warnings, err)
	}
}

func TestAMaskedURLShowsNothingBehindItsHost(t *testing.T) {
	if got := MaskURL("https://user:s3cr3t@h.example/"); got != "https://h.example/********" {
		t.Errorf("with a user: %s", got) // which no setting takes
	}
}
