package backup

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// TestShortKeyBackupIsRestored restores backups of programs whose configured API key has
// fewer than 32 bytes, and one whose secret is not UTF-8.
func TestShortKeyBackupIsRestored(t *testing.T) {
	t.Parallel() // it waits more than it works
	o := rig.NewOperator(t)
	o.Stop()
	const key, secret = "AUTHENTICATION_GLOBAL_AUTH_TOKEN=", "AUTHENTICATION_JWT_SECRET="
	for name, env := range map[string][]string{
		"16": {key + "0123456789abcdef"}, "31": {key + "0123456789abcdef0123456789abcde"}, "binary": {secret + "\xff\xfe0123456789abcdef0123456789abcdef"},
	} {
		file := filepath.Join(t.TempDir(), name+".tar")
		if status, said := o.Runs(env, "backup", file); status != 0 {
			t.Errorf("%s: %d %s", name, status, said)
		}
		if status, said := o.Runs([]string{key, secret}, "restore", "--force", "--yes", file); status != 0 {
			t.Errorf("%s: %d %s", name, status, said)
		}
		// The restored secrets are those of the backup: the same configuration differs in nothing.
		if _, said := o.Runs(env, "restore", "--force", "--yes", file); strings.Contains(said, "other secrets") || strings.Contains(said, "secrets.json.replaced") {
			t.Errorf("%s: %s", name, said)
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
