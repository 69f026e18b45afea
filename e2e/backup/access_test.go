package backup

import (
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// TestARestoreEndsSessionsAndPortalLinks: a browser that was signed out since the backup
// stays so, and since it is unknown which, so is every other; links end as well. A key
// that was deleted since is back, and the command says so.
func TestARestoreEndsSessionsAndPortalLinks(t *testing.T) {
	o := rig.NewOperator(t)
	token := o.Pair("red")
	operator := consumer.Key(o.Sec.GlobalAuthToken)
	left, stays := signIn(o), signIn(o)
	var link struct{ URL string }
	o.Call(consumer.Bearer(token), http.MethodPost, "/instance/red/portal-link", map[string]any{"expiresIn": 3600}, &link)
	secret := path.Base(link.URL)
	var key struct{ ID, Key string }
	o.Call(operator, http.MethodPost, "/keys", map[string]any{"name": "k", "instances": []string{"*"}, "scopes": []string{"read"}}, &key)

	file := filepath.Join(t.TempDir(), "b.tar")
	o.Says(0, "", "backup", file)
	var who struct{ CSRF string }
	o.Call(left, http.MethodGet, "/session", nil, &who)
	signOut, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, o.API.Base+"/session", nil)
	if err != nil {
		t.Fatal(err)
	}
	signOut.Header.Set(left.Name, left.Value)
	signOut.Header.Set("X-Postern-Csrf", who.CSRF)
	if res, err := o.API.HTTP.Do(signOut); err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusNoContent {
		t.Fatal(res, err)
	}
	o.Call(operator, http.MethodDelete, "/keys/"+key.ID, nil, nil)
	if status, _ := o.Raw(stays, http.MethodGet, "/session", ""); status != http.StatusOK {
		t.Fatalf("the other session before: %d", status)
	}
	if status, _ := o.Raw(operator, http.MethodGet, "/portal/"+secret+"/state", ""); status != http.StatusOK {
		t.Fatalf("the link before: %d", status)
	}
	o.Stop()

	said := o.Says(0, "1 paired account goes on", "restore", "--force", "--yes", file)
	if !strings.Contains(said, "keys that were deleted since the backup exist again") || !strings.Contains(said, "GET /keys") {
		t.Errorf("restore says nothing of keys: %s", said)
	}
	o.Start()
	for name, session := range map[string]consumer.Credential{"signed out since": left, "signed in still": stays} {
		if status, answer := o.Raw(session, http.MethodGet, "/instance", ""); status != http.StatusUnauthorized {
			t.Errorf("the session that was %s: %d %s", name, status, answer)
		}
	}
	if status, answer := o.Raw(operator, http.MethodGet, "/portal/"+secret+"/state", ""); status != http.StatusNotFound || !strings.Contains(answer, "PORTAL_NOT_FOUND") {
		t.Errorf("the portal link: %d %s", status, answer)
	}
	if status, _ := o.Raw(consumer.Bearer(key.Key), http.MethodGet, "/instance/red", ""); status != http.StatusOK {
		t.Errorf("the deleted key is said to be back: %d", status)
	}
	fresh := signIn(o)
	if status, _ := o.Raw(fresh, http.MethodGet, "/session", ""); status != http.StatusOK {
		t.Errorf("a new session: %d", status)
	}

	o.Call(operator, http.MethodDelete, "/keys/"+key.ID, nil, nil)
	o.Stop()
	o.Says(0, "", "backup", file+"-without-keys")
	if said := o.Says(0, "", "restore", "--force", "--yes", file+"-without-keys"); strings.Contains(said, "keys that were deleted") {
		t.Errorf("a backup without keys brings none back: %s", said)
	}
}

// signIn signs a browser in with the operator's key.
func signIn(o *rig.Operator) consumer.Credential {
	o.T.Helper()
	req, err := http.NewRequestWithContext(o.T.Context(), http.MethodPost, o.API.Base+"/session", nil)
	if err != nil {
		o.T.Fatal(err)
	}
	req.Header.Set("Apikey", o.Sec.GlobalAuthToken)
	res, err := o.API.HTTP.Do(req)
	if err != nil {
		o.T.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusCreated || len(res.Cookies()) != 1 {
		o.T.Fatal(res.Status)
	}
	return consumer.Credential{Name: "Cookie", Value: res.Cookies()[0].Name + "=" + res.Cookies()[0].Value}
}
