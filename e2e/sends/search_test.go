package sends

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"postern/e2e/rig"
	"postern/event"
)

// TestSearchFindsTheTextsOfAllChats goes through the pages of a search with each of its parameters.
func TestSearchFindsTheTextsOfAllChats(t *testing.T) {
	t.Parallel()
	s := rig.NewSendScene(t)
	for i, chat := range []string{"$anne", "$bob", "$anne"} {
		s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/text"), s.Fill(fmt.Sprintf(`{"number":"%s","textMessage":{"text":"ORDER %d"}}`, chat, i))), `{}`)
	}
	s.Sent(t, 0, s.PostJSON(t, s.Fill("/instance/$name/send/media"), s.Fill(`{"number":"$bob","mediaMessage":{"mediatype":"image","media":"$files/photo.jpg","caption":"your order 3"}}`)), `{}`)
	from := len(s.Webhooks())
	s.Do(t, rig.Act("$bob", `{"do":"text","to":"$own","text":"my Order 4"}`))
	s.AwaitEvent(t, from, event.MessagesUpsert, `{"content":{"text":"my Order 4"}}`)
	search := func(parameters string) (ids []int64) {
		t.Helper()
		for cursor := ""; ; {
			a := s.Request(t, http.MethodGet, s.Fill("/instance/$name/messages/search?"+s.Fill(parameters)+cursor), "", nil)
			var page struct {
				Records    []struct{ ID int64 }
				NextCursor *string
			}
			if err := json.Unmarshal(a.Body, &page); a.Status != http.StatusOK || err != nil {
				t.Fatalf("%s: %d %s", parameters, a.Status, a.Body)
			}
			for _, m := range page.Records {
				if len(ids) > 0 && m.ID >= ids[len(ids)-1] {
					t.Errorf("%s: %d follows %d", parameters, m.ID, ids[len(ids)-1])
				}
				ids = append(ids, m.ID)
			}
			if page.NextCursor == nil {
				return ids
			}
			cursor = "&cursor=" + url.QueryEscape(*page.NextCursor)
		}
	}
	for parameters, want := range map[string]int{
		"query=order": 5, "query=order&limit=2": 5, "query=order&fromMe=false": 1, "query=order&type=imageMessage": 1, "query=oRdEr&chat=$anne": 2,
		"query=order&from=2020-01-01T00:00:00Z": 5, "query=order&to=2020-01-01T00:00:00Z": 0, "query=missing": 0,
	} {
		if got := search(parameters); len(got) != want {
			t.Errorf("%s: %d messages, not %d", parameters, len(got), want)
		}
	}
	for _, parameters := range []string{"", "query=x", "query=order&limit=101", "query=order&from=yesterday", "query=order&fromMe=perhaps", "query=order&colour=red"} {
		if a := s.Request(t, http.MethodGet, s.Fill("/instance/$name/messages/search?"+parameters), "", nil); a.Status != http.StatusBadRequest {
			t.Errorf("%q: %d %s", parameters, a.Status, a.Body)
		}
	}
}
