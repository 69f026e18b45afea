package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/sockets"
	"postern/instance"
	"postern/instance/later"
	"postern/media"
)

// wantLimit requires a 429 that names the setting.
func wantLimit(t *testing.T, res *http.Response, name string) {
	t.Helper()
	e := wantError(t, res, 429, "LIMIT_REACHED")
	if !strings.Contains(e.Messages[0], name) || res.Header.Get("Retry-After") != "60" {
		t.Errorf("messages %q, Retry-After %q", e.Messages, res.Header.Get("Retry-After"))
	}
}

func TestBatchOverTheUsersLimitFreesItsKey(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	var err error
	if r.engine, err = batch.New(batch.Config{Store: r.store, Outbox: r.box, Fleet: noFleet{}, NewMessageID: uuid.NewString, MaxOpen: 1}); err != nil {
		t.Fatal(err)
	}
	r.api.batches.Engine = r.engine
	create := func(key string) *http.Response {
		req := httptest.NewRequest("POST", "/message/batches",
			strings.NewReader(`{"name":"x","instances":["a"],"recipients":["4917400000001"],"message":{"type":"text","payload":{"text":"hi"}}}`))
		req.Header.Set("Authorization", "Bearer "+r.token)
		req.Header.Set("Idempotency-Key", key)
		return do(r.h, req)
	}
	first := decoded[batch.View](t, create("one"))
	wantLimit(t, create("two"), "message.batch.max_open")
	if res := create("one"); res.StatusCode != 201 || res.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the first again: %d", res.StatusCode)
	}
	if _, err := r.engine.StopBatch(t.Context(), r.user, first.ID); err != nil {
		t.Fatal(err)
	}
	if res := create("two"); res.StatusCode != 201 || res.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("the second once there is room: %d, replayed %q", res.StatusCode, res.Header.Get("Idempotency-Replayed"))
	}
}

func TestTheDocumentTellsWhichRoutesHaveALimit(t *testing.T) {
	limited := []string{"POST /message/batches", "POST /instance/{i}/media/uploads", "GET /ws/global/events", "GET /ws/instance/events"}
	for _, row := range routes() {
		if route := row.Method + " " + row.Path; slices.Contains(limited, route) && !slices.Contains(row.Codes, rest.CodeLimitReached) {
			t.Errorf("%s does not", route)
		}
	}
}

// TestRepeatedEventNameSubscribesOnce: a query has room for a thousand names.
func TestRepeatedEventNameSubscribesOnce(t *testing.T) {
	r := newRig(t)
	do(r.h, handshakeOf("/ws/global/events?event=message.batch.paused"+strings.Repeat(",message.batch.paused", 1000)+"&token="+r.token, nil))
	if got := r.hub.stream.Kinds; len(got) != 1 {
		t.Errorf("%d kinds", len(got))
	}
}

func TestAWebSocketOverTheTokensLimitIs429(t *testing.T) {
	r := newRig(t)
	r.hub.err = sockets.ErrTooManySockets
	res := do(r.h, handshakeOf("/ws/global/events?event=*&token="+r.token, nil))
	wantError(t, res, 429, "LIMIT_REACHED")
	do(r.h, handshakeOf("/ws/instance/events?event=*&token="+r.instance("a"), nil))
	first := r.hub.stream.Token
	do(r.h, handshakeOf("/ws/instance/events?event=*&token="+r.instance("b"), nil))
	if r.hub.stream.Token == first {
		t.Error("two tokens are one to the hub")
	}
}

// uploader is an account that accepts every file.
type uploader struct{ instance.Account }

func (uploader) Upload(context.Context, event.MediaFile) (event.Uploaded, error) {
	return event.Uploaded{MediaInfo: event.MediaInfo{Kind: event.MediaImage}, UploadedAt: event.At(time.Now())}, nil
}

// TestRefusedCommonFileLeavesNoUpload, because none was requested.
func TestRefusedCommonFileLeavesNoUpload(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	decoded[map[string]any](t, r.as(token, "GET", "/instance/a/connect", ""))
	r.line.Account = uploader{}
	r.line.online.Store(true)
	r.api.sends.Processor = later.NewProcessor(later.ProcessorConfig{
		Store: r.store, Registry: r.registry, Supervisor: r.api.sends.Supervisor, Workers: 1, QueueSize: 1,
	})
	photo, err := os.ReadFile(filepath.Join("..", "media", "testdata", "photo.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	for i, status := range []int{202, 202, 503} {
		body, kind := formBody(t, part{"attachment", "a.jpg", string(photo)}, part{name: "mediaType", text: "image"},
			part{name: "chat", text: "120363000000000001@g.us"}, part{name: "options", text: `{"mentionAll":true}`})
		if res := r.form("/instance/a/send/media-file", token, body, kind); res.StatusCode != status {
			t.Fatalf("send %d: %d, want %d", i+1, res.StatusCode, status)
		}
	}
	if n, _, err := r.media.Held(); n != 2 || err != nil {
		t.Errorf("%d uploads are kept for 2 accepted sends, %v", n, err)
	}
}

// TestUploadOverTheLimitIsRefusedUnread, because that takes time and calls WhatsApp.
func TestUploadOverTheLimitIsRefusedUnread(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.spool = filepath.Join(t.TempDir(), "media")
	var err error
	if r.media, err = media.New(media.Config{Store: r.store, Dir: r.spool, MaxUploads: 1}); err != nil {
		t.Fatal(err)
	}
	r.api.sends.Media = r.media
	if _, err := r.media.Keep(t.Context(), 1, event.Uploaded{MediaInfo: event.MediaInfo{Kind: event.MediaImage}, UploadedAt: event.At(time.Now())}, media.Tags{}); err != nil {
		t.Fatal(err)
	}
	body, kind := formBody(t, part{"attachment", "a.png", "no picture"}, part{name: "mediaType", text: "image"})
	wantLimit(t, r.form("/instance/a/media/uploads", token, body, kind), "media.max_uploads")
	wantLimit(t, r.as(token, "POST", "/instance/a/media/uploads", `{"mediaType":"image","media":"http://127.0.0.1:1/x"}`), "media.max_uploads")
	if left := r.spooled(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
