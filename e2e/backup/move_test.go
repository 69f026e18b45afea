package backup

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// TestAnAccountMovesToAnotherPosternWithoutPairing exports the account of a chat with its
// messages, imports it elsewhere, and continues with the chat there. Here it never connects
// again, not even when it is deleted.
func TestAnAccountMovesToAnotherPosternWithoutPairing(t *testing.T) {
	c := newChatting(t)
	c.Do(t, rig.Route(http.MethodPut, "/instance/$name/webhook/options", `{"headers":{"X-Shop":"secret header"},"filter":{"fromMe":false}}`))
	c.Do(t, rig.Route(http.MethodPut, "/instance/$name/settings", `{"rejectCalls":{"enabled":true,"message":"no calls"}}`))
	c.chat(t, "before", 40, true)
	c.everythingIsRead(t)
	file := filepath.Join(t.TempDir(), "shop.account")
	c.Stop()
	if said := c.postern(t, 1, "instance", "export", "absent", file); !strings.Contains(said, `"absent"`) {
		t.Errorf("an unknown instance: %s", said)
	}
	c.postern(t, 2, "instance", "export", "shop")
	c.postern(t, 2, "instance", "move", "shop")
	if said := c.postern(t, 0, "instance", "export", "--messages", "shop", file); !strings.Contains(said, "8") || strings.Contains(said, " 0 messages") {
		t.Errorf("export said %q", said)
	}
	c.postern(t, 1, "instance", "export", "shop", file) // it is there
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c.chat(t, "while nothing runs", 10, false)

	old := c.Folder
	c.Folder = t.TempDir()
	if err := os.MkdirAll(filepath.Dir(c.DataFile()), 0o700); err != nil {
		t.Fatal(err)
	}
	for n, cut := range map[string][]byte{
		"cut": raw[:len(raw)-200], "changed": []byte(strings.Replace(string(raw), "no calls", "no balls", 1)), "nothing": nil, "a backup": []byte("manifest.json"),
	} {
		bad := filepath.Join(t.TempDir(), "bad")
		if err := os.WriteFile(bad, cut, 0o600); err != nil {
			t.Fatal(err)
		}
		if said := c.postern(t, 1, "instance", "import", bad); !strings.Contains(said, "damaged") && !strings.Contains(said, "not an exported account") {
			t.Errorf("%s: %s", n, said)
		}
	}
	said := c.postern(t, 0, "instance", "import", file)
	if strings.Contains(said, "token") || !strings.Contains(said, "shop") {
		t.Errorf("import said %q", said)
	}
	if said := c.postern(t, 1, "instance", "import", "--name", "twice", file); !strings.Contains(said, "has the account") {
		t.Errorf("a second import: %s", said)
	}
	c.Start()
	c.AwaitOnline(rig.SceneName, c.Token)
	c.chat(t, "elsewhere", 60, true)
	c.everythingIsRead(t)
	var list struct{ Messages struct{ Total int } }
	c.Call(consumer.Bearer(c.Token), http.MethodPost, "/instance/shop/db/messages/pages", map[string]any{}, &list)
	if list.Messages.Total < 100 {
		t.Errorf("%d messages are stored; 80 came along", list.Messages.Total)
	}
	var settings struct{ RejectCalls struct{ Message string } }
	c.Call(consumer.Bearer(c.Token), http.MethodGet, "/instance/shop/settings", nil, &settings)
	var options struct{ Headers map[string]string }
	c.Call(consumer.Bearer(c.Token), http.MethodGet, "/instance/shop/webhook/options", nil, &options)
	if settings.RejectCalls.Message != "no calls" || options.Headers["X-Shop"] == "" {
		t.Errorf("settings %+v, options %+v", settings, options)
	}
	c.Stop()

	there := c.Folder
	c.Folder = old
	c.Start()
	var status struct {
		ConnectionStatus string
		LastError        *string
	}
	c.Call(consumer.Bearer(c.Token), http.MethodGet, "/instance/shop/connection/status", nil, &status)
	if status.ConnectionStatus != "OFFLINE" || status.LastError == nil || !strings.Contains(*status.LastError, "moved") {
		t.Errorf("where it was: %+v", status)
	}
	for _, call := range []struct{ method, path string }{{http.MethodGet, "/connect"}, {http.MethodPost, "/restart"}, {http.MethodDelete, "/logout"}} {
		if code, answer := c.Raw(consumer.Bearer(c.Token), call.method, "/instance/shop"+call.path, ""); code != http.StatusConflict || !strings.Contains(answer, "INSTANCE_MOVED") {
			t.Errorf("%s: %d %s", call.path, code, answer)
		}
	}
	if a := c.PostJSON(t, "/instance/shop/send/text", `{"number":"$anne","textMessage":{"text":"from here"}}`); a.Status != http.StatusConflict {
		t.Errorf("a send: %d %s", a.Status, a.Body)
	}
	c.Call(consumer.Bearer(c.Token), http.MethodDelete, "/instance/shop?force=true", nil, nil)
	c.Stop()
	c.Folder = there
	c.Start()
	c.AwaitOnline(rig.SceneName, c.Token) // the deletion there has unlinked nothing
	c.chat(t, "at last", 10, true)
	c.everythingIsRead(t)
	c.Stop()
}

// TestExportCanBeUndone undoes an export that was not imported.
func TestExportCanBeUndone(t *testing.T) {
	c := newChatting(t)
	c.chat(t, "before", 5, true)
	c.everythingIsRead(t)
	c.Stop()
	file := filepath.Join(t.TempDir(), "shop.account")
	if said := c.postern(t, 1, "instance", "export", "--undo", "shop"); !strings.Contains(said, "has not moved") {
		t.Errorf("undo of nothing: %s", said)
	}
	c.postern(t, 1, "instance", "export", "shop", filepath.Join(file, "in", "no", "folder"))
	if said := c.exportInto(t, file, "instance", "export", "--undo", "shop"); !strings.Contains(said, "already exists") || !strings.Contains(said, "shop has not moved") {
		t.Errorf("a file that came meanwhile: %s", said)
	}
	if said := c.postern(t, 1, "instance", "export", "--undo", "shop"); !strings.Contains(said, "has not moved") {
		t.Errorf("undo after an export without a file: %s", said)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	c.postern(t, 0, "instance", "export", "shop", file)
	again := filepath.Join(t.TempDir(), "again.account")
	if said := c.exportInto(t, again); strings.Contains(said, "has not moved") {
		t.Errorf("it had moved before: %s", said)
	}
	c.postern(t, 0, "instance", "export", "--undo", "shop") // which is so still
	c.Start()
	c.AwaitOnline(rig.SceneName, c.Token)
	c.chat(t, "after", 10, true)
	c.everythingIsRead(t)
	c.Stop()
	// Elsewhere, with another secret, it gets another token.
	c.Folder, c.Sec.JWTSecret = t.TempDir(), strings.Repeat("0123456789abcdef", 4)
	if said := c.postern(t, 0, "instance", "import", "--name", "bakery", file); !strings.Contains(said, "the new token is") || !strings.Contains(said, "bakery") {
		t.Errorf("import said %q", said)
	}
}

// exportInto exports to a file that someone makes while it is being written. An export
// that was done before anyone saw its file is taken back, as far as it did something, and
// another one made.
func (c *chatting) exportInto(t *testing.T, file string, takeBack ...string) (said string) {
	t.Helper()
	for range 100 {
		type outcome struct {
			status int
			said   string
		}
		done := make(chan outcome, 1)
		go func() {
			status, said := rig.Beside(t, c.World).Runs(nil, "instance", "export", "shop", file)
			done <- outcome{status, said}
		}()
		for len(done) == 0 {
			if writing, _ := filepath.Glob(file + ".unfinished-*"); len(writing) > 0 {
				break
			}
		}
		theirs, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		o := <-done
		if err != nil {
			if err := os.Remove(file); err != nil || o.status != 0 {
				t.Fatal(err, o)
			}
			if len(takeBack) > 0 {
				c.postern(t, 0, takeBack...)
			}
			continue
		}
		if raw, err := os.ReadFile(file); errors.Join(err, theirs.Close()) != nil || o.status != 1 || len(raw) > 0 {
			t.Errorf("status %d with %q, and the file is %.40q (%v)", o.status, o.said, raw, err)
		}
		return o.said
	}
	t.Fatal("each export was done before its file was seen")
	return ""
}
