package httpapi

import (
	"strings"
	"testing"

	"postern/event"
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

func TestEveryStatusOfTheCatalogueSelectsMessages(t *testing.T) {
	r, token := online(t)
	tried := map[event.UpdateStatus]bool{}
	for _, e := range event.Examples(event.MessagesUpdate) {
		update, ok := e.Data.(event.MessageUpdate)
		if !ok {
			t.Fatalf("%T", e.Data)
		}
		tried[update.Status] = true
		if res := r.as(token, "POST", "/instance/a/db/messages", `{"filter":{"status":"`+string(update.Status)+`"}}`); res.StatusCode != 200 {
			t.Errorf("%s: %s", update.Status, res.Status)
		}
	}
	if len(tried) != len(updateStatuses()) {
		t.Errorf("the catalogue has %v, the filter %v", tried, updateStatuses())
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
