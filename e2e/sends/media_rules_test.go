package sends

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// photo returns the bytes of the example picture.
func photo(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("media", "testdata", "photo.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestFilesThatAreNotKeptAreServed: those of newsletters, of the status and of the history are fetched when a GET asks for them.
func TestFilesThatAreNotKeptAreServed(t *testing.T) {
	t.Parallel()
	c := newCabinet(t)
	c.Vars["bread"] = breadChannel
	c.Do(t, rig.Act("$own", fmt.Sprintf(joinBread, "owner")))
	want := photo(t)
	for path, body := range map[string]string{
		"send/media":  `{"number":"$bread","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg"}}`,
		"send/status": `{"statusMessage":{"mediatype":"image","media":"$files/photo.jpg"}}`,
	} {
		m := c.Sent(t, 0, c.PostJSON(t, c.Fill("/instance/$name/"+path), body), `{}`)
		for range 2 {
			if a := c.get(t, m.ID); a.Status != http.StatusOK || !bytes.Equal(a.Body, want) || a.Header.Get("Content-Type") != "image/jpeg" {
				t.Errorf("%s: %d, %d bytes of %s", path, a.Status, len(a.Body), a.Header.Get("Content-Type"))
			}
		}
	}
	c.Do(t, rig.Act("$anne", `{"do":"text","to":"$own","text":"now","id":"NOW"}`))
	c.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"NOW"}`)
	c.Do(t, rig.Act("$own", `{"do":"past","with":"$anne","messages":1,"kind":"document","data":"`+base64.StdEncoding.EncodeToString(want)+`"}`))
	c.Do(t, rig.Route("POST", "/instance/$name/chat/history", `{"chat":"$anne"}`))
	c.AwaitEvent(t, 0, event.HistorySync, `{"data":{"stored":1}}`)
	var past struct {
		Messages struct{ Records []event.Message }
	}
	c.Call(consumer.Bearer(c.Token), "POST", "/instance/shop/db/messages", json.RawMessage(`{"filter":{"messageType":"documentMessage"}}`), &past)
	if len(past.Messages.Records) != 1 {
		t.Fatalf("of the history: %+v", past)
	}
	for range 2 {
		if a := c.get(t, past.Messages.Records[0].ID); a.Status != http.StatusOK || !bytes.Equal(a.Body, want) {
			t.Errorf("of the history: %d, %d bytes", a.Status, len(a.Body))
		}
	}
	if all := c.files(""); len(all) != 0 {
		t.Errorf("kept: %+v", all)
	}
}

// TestFetchedFilesStayUntilAStart: what a GET fetched is served from the cache, which a start empties.
func TestFetchedFilesStayUntilAStart(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	s.Do(t, rig.Act("$anne", `{"do":"image","to":"$own","caption":"fleeting","id":"FLEETING"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"FLEETING"}`)
	var m struct {
		Messages struct{ Records []event.Message }
	}
	s.Call(consumer.Bearer(s.Token), "POST", "/instance/shop/db/messages", json.RawMessage(`{"filter":{"keyId":"FLEETING"}}`), &m)
	get := func(fetches float64) {
		t.Helper()
		if a := s.Request(t, http.MethodGet, fmt.Sprintf("/instance/shop/messages/%d/media", m.Messages.Records[0].ID), "", nil); a.Status != http.StatusOK {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if got := s.Metric(`postern_media_fetch_duration_seconds_count{outcome="fetched"}`); got != fetches {
			t.Errorf("%v fetches, want %v", got, fetches)
		}
	}
	get(1)
	get(1)
	s.Kill()
	s.Start()
	s.AwaitOnline("shop", s.Token)
	get(1) // since the start
}

// TestLinksKeepTheirLife: media.link_ttl is for links made later, and a link is 410 once it has passed.
func TestLinksKeepTheirLife(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t, "MEDIA_LINK_TTL=2s")
	s.Do(t, rig.Act("$anne", `{"do":"image","to":"$own","caption":"linked","id":"LINKED"}`))
	s.AwaitEvent(t, 0, event.MessagesUpsert, `{"keyId":"LINKED"}`)
	var m struct {
		Messages struct{ Records []event.Message }
	}
	s.Call(consumer.Bearer(s.Token), "POST", "/instance/shop/db/messages", json.RawMessage(`{"filter":{"keyId":"LINKED"}}`), &m)
	link := func(body string, life time.Duration) (l event.MediaLink) {
		t.Helper()
		s.Call(consumer.Bearer(s.Token), "POST", fmt.Sprintf("/instance/shop/messages/%d/media/link", m.Messages.Records[0].ID), json.RawMessage(body), &l)
		if left := time.Until(l.ExpiresAt.Time); left > life || left < life-time.Minute {
			t.Errorf("%s: it expires in %s", body, left)
		}
		if status, _ := fetched(t, &l); status != http.StatusOK {
			t.Errorf("%s: %d", body, status)
		}
		return l
	}
	short, chosen := link(`{}`, 2*time.Second), link(`{"expiresIn":3600}`, time.Hour)
	s.Kill()
	s.Env = append(s.Env, "MEDIA_LINK_TTL=48h")
	s.Start()
	s.AwaitOnline("shop", s.Token)
	for _, l := range []*event.MediaLink{&short, &chosen} { // the program has another port
		_, path, _ := strings.Cut(l.URL, "/media/")
		l.URL = s.API.Base + "/media/" + path
	}
	link(`{}`, 48*time.Hour)
	s.Await("the first link has expired", func() bool { return time.Now().After(short.ExpiresAt.Time) })
	if status, body := fetched(t, &short); status != http.StatusGone || !bytes.Contains(body, []byte("LINK_EXPIRED")) {
		t.Errorf("expired: %d %s", status, body)
	}
	if status, _ := fetched(t, &chosen); status != http.StatusOK {
		t.Errorf("of an hour: %d", status)
	}
}

// TestForgottenFileComesFromThePhone when a GET asks for it. Without a phone that has it, it is gone.
func TestForgottenFileComesFromThePhone(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t, "MEDIA_CACHE=0")
	s.Do(t, rig.Act("$anne", `{"do":"image","to":"$own","caption":"fleeting"}`))
	var e struct {
		Data struct {
			ID      int64
			Content struct{ DirectPath string }
		}
	}
	if err := json.Unmarshal(s.AwaitEvent(t, 0, event.MessagesUpsert, `{"content":{"caption":"fleeting"}}`), &e); err != nil {
		t.Fatal(err)
	}
	get := func() rig.Answer {
		return s.Request(t, http.MethodGet, fmt.Sprintf("/instance/shop/messages/%d/media", e.Data.ID), "", nil)
	}
	hosted := get()
	s.Sandbox.ForgetMedia(e.Data.Content.DirectPath)
	again := get()
	if hosted.Status != http.StatusOK || again.Status != http.StatusOK || !bytes.Equal(hosted.Body, again.Body) {
		t.Errorf("%d, then %d %.100s", hosted.Status, again.Status, again.Body)
	}
	s.Sandbox.LoseMedia(e.Data.Content.DirectPath)
	refused(t, get(), http.StatusGone, "MEDIA_GONE")
}

// TestKeptFileGoesWithItsMessage: that of a removed chat is neither in the folder nor in the list.
func TestKeptFileGoesWithItsMessage(t *testing.T) {
	t.Parallel()
	c := newCabinet(t)
	c.receive(t, "GOES", []byte("of Anne"))
	f := c.await("GOES", "STORED", "")
	c.Do(t, rig.Act("$own", `{"do":"media","to":"$bob","kind":"document","fileName":"b.bin","data":"b2YgQm9i","id":"STAYS"}`))
	stays := c.await("STAYS", "STORED", "")
	if status, answer := c.Raw(consumer.Bearer(c.Token), http.MethodDelete, c.Fill("/instance/$name/chats/$anne?stored=true"), ""); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, answer)
	}
	c.Await("the file is gone", func() bool {
		_, err := os.Stat(c.path(f.MessageID))
		return os.IsNotExist(err) && c.file("GOES").State == ""
	})
	refused(t, c.get(t, f.MessageID), http.StatusNotFound, "MESSAGE_NOT_FOUND")
	if a := c.get(t, stays.MessageID); a.Status != http.StatusOK || string(a.Body) != "of Bob" {
		t.Errorf("that of another chat: %d %s", a.Status, a.Body)
	}
}

// TestFilesAreKeptOnlyWhereAsked: the default keeps none.
func TestFilesAreKeptOnlyWhereAsked(t *testing.T) {
	t.Parallel()
	c := &cabinet{rig.NewSendScene(t), ""}
	c.receive(t, "NONE", []byte("not kept"))
	if all := c.files(""); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if _, err := os.Stat(filepath.Join(c.Folder, "data", "media")); !os.IsNotExist(err) {
		t.Errorf("there is a folder: %v", err)
	}
}

// TestEventsHaveTheSameLinkEverywhere: at the webhook, at an endpoint and at a WebSocket.
func TestEventsHaveTheSameLinkEverywhere(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	boxes := map[string]*mailbox{"webhook": {}, "endpoint": {}}
	urls := map[string]string{}
	for name, box := range boxes {
		server := httptest.NewServer(box)
		t.Cleanup(server.Close)
		urls[name] = server.URL
	}
	wanted := map[string]bool{"messagesUpsert": true}
	s.Call(consumer.Bearer(s.Token), http.MethodPut, "/instance/shop/webhook", map[string]any{"url": urls["webhook"], "enabled": true, "events": wanted}, nil)
	s.Call(consumer.Bearer(s.Token), http.MethodPut, "/instance/shop/webhook/options", map[string]any{
		"media": "link", "durable": true, "endpoints": []any{map[string]any{"id": "crm", "url": urls["endpoint"], "events": wanted}},
	}, nil)
	ws, _, err := websocket.Dial(t.Context(), strings.Replace(s.API.Base, "http", "ws", 1)+"/ws/instance/events?event=messages.upsert", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.Token}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(1 << 24)
	s.Do(t, rig.Act("$anne", `{"do":"image","to":"$own","caption":"for all"}`))
	_, live, err := ws.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := mediaOf(t, live)
	if want == nil || want.URL == "" {
		t.Fatalf("%s", live)
	}
	for name, box := range boxes {
		s.Await("the event at the "+name, func() bool { return len(box.with(event.MessagesUpsert, "for all")) > 0 })
		if got := mediaOf(t, box.with(event.MessagesUpsert, "for all")[0]); got == nil || *got != *want {
			t.Errorf("the %s has %+v, the WebSocket %+v", name, got, want)
		}
	}
	if status, _ := fetched(t, want); status != http.StatusOK {
		t.Errorf("%d", status)
	}
}
