package backup

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// TestShortKeyBackupIsRestored restores backups of programs whose configured API key has
// fewer than 32 bytes, spaces or letters that are not ASCII, and of some whose secret is not UTF-8, or as
// long as one from a file can be. Without any configuration the restored key opens the program then.
func TestShortKeyBackupIsRestored(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := rig.NewOperator(t)
	o.Stop()
	const key, secret = "AUTHENTICATION_GLOBAL_AUTH_TOKEN=", "AUTHENTICATION_JWT_SECRET="
	long := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(long, bytes.Repeat([]byte("\xff\xfe\x00 0123456789abcdef\n"), 64<<10/21), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string][]string{
		"16": {key + "0123456789abcdef"}, "31": {key + "0123456789abcdef0123456789abcde"}, "binary": {secret + "\xff\xfe0123456789abcdef0123456789abcdef"},
		"spaces": {key + "key  of   an operator"}, "not ASCII": {key + "ключ-оператора"}, "64 KiB": {secret, "AUTHENTICATION_JWT_SECRET_FILE=" + long},
	} {
		file := filepath.Join(t.TempDir(), name+".tar")
		if status, said := o.Runs(env, "backup", file); status != 0 {
			t.Errorf("%s: %d %s", name, status, said)
		}
		if status, said := o.Runs([]string{key, secret}, "restore", "--force", "--yes", file); status != 0 {
			t.Errorf("%s: %d %s", name, status, said)
		}
		// The restored secrets are those of the backup: the same configuration differs in nothing.
		if _, said := o.Runs(env, "restore", "--force", "--yes", file); strings.Contains(said, "configured secrets differ") || strings.Contains(said, "secrets.json.replaced") {
			t.Errorf("%s: %s", name, said)
		}
		if configured, is := strings.CutPrefix(env[0], key); is {
			right := o.Env
			o.Env = append(slices.Clone(right), key, secret)
			o.Start()
			if status, body := o.Raw(consumer.Key(configured), http.MethodGet, "/instance", ""); status != http.StatusOK {
				t.Errorf("%s: the restored key is refused: %d %s", name, status, body)
			}
			o.Stop()
			o.Env = right
		}
	}
}

// TestRestoreWarnsOfReturnedCredentials replaces a token, and the secrets, after a backup.
func TestRestoreWarnsOfReturnedCredentials(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := rig.NewOperator(t)
	file := filepath.Join(t.TempDir(), "b.tar")
	empty := file + "-empty"
	if said := o.Says(0, "0 instances", "backup", empty); strings.Contains(said, "sandbox") {
		t.Error(said)
	}
	token := o.Pair("red")
	o.Says(0, "1 instance", "backup", file)
	var replaced struct{ Token string }
	o.Call(consumer.Key(o.Sec.GlobalAuthToken), http.MethodPut, "/instance/red/token", nil, &replaced)
	o.Stop()
	if status, said := o.Runs([]string{"SANDBOX_ENABLED=true", "WHATSAPP_ENDPOINT=", "WHATSAPP_ENDPOINT_CA=", "WHATSAPP_ENDPOINT_ROOT_KEY="}, "backup", file+"-sandbox"); status != 0 || !strings.Contains(said, "the sandbox is not in the backup") {
		t.Errorf("%d %s", status, said)
	}
	const tokens, secrets = "warning: instance tokens that were replaced after", "warning: the API key and the secret of tokens"
	said := o.Says(0, tokens, "restore", "--force", "--yes", file)
	if !strings.Contains(said, "PUT /instance/NAME/token") || strings.Contains(said, secrets) {
		t.Error(said)
	}
	o.Start()
	for what, c := range map[string]struct {
		token string
		want  int
	}{"the replaced token is said to be valid again": {token, http.StatusOK}, "the new one is said to be invalid": {replaced.Token, http.StatusUnauthorized}} {
		if status, _ := o.Raw(consumer.Bearer(c.token), http.MethodGet, "/instance/red", ""); status != c.want {
			t.Errorf("%s: %d", what, status)
		}
	}
	o.Stop()
	if err := os.WriteFile(filepath.Join(filepath.Dir(o.DataFile()), "secrets.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, said = o.Runs([]string{"AUTHENTICATION_GLOBAL_AUTH_TOKEN=", "AUTHENTICATION_JWT_SECRET="}, "restore", "--force", "--yes", empty)
	if !strings.Contains(said, secrets) || strings.Contains(said, tokens) {
		t.Error(said)
	}
}
