package httpapi

import (
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/instance"
)

func TestAnUnknownStatusOfMessagesIs400AndTheAllowedOnesAreNamed(t *testing.T) {
	r, token := online(t)
	for path, body := range map[string]string{
		"/instance/a/db/messages": `{"filter":{"status":"DELIVERED"}}`,
		"/chat/findMessages/a":    `{"where":{"status":"DELIVERED"}}`,
	} {
		e := wantError(t, r.as(token, "POST", path, body), 400, codeInvalidQuery)
		for _, s := range updateStatuses() {
			if !strings.Contains(e.Messages[0], string(s)) {
				t.Errorf("%s does not name %s", e.Messages[0], s)
			}
		}
	}
}

// TestEveryStatusOfMessagesSelects stores one message of each status, so that a
// status that the filter takes is one that an update can have.
func TestEveryStatusOfMessagesSelects(t *testing.T) {
	r, token := online(t)
	for _, s := range updateStatuses() {
		r.keep(t, received("M-"+string(s), anne, ""))
		err := r.line.report(t.Context(), event.Fact{Kind: event.MessagesUpdate, Data: event.Receipt{KeyIDs: []string{"M-" + string(s)}, Status: s, At: time.Now()}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range updateStatuses() {
		var all []instance.StoredMessage
		for deadline := time.Now().Add(10 * time.Second); len(all) == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			found := decoded[messageList](t, r.as(token, "POST", "/instance/a/db/messages", `{"filter":{"status":"`+string(s)+`"}}`))
			all = found.Messages.Records // an update is stored behind the back of who reports it
		}
		if len(all) != 1 || all[0].KeyID != "M-"+string(s) {
			t.Errorf("%s: %+v", s, all)
		}
	}
}

func TestATypeOfMessagesThatIsNotKnownSelectsNothing(t *testing.T) {
	r, token := online(t)
	r.keep(t, received("M1", anne, ""))
	for kind, want := range map[string]int{"conversation": 1, "aTypeOfTheFuture": 0} {
		found := decoded[messageList](t, r.as(token, "POST", "/instance/a/db/messages", `{"filter":{"messageType":"`+kind+`"}}`))
		if len(found.Messages.Records) != want {
			t.Errorf("%s: %+v", kind, found.Messages.Records)
		}
	}
}
