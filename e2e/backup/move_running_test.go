package backup

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/cli/consumer"
	"postern/e2e/capture"
	"postern/e2e/rig"
	"postern/event"
	"postern/sandbox"
)

// aProgram is one of several that run in the same world.
type aProgram struct {
	folder string
	cmd    *exec.Cmd
	wait   func() error
	output *capture.Buffer
	api    *consumer.Client
}

func (c *chatting) here() aProgram { return aProgram{c.Folder, c.Cmd, c.Wait, c.Output, c.API} }

// at goes to another of the programs.
func (c *chatting) at(p aProgram) {
	c.Folder, c.Cmd, c.Wait, c.Output, c.API = p.folder, p.cmd, p.wait, p.output, p.api
}

// another starts a second program, and goes to it.
func (c *chatting) another(t *testing.T) aProgram {
	t.Helper()
	c.Folder = t.TempDir()
	c.Start()
	return c.here()
}

// status returns what the program tells about an instance.
func (c *chatting) status(name string) (s struct {
	ConnectionStatus string
	LastError        *string
},
) {
	c.Call(consumer.Bearer(c.Token), http.MethodGet, "/instance/"+name+"/connection/status", nil, &s)
	return s
}

// moved wants the instance to live elsewhere, and to refuse what it cannot do here.
func (c *chatting) moved(t *testing.T) {
	t.Helper()
	if s := c.status("shop"); s.ConnectionStatus != "OFFLINE" || s.LastError == nil || !strings.Contains(*s.LastError, "moved") {
		t.Errorf("where it was: %+v", s)
	}
	for _, call := range []struct{ method, path string }{{http.MethodGet, "/connect"}, {http.MethodPost, "/restart"}, {http.MethodDelete, "/logout"}} {
		if code, answer := c.Raw(consumer.Bearer(c.Token), call.method, "/instance/shop"+call.path, ""); code != http.StatusConflict || !strings.Contains(answer, "INSTANCE_MOVED") {
			t.Errorf("%s: %d %s", call.path, code, answer)
		}
	}
	if a := c.PostJSON(t, "/instance/shop/send/text", `{"number":"$anne","textMessage":{"text":"from here"}}`); a.Status != http.StatusConflict {
		t.Errorf("a send: %d %s", a.Status, a.Body)
	}
}

// TestAnAccountMovesBetweenRunningProgramsAndBack: while both continue, without pairing, with
// no key used twice and every message read, and a file that is no account imports nothing.
func TestAnAccountMovesBetweenRunningProgramsAndBack(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := newChatting(t)
	c.Do(t, rig.Route(http.MethodPut, "/instance/$name/settings", `{"rejectCalls":{"enabled":true,"message":"no calls"}}`))
	c.Do(t, rig.Route(http.MethodPut, "/instance/$name/limits", `{"perHour":1000}`))
	other := c.Pair("other") // which stays undisturbed
	c.chat(t, "before", 30, true)
	first := c.here()
	file := filepath.Join(t.TempDir(), "shop.account")
	c.postern(t, 1, "instance", "export", "absent", file)
	c.postern(t, 0, "instance", "export", "--messages", "shop", file) // in the middle of it
	c.moved(t)
	c.AwaitOnline("other", other)
	c.Await("an event that tells it", func() bool { return c.BodyWith(event.ConnectionUpdated, "moved to another Postern") })
	c.chat(t, "while it is nowhere", 10, false)

	second := c.another(t)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for what, cut := range map[string][]byte{
		"cut": raw[:len(raw)-200], "changed": bytes.Replace(raw, []byte("no calls"), []byte("no balls"), 1), "nothing": nil, "a backup": []byte("manifest.json"),
	} {
		bad := filepath.Join(t.TempDir(), "bad")
		if err := os.WriteFile(bad, cut, 0o600); err != nil {
			t.Fatal(err)
		}
		if said := c.postern(t, 1, "instance", "import", bad); !strings.Contains(said, "damaged") && !strings.Contains(said, "not an exported account") && !strings.Contains(said, "INVALID_ARCHIVE") {
			t.Errorf("%s: %s", what, said)
		}
	}
	var none []struct{ Name string }
	c.Call(consumer.Key(c.Sec.GlobalAuthToken), http.MethodGet, "/instance", nil, &none)
	if left, _ := filepath.Glob(c.DataFile() + ".media/*"); len(none) > 0 || len(left) > 0 {
		t.Errorf("after files that were refused there are the instances %v and the files %v", none, left)
	}
	if said := c.postern(t, 0, "instance", "import", file); strings.Contains(said, "token") || !strings.Contains(said, "shop") {
		t.Errorf("import said %q", said)
	}
	c.AwaitOnline("shop", c.Token)
	c.postern(t, 1, "instance", "import", file)
	if said := c.postern(t, 1, "instance", "import", "--name", "twice", file); !strings.Contains(said, "has the account") {
		t.Errorf("a second import: %s", said)
	}
	c.chat(t, "elsewhere", 40, true)
	c.everythingIsRead(t)
	var list struct{ Messages struct{ Total int } }
	c.Call(consumer.Bearer(c.Token), http.MethodPost, "/instance/shop/db/messages/pages", map[string]any{}, &list)
	if list.Messages.Total < 110 { // 60 came along
		t.Errorf("%d messages are stored", list.Messages.Total)
	}
	var settings struct{ RejectCalls struct{ Message string } }
	c.Call(consumer.Bearer(c.Token), http.MethodGet, "/instance/shop/settings", nil, &settings)
	if settings.RejectCalls.Message != "no calls" {
		t.Errorf("settings %+v", settings)
	}

	c.limited(t, "shop")

	again := filepath.Join(t.TempDir(), "again.account")
	c.postern(t, 0, "instance", "export", "--messages", "shop", again)
	c.moved(t)
	c.at(first)
	c.postern(t, 1, "instance", "import", again) // the old one has the name
	c.postern(t, 0, "instance", "import", "--name", "back", again)
	var back []struct{ Auth struct{ Token string } }
	c.Call(consumer.Key(c.Sec.GlobalAuthToken), http.MethodGet, "/instance?instanceName=back", nil, &back)
	c.AwaitOnline("back", back[0].Auth.Token)
	if said := c.postern(t, 1, "instance", "export", "--undo", "shop"); !strings.Contains(said, `"back"`) {
		t.Errorf("an undo beside the same keys: %s", said)
	}
	c.Call(consumer.Bearer(c.Token), http.MethodDelete, "/instance/shop?force=true", nil, nil)
	c.AwaitOnline("back", back[0].Auth.Token) // the deletion has unlinked nothing
	c.Vars["name"] = "back"
	c.Token = back[0].Auth.Token
	c.chat(t, "back again", 40, true)
	c.everythingIsRead(t)

	// A start changes nothing of it.
	c.Stop()
	c.at(second)
	c.Stop()
	c.Start()
	c.Token = ""
	c.at(first)
	c.Start()
	c.Token = back[0].Auth.Token
	c.AwaitOnline("back", c.Token)
	c.limited(t, "back")
	c.chat(t, "after a start", 10, true)
	c.everythingIsRead(t)
	c.Stop()
}

// limited wants the limits that it had to count, with what was sent elsewhere.
func (c *chatting) limited(t *testing.T, name string) {
	t.Helper()
	var is struct {
		Limits *struct{ PerHour struct{ Limit, Used int } }
	}
	c.Call(consumer.Bearer(c.Token), http.MethodGet, "/instance/"+name+"/connection/status", nil, &is)
	if is.Limits == nil || is.Limits.PerHour.Limit != 1000 || is.Limits.PerHour.Used != len(c.sent)+len(c.inGroup) {
		t.Errorf("the limits of %s: %+v, after %d messages", name, is.Limits, len(c.sent)+len(c.inGroup))
	}
}

// large stores so many long texts that the program cannot hand its account
// over before it is read.
func (c *chatting) large(t *testing.T) {
	t.Helper()
	for i := range 200 {
		text := fmt.Sprintf("%d %s", i, strings.Repeat("x", 60_000))
		if _, err := c.anne.SendText(t.Context(), c.own.JID(), text); err != nil {
			t.Fatal(err)
		}
		c.got = append(c.got, text)
	}
	c.everythingIsRead(t)
}

// beginExport asks for the account and reads the first of it.
func (c *chatting) beginExport(t *testing.T) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(c.API.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	_, _ = fmt.Fprintf(conn, "POST /instance/shop/export HTTP/1.1\r\nHost: x\r\nApikey: %s\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{\"messages\":true}", c.Sec.GlobalAuthToken)
	said, err := bufio.NewReaderSize(conn, 512).ReadString('\n')
	if err != nil || !strings.Contains(said, "200") {
		t.Fatalf("%q %v", said, err)
	}
	return conn
}

// TestExportIsUndoneWhenItsReaderDisconnects: while it is read there is no second one,
// and when it is not read to its end the instance has not moved.
func TestExportIsUndoneWhenItsReaderDisconnects(t *testing.T) {
	c := newChatting(t)
	c.large(t)
	conn := c.beginExport(t)
	c.moved(t)
	key := consumer.Key(c.Sec.GlobalAuthToken)
	if status, answer := c.Raw(key, http.MethodPost, "/instance/shop/export", "{}"); status != http.StatusConflict || !strings.Contains(answer, "TRANSFER_RUNNING") {
		t.Errorf("a second export: %d %s", status, answer)
	}
	_ = conn.Close()
	c.AwaitOnline("shop", c.Token)
	if left, _ := filepath.Glob(c.DataFile() + ".media/*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	c.chat(t, "after", 20, true)
	c.everythingIsRead(t)
	c.Stop()
}

// TestKilledExportDoesNotReconnect: the instance stays marked
// as moved, whatever its reader has, until an operator confirms that it was not imported.
func TestKilledExportDoesNotReconnect(t *testing.T) {
	c := newChatting(t)
	c.large(t)
	c.beginExport(t)
	c.Kill()
	c.chat(t, "while nothing runs", 10, false)
	c.Start()
	c.moved(t)
	if left, _ := filepath.Glob(c.DataFile() + ".media/*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if said := c.postern(t, 0, "instance", "export", "--undo", "shop"); strings.Contains(said, "next start") {
		t.Errorf("the undo said %q", said)
	}
	c.AwaitOnline("shop", c.Token)
	c.chat(t, "after", 20, true)
	c.everythingIsRead(t)
	c.Stop()
}

// TestExportWithoutFileIsUndone: since the connection broke behind the
// program, or the file could not be written. What an earlier export has marked it leaves.
func TestExportWithoutFileIsUndone(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := newChatting(t)
	c.chat(t, "before", 10, true)
	to, err := url.Parse(c.API.Base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorLog = nil
	proxy.ModifyResponse = func(r *http.Response) error { // takes all, and hands half of it on
		if r.Request.Method == http.MethodPost && r.StatusCode == http.StatusOK {
			all, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			r.Body = io.NopCloser(bytes.NewReader(all[:len(all)/2]))
		}
		return nil
	}
	between := httptest.NewServer(proxy)
	t.Cleanup(between.Close)
	file := filepath.Join(t.TempDir(), "shop.account")
	if said := c.postern(t, 1, "instance", "export", "--url", between.URL, "--key", c.Sec.GlobalAuthToken, "shop", file); !strings.Contains(said, "nothing was exported, and shop has not moved") {
		t.Errorf("it said %s", said)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("there is half a file")
	}
	c.AwaitOnline("shop", c.Token)
	c.postern(t, 1, "instance", "export", "--undo", "shop")
	c.postern(t, 1, "instance", "export", "shop", filepath.Join(file, "in", "no", "folder"))
	c.chat(t, "after", 10, true)
	c.everythingIsRead(t)

	c.postern(t, 0, "instance", "export", "shop", file)
	if said := c.postern(t, 1, "instance", "export", "--url", between.URL, "--key", c.Sec.GlobalAuthToken, "shop", file+".2"); !strings.Contains(said, "has not moved by this") {
		t.Errorf("an export of one that had moved before: %s", said)
	}
	c.moved(t)
	c.postern(t, 0, "instance", "export", "--undo", "shop")
	c.AwaitOnline("shop", c.Token)
	c.chat(t, "at last", 10, true)
	c.everythingIsRead(t)
	c.Stop()
}

// TestABatchWaitsWhileItsInstanceHasMoved: what is on its way has an outcome that is known,
// and the rest is sent when the export was taken back.
func TestABatchWaitsWhileItsInstanceHasMoved(t *testing.T) {
	t.Parallel() // it waits more than it works
	c := newChatting(t)
	var people []string
	for i := range 30 {
		number := fmt.Sprintf("49151600%05d", i+1)
		if _, err := c.Sandbox.AddPhone(sandbox.PhoneOptions{Number: number}); err != nil {
			t.Fatal(err)
		}
		people = append(people, number)
	}
	b := c.CreateBatchOf(map[string]any{
		"name": "moving", "instances": []string{"shop"}, "recipients": people,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "for moving"}}, "options": map[string]any{"delay": map[string]any{"minMs": 200, "maxMs": 200}},
	})
	c.Await("a part of the batch", func() bool { return c.Batch(b.ID).Counts.Success > 3 })
	file := filepath.Join(t.TempDir(), "shop.account")
	c.postern(t, 0, "instance", "export", "shop", file)
	c.Await("an end of what was on its way", func() bool { return len(c.itemsAs(b.ID, "SENDING")) == 0 })
	for _, status := range []string{"UNKNOWN", "FAILED", "SKIPPED"} {
		if items := c.itemsAs(b.ID, status); len(items) > 0 {
			t.Errorf("%s: %v", status, items)
		}
	}
	if n := len(c.itemsAs(b.ID, "SUCCESS")); n == len(people) {
		t.Error("the batch had ended before the export")
	}
	c.postern(t, 0, "instance", "export", "--undo", "shop")
	c.AwaitOnline("shop", c.Token)
	c.Await("the end of the batch", func() bool { return c.Batch(b.ID).Status == event.BatchIsCompleted })
	c.CheckItems(b.ID, "moving")
	c.Stop()
}

// itemsAs returns the recipients of the items of a batch that have a status.
func (c *chatting) itemsAs(batch uuid.UUID, status string) (all []string) {
	for _, item := range rig.Pages[rig.ItemAnswer](c.World, c.User, "/message/batches/"+batch.String()+"/items") {
		if item.Status == status {
			all = append(all, item.NormalizedRecipient)
		}
	}
	return all
}
