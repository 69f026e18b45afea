package httpapi

import (
	"strings"
	"testing"

	"postern/event"
	"postern/httpapi/chats"
	"postern/httpapi/rest"
)

func TestUnknownMessageStatusIs400WithTheAllowed(t *testing.T) {
	r, token := online(t)
	for path, body := range map[string]string{
		"/instance/a/db/messages": `{"filter":{"status":"ARRIVED"}}`,
		"/chat/findMessages/a":    `{"where":{"status":"ARRIVED"}}`,
	} {
		e := wantError(t, r.as(token, "POST", path, body), 400, rest.CodeInvalidQuery)
		for _, s := range chats.UpdateStatuses() {
			if !strings.Contains(e.Messages[0], string(s)) {
				t.Errorf("%s does not name %s", e.Messages[0], s)
			}
		}
	}
}

func TestMissingPageNumberIs400WithTheField(t *testing.T) {
	r, token := online(t)
	r.keep(t, received("M1", anne, ""))
	for _, c := range []struct{ page, offset string }{
		{"0", "1"},
		{"-1", "1"},
		{"10002", "1"},
		{"102", "100"},
		{"4611686018427387905", "2"},
		{"9223372036854775807", "100"}, // whose products overflow
	} {
		e := wantError(t, r.as(token, "POST", "/chat/findMessages/a", `{"offset":`+c.offset+`,"page":`+c.page+`}`), 400, rest.CodeInvalidQuery)
		if !strings.Contains(e.Messages[0], "page") {
			t.Errorf("page %s of %s: %s", c.page, c.offset, e.Messages[0])
		}
	}
	for page, offset := range map[string]string{"10001": "1", "101": "100"} {
		found := decoded[chats.FoundList](t, r.as(token, "POST", "/chat/findMessages/a", `{"offset":`+offset+`,"page":`+page+`}`)).Messages
		if len(found.Records) != 0 || found.Total != 1 {
			t.Errorf("page %s of %s: %+v", page, offset, found)
		}
	}
}

func TestANumberedPageTellsWhatLiesBeforeIt(t *testing.T) {
	r, token := online(t)
	for _, id := range []string{"M1", "M2", "M3"} {
		r.keep(t, received(id, anne, ""))
	}
	for page, want := range map[string]string{"1": "", "2": "M3", "3": "M2"} {
		list := decoded[chats.MessageList](t, r.as(token, "POST", "/chat/findMessages/a", `{"offset":1,"page":`+page+`}`)).Messages
		if before := list.PageInfo.PreviousCursor; list.PageInfo.HasPrevious != (want != "") || (before != nil) != (want != "") {
			t.Errorf("page %s: %+v", page, list.PageInfo)
		} else if before != nil {
			back := decoded[chats.MessageList](t, r.as(token, "POST", "/instance/a/db/messages", `{"limit":1,"previousCursor":"`+*before+`"}`)).Messages
			if len(back.Records) != 1 || back.Records[0].KeyID != want {
				t.Errorf("before page %s: %+v", page, back.Records)
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
	if len(tried) != len(chats.UpdateStatuses()) {
		t.Errorf("the catalogue has %v, the filter %v", tried, chats.UpdateStatuses())
	}
}

func TestUnknownMessageTypeSelectsNothing(t *testing.T) {
	r, token := online(t)
	r.keep(t, received("M1", anne, ""))
	for kind, want := range map[string]int{"conversation": 1, "aTypeOfTheFuture": 0} {
		found := decoded[chats.MessageList](t, r.as(token, "POST", "/instance/a/db/messages", `{"filter":{"messageType":"`+kind+`"}}`))
		if len(found.Messages.Records) != want {
			t.Errorf("%s: %+v", kind, found.Messages.Records)
		}
	}
}

func TestSearchLimitIsNamedInTheError(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	for _, limit := range []string{"-1", "0", "101", "201"} {
		got := read(t, r.as(token, "GET", "/instance/a/chats/4915112345678/messages?limit="+limit, ""))
		if got.status != 400 || !strings.Contains(got.body, "between 1 and 100") {
			t.Errorf("%s: %v", limit, got)
		}
	}
}
