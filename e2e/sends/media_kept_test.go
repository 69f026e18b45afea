package sends

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

type keptFile struct {
	MessageID            int64
	KeyID, State, Reason string
	Size                 int64
	StoredAt, ExpiresAt  *event.Time
	Kind, FileName, Chat string
}

type cabinet struct {
	*rig.SendScene
	folder string
}

func newCabinet(t *testing.T, env ...string) *cabinet {
	folder := filepath.Join(t.TempDir(), "kept")
	return &cabinet{rig.NewSendScene(t, append([]string{"MEDIA_STORE_KIND=local", "MEDIA_STORE_PATH=" + folder}, env...)...), folder}
}

func (c *cabinet) files(query string) []keptFile {
	var list struct{ Records []keptFile }
	c.Call(consumer.Bearer(c.Token), "GET", "/instance/shop/media/files"+query, nil, &list)
	return list.Records
}

func (c *cabinet) file(key string) (f keptFile) {
	for _, f := range c.files("?limit=200") {
		if f.KeyID == key {
			return f
		}
	}
	return f
}

// receive lets Anne send a document and waits for its event.
func (c *cabinet) receive(t *testing.T, key string, content []byte) {
	t.Helper()
	act, _ := json.Marshal(map[string]string{"do": "media", "to": rig.OwnNumber, "kind": "document", "fileName": key + ".bin", "data": base64.StdEncoding.EncodeToString(content), "id": key})
	c.Do(t, rig.Act("$anne", string(act)))
	c.AwaitEvent(t, 0, event.MessagesUpsert, fmt.Sprintf(`{"keyId":%q}`, key))
}

func (c *cabinet) await(key, state, reason string) (f keptFile) {
	c.Await(fmt.Sprintf("%s is %s %s", key, state, reason), func() bool {
		f = c.file(key)
		return f.State == state && f.Reason == reason
	})
	return f
}

func (c *cabinet) get(t *testing.T, id int64) rig.Answer {
	t.Helper()
	return c.Request(t, http.MethodGet, fmt.Sprintf("/instance/shop/messages/%d/media", id), "", nil)
}

func (c *cabinet) path(id int64) string { return filepath.Join(c.folder, "1", fmt.Sprint(id)) }

// TestFilesAreKept: files of received and sent messages are kept in the folder and served
// from it, until they are deleted, or their instance is.
func TestFilesAreKept(t *testing.T) {
	c := newCabinet(t, "MEDIA_STORE_MAX_FILE=300000", "MEDIA_CACHE=0")
	content := bytes.Repeat([]byte("kept "), 500)
	c.receive(t, "KEPT1", content)
	f := c.await("KEPT1", "STORED", "")
	if raw, err := os.ReadFile(c.path(f.MessageID)); err != nil || !bytes.Equal(raw, content) || f.Size != int64(len(content)) || f.StoredAt == nil || f.ExpiresAt == nil || f.Kind != "document" {
		t.Errorf("%v %d bytes %+v", err, len(raw), f)
	}
	for path, want := range map[string]os.FileMode{c.folder: 0o700, filepath.Dir(c.path(1)): 0o700, c.path(f.MessageID): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	t.Run("served without WhatsApp", func(t *testing.T) {
		if err := os.WriteFile(c.path(f.MessageID), bytes.ToUpper(content), 0o600); err != nil { // of the same length, to see where it comes from
			t.Fatal(err)
		}
		if a := c.get(t, f.MessageID); a.Status != 200 || !bytes.Equal(a.Body, bytes.ToUpper(content)) {
			t.Errorf("%d %.20s", a.Status, a.Body)
		}
	})
	t.Run("of another length counts as lost", func(t *testing.T) {
		if err := os.WriteFile(c.path(f.MessageID), content[:100], 0o600); err != nil {
			t.Fatal(err)
		}
		if a := c.get(t, f.MessageID); a.Status != 200 || !bytes.Equal(a.Body, content) {
			t.Errorf("%d, %d bytes", a.Status, len(a.Body))
		}
		for name, want := range map[string]float64{
			"postern_media_lost_total": 1, "postern_media_bytes": float64(len(content)), `postern_media_requests_total{status="200"}`: 2,
			`postern_media_fetch_duration_seconds_count{outcome="fetched"}`: 1,
		} {
			if got := c.Metric(name); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
	})
	t.Run("too large", func(t *testing.T) {
		c.receive(t, "LARGE", make([]byte, 400_000))
		c.await("LARGE", "SKIPPED", "SIZE")
	})
	t.Run("deleted on request", func(t *testing.T) {
		if a := c.Request(t, http.MethodDelete, fmt.Sprintf("/instance/shop/messages/%d/media", f.MessageID), "", nil); a.Status != 204 {
			t.Fatalf("%d", a.Status)
		}
		if _, err := os.Stat(c.path(f.MessageID)); !os.IsNotExist(err) {
			t.Error("the file is there:", err)
		}
		if got := c.file("KEPT1"); got.State != "REMOVED" || got.Reason != "DELETED" {
			t.Errorf("%+v", got)
		}
		if a := c.get(t, f.MessageID); a.Status != 200 || !bytes.Equal(a.Body, content) {
			t.Errorf("fetched: %d, %d bytes", a.Status, len(a.Body))
		}
	})
	t.Run("a sent file", func(t *testing.T) {
		from := len(c.Webhooks())
		a := c.PostJSON(t, "/instance/shop/send/media", `{"number":"$anne","mediaMessage":{"mediatype":"document","media":"$files/note.ogg"}}`)
		m := c.Sent(t, from, a, `{}`)
		c.await(m.KeyID, "STORED", "")
	})
	t.Run("not with storeMedia false", func(t *testing.T) {
		c.Do(t, rig.Route("PUT", "/instance/shop/settings", `{"storeMedia":false}`))
		c.receive(t, "UNWANTED", content)
		if got := c.file("UNWANTED"); got.State != "" {
			t.Errorf("%+v", got)
		}
		c.Do(t, rig.Route("PUT", "/instance/shop/settings", `{}`))
	})
	t.Run("in pages", func(t *testing.T) {
		var first, second, back struct {
			TotalRecords               int
			NextCursor, PreviousCursor string
			Records                    []keptFile
		}
		page := func(query string, into any) {
			c.Call(consumer.Bearer(c.Token), "GET", "/instance/shop/media/files?"+query, nil, into)
		}
		page("limit=2", &first)
		page("limit=2&nextCursor="+url.QueryEscape(first.NextCursor), &second)
		if len(first.Records) != 2 || len(second.Records) != 1 || first.TotalRecords != 3 || second.NextCursor != "" {
			t.Fatalf("%+v, %+v", first, second)
		}
		page("limit=2&previousCursor="+url.QueryEscape(second.PreviousCursor), &back)
		if !slices.EqualFunc(back.Records, first.Records, func(a, b keptFile) bool { return a.MessageID == b.MessageID }) {
			t.Errorf("back: %+v", back)
		}
		all := slices.Concat(first.Records, second.Records)
		if all[2].KeyID != "KEPT1" || !slices.IsSortedFunc(all, func(a, b keptFile) int { return cmp.Compare(b.MessageID, a.MessageID) }) {
			t.Errorf("newest first: %+v", all)
		}
		if all := c.files("?state=STORED&limit=1"); len(all) != 1 || all[0].State != "STORED" {
			t.Errorf("%+v", all)
		}
	})
	t.Run("a kill leaves no file without a record", func(t *testing.T) {
		c.receive(t, "KEPT2", content)
		c.await("KEPT2", "STORED", "")
		c.Kill()
		for _, name := range []string{"4711", ".new-12"} {
			if err := os.WriteFile(filepath.Join(c.folder, "1", name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c.Start()
		c.AwaitOnline("shop", c.Token)
		c.Await("no orphan", func() bool {
			_, one := os.Stat(filepath.Join(c.folder, "1", "4711"))
			_, other := os.Stat(filepath.Join(c.folder, "1", ".new-12"))
			return os.IsNotExist(one) && os.IsNotExist(other)
		})
		if raw, err := os.ReadFile(c.path(c.file("KEPT2").MessageID)); err != nil || !bytes.Equal(raw, content) {
			t.Error("a kept file is gone:", err)
		}
	})
	t.Run("a revocation leaves it", func(t *testing.T) {
		from := len(c.Webhooks())
		c.Do(t, rig.Act("$anne", `{"do":"revoke","to":"$own","id":"KEPT2"}`))
		c.AwaitEvent(t, from, event.MessagesUpsert, `{"messageType":"protocolMessage"}`)
		if a := c.get(t, c.file("KEPT2").MessageID); a.Status != 200 || !bytes.Equal(a.Body, content) {
			t.Errorf("%d, %d bytes", a.Status, len(a.Body))
		}
	})
	t.Run("served when logged out", func(t *testing.T) {
		c.Call(consumer.Bearer(c.Token), "DELETE", "/instance/shop/logout", nil, nil)
		if a := c.get(t, c.file("KEPT2").MessageID); a.Status != 200 || !bytes.Equal(a.Body, content) {
			t.Errorf("%d, %d bytes", a.Status, len(a.Body))
		}
	})
	t.Run("all go with the instance", func(t *testing.T) {
		c.Call(consumer.Bearer(c.Token), "DELETE", "/instance/shop?force=true", nil, nil)
		c.Await("no folder", func() bool {
			_, err := os.Stat(filepath.Join(c.folder, "1"))
			return os.IsNotExist(err)
		})
	})
}

// TestQuotaSparesFilesOnTheirWay: the oldest go first, but not while an event that carries
// their address waits for its receiver.
func TestQuotaSparesFilesOnTheirWay(t *testing.T) {
	c := newCabinet(t, "MEDIA_STORE_MAX_BYTES=10000")
	for _, key := range []string{"Q1", "Q2", "Q3"} {
		c.receive(t, key, append(bytes.Repeat([]byte("x"), 4000), key...))
		c.await(key, "STORED", "")
	}
	c.await("Q1", "REMOVED", "QUOTA")
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(down.Close)
	c.Call(consumer.Bearer(c.Token), "PUT", "/instance/shop/webhook", map[string]any{"url": down.URL, "enabled": true, "events": map[string]bool{"messagesUpsert": true}}, nil)
	c.Do(t, rig.Route("PUT", "/instance/shop/webhook/options", `{"durable":true,"media":"link"}`))
	for _, key := range []string{"Q4", "Q5"} {
		c.receive(t, key, append(bytes.Repeat([]byte("y"), 4000), key...))
		c.await(key, "STORED", "")
	}
	c.receive(t, "Q6", bytes.Repeat([]byte("z"), 4000))
	c.await("Q6", "SKIPPED", "QUOTA")
	for _, key := range []string{"Q4", "Q5"} {
		if f := c.file(key); f.State != "STORED" {
			t.Errorf("%s: %+v", key, f)
		}
	}
}
