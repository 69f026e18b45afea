package wsbus

import (
	"testing"

	"github.com/google/uuid"

	"postern/event"
)

func TestClientGetsItsEventsInOrder(t *testing.T) {
	w := newWorld(t, Config{})
	w.kinds = []event.Kind{event.BatchCreated, event.BatchProgress}
	conn := w.dial(t, "/global")
	var want []Event
	for range 20 {
		events := w.log.emitText(t, event.BatchProgress, 2, `"<é>&`+"\u2028")
		w.publish(events...)
		want = append(want, events...)
		w.hub.PublishBatch(event.BatchProgress, uuid.New(), 1, []byte("another user's"))
		w.publish(w.log.emit(t, event.BatchPaused, 1)...) // not subscribed
		w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: []byte("another family")})
	}
	wantEvents(t, conn, want)
}

func TestAnInstanceClientGetsThatInstancesEvents(t *testing.T) {
	w := newWorld(t, Config{})
	conn := w.dial(t, "/instance")
	w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 8, Body: []byte("other")})
	w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: []byte("mine")})
	if got := read(t, conn); got != "mine" {
		t.Errorf("got %q", got)
	}
}

func TestOriginsFollowTheSettings(t *testing.T) {
	for _, c := range []struct {
		cfg    Config
		origin string
		want   bool
	}{
		{Config{AllowEmptyOrigin: true}, "", true},
		{Config{}, "", false},
		{Config{}, "https://me.example", true},
		{Config{}, "https://ME.example", true},
		{Config{}, "https://evil.example", false},
		{Config{}, "https://me.example:8443", false},
		{Config{}, "null", false},
		{Config{AllowedOrigins: []string{"https://app.example"}}, "https://app.example", true},
		{Config{AllowedOrigins: []string{"https://app.example"}}, "https://me.example", false},
		{Config{AllowedOrigins: []string{"https://app.example"}}, "http://app.example", false},
	} {
		if got := New(c.cfg).OriginAllowed(c.origin, "me.example"); got != c.want {
			t.Errorf("%+v, origin %q: %t", c.cfg, c.origin, got)
		}
	}
}
