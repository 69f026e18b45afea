package sends

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// mailbox is the webhook of the instance alone.
type mailbox struct {
	mu     sync.Mutex
	bodies [][]byte
	refuse int // requests that are answered 500
}

func (m *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bodies = append(m.bodies, raw)
	if m.refuse > 0 {
		m.refuse--
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// with returns the bodies of an event with a text.
func (m *mailbox) with(kind event.Kind, text string) (all [][]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.bodies {
		if bytes.Contains(b, []byte(`"event":"`+string(kind)+`"`)) && bytes.Contains(b, []byte(text)) {
			all = append(all, b)
		}
	}
	return all
}

func mediaOf(t *testing.T, body []byte) *event.MediaLink {
	t.Helper()
	var e struct {
		Data struct{ Media *event.MediaLink }
	}
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatal(err)
	}
	return e.Data.Media
}

// fetched gets a link without a credential and compares the file's hash.
func fetched(t *testing.T, l *event.MediaLink) (status int, content []byte) {
	t.Helper()
	res, err := http.Get(l.URL) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(raw); res.StatusCode == http.StatusOK && hex.EncodeToString(sum[:]) != l.SHA256 {
		t.Errorf("%s is another file than its link says", l.URL)
	}
	return res.StatusCode, raw
}

// TestEventsHaveLinksToFiles: with media link the events of messages with a file have its
// address, at the webhook of the instance or at the global one, as the options of each say.
func TestEventsHaveLinksToFiles(t *testing.T) {
	s := rig.NewSendScene(t)
	box := &mailbox{}
	server := httptest.NewServer(box)
	t.Cleanup(server.Close)
	s.Call(consumer.Bearer(s.Token), "PUT", "/instance/shop/webhook", map[string]any{"url": server.URL, "enabled": true, "events": map[string]bool{"messagesUpsert": true, "sendMessage": true}}, nil)
	own := func(options string) {
		t.Helper()
		s.Do(t, rig.Route("PUT", "/instance/shop/webhook/options", options))
	}
	global := func(options string) {
		t.Helper()
		s.Call(consumer.Key(s.Sec.GlobalAuthToken), "PUT", "/webhook/options", json.RawMessage(options), nil)
	}
	one := func(kind event.Kind, text string) (atOwn, atGlobal *event.MediaLink, body []byte) {
		t.Helper()
		s.Await(text+" at both", func() bool { return len(box.with(kind, text)) > 0 && s.BodyWith(kind, text) })
		for _, w := range s.Webhooks() {
			if bytes.Contains(w.Body, []byte(`"event":"`+string(kind)+`"`)) && bytes.Contains(w.Body, []byte(text)) {
				atGlobal = mediaOf(t, w.Body)
			}
		}
		body = box.with(kind, text)[0]
		return mediaOf(t, body), atGlobal, body
	}
	for i, c := range []struct {
		own, global         string
		wantOwn, wantGlobal bool
	}{
		{`{}`, `{}`, false, false},
		{`{"media":"none"}`, `{"media":"none"}`, false, false},
		{`{"media":"link"}`, `{}`, true, false},
		{`{}`, `{"media":"link"}`, false, true},
		{`{"media":"link","durable":true}`, `{"durable":true}`, true, false},
		{`{"durable":true}`, `{"durable":true,"media":"link"}`, false, true},
		{`{"media":"link","durable":true}`, `{"media":"link"}`, true, true},
	} {
		own(c.own)
		global(c.global)
		text := "loaf number " + string(rune('a'+i))
		s.Do(t, rig.Act("$anne", `{"do":"image","to":"$own","caption":"`+text+`"}`))
		atOwn, atGlobal, body := one(event.MessagesUpsert, text)
		if (atOwn != nil) != c.wantOwn || (atGlobal != nil) != c.wantGlobal {
			t.Errorf("%s %s: own %v, global %v", c.own, c.global, atOwn, atGlobal)
		}
		if err := rig.CheckEvent(event.MessagesUpsert, body); err != nil {
			t.Error(err)
		}
		for _, l := range []*event.MediaLink{atOwn, atGlobal} {
			if l == nil {
				continue
			}
			if status, raw := fetched(t, l); status != 200 || len(raw) == 0 || !strings.HasPrefix(l.URL, s.API.Base+"/media/") || l.Kind != "image" || time.Until(l.ExpiresAt.Time) < 167*time.Hour {
				t.Errorf("%d %d bytes %+v", status, len(raw), l)
			}
		}
	}
	t.Run("a sent file", func(t *testing.T) {
		a := s.Multipart(t, "/instance/shop/send/media-file", "photo.jpg", map[string]string{"number": "$anne", "mediaType": "image", "caption": "from us"})
		atOwn, _, _ := one(event.SendMessage, "from us")
		want, err := os.ReadFile(filepath.Join("media", "testdata", "photo.jpg"))
		if err != nil || atOwn == nil || a.Status != 200 || bytes.Contains(a.Body, []byte("/media/")) {
			t.Fatalf("%v %v %d %s", err, atOwn, a.Status, a.Body)
		}
		if status, raw := fetched(t, atOwn); status != 200 || !bytes.Equal(raw, want) {
			t.Errorf("%d, %d bytes", status, len(raw))
		}
	})
	t.Run("the same at each attempt", func(t *testing.T) {
		box.mu.Lock()
		box.refuse = 1
		box.mu.Unlock()
		s.Do(t, rig.Act("$anne", `{"do":"image","to":"$own","caption":"twice"}`))
		s.Await("a second attempt", func() bool { return len(box.with(event.MessagesUpsert, "twice")) > 1 })
		if all := box.with(event.MessagesUpsert, "twice"); !bytes.Equal(all[0], all[1]) || mediaOf(t, all[0]) == nil {
			t.Errorf("%s\n%s", all[0], all[1])
		}
	})
	t.Run("the address of the listener is warned of once", func(t *testing.T) {
		if n := strings.Count(s.Output.String(), "set server.base_url"); n != 1 {
			t.Errorf("%d warnings", n)
		}
	})
	t.Run("a text has none", func(t *testing.T) {
		s.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"only words"}`))
		if atOwn, _, body := one(event.MessagesUpsert, "only words"); atOwn != nil || bytes.Contains(body, []byte(`"media"`)) {
			t.Errorf("%s", body)
		}
	})
}
