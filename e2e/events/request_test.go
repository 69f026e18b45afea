package events

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

// TestEventOfACallHasItsRequestID: also the event of the changed app state.
func TestEventOfACallHasItsRequestID(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	m := s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), `{"number":"$anne","textMessage":{"text":"a"}}`), `{}`)
	for _, row := range []struct {
		method, path, body string
		kind               event.Kind
	}{
		{http.MethodPost, "/chat/unread", `{"chat":"$anne","unread":true}`, event.ChatsUpdated},
		{http.MethodPost, "/chat/star", fmt.Sprintf(`{"messageId":%d,"starred":true}`, m.ID), event.MessagesStar},
		{http.MethodDelete, fmt.Sprintf("/chat/delete-for-me?messageId=%d", m.ID), "", event.MessagesDelete},
		{http.MethodDelete, "/chats/$anne@s.whatsapp.net", "", event.ChatsDelete},
		{http.MethodPut, "/profile", `{"name":"Bakery"}`, event.SettingsUpdate},
	} {
		from := len(s.Webhooks())
		a := s.Request(t, row.method, s.Fill("/instance/$name"+row.path), "application/json", strings.NewReader(s.Fill(row.body)))
		if a.Status/100 != 2 {
			t.Fatalf("%s: %d %s", row.path, a.Status, a.Body)
		}
		for _, kind := range []event.Kind{event.StatusInstance, row.kind} {
			var all []consumer.Webhook
			s.Await(string(kind)+" of "+row.path, func() bool {
				all = slices.DeleteFunc(s.Webhooks()[from:], func(w consumer.Webhook) bool { return w.Event != string(kind) })
				return len(all) > 0
			})
			if got, want := all[0].Header.Get("X-Request-Id"), a.Header.Get("X-Request-Id"); got != want || want == "" {
				t.Errorf("%s of %s has the request id %q, the call %q: %s", kind, row.path, got, want, all[0].Body)
			}
		}
	}
}
