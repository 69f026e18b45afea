package httpapi

import (
	"slices"
	"strings"
	"testing"
	"time"

	"postern/event"
)

func keysOf(list messageList) (keys []string) {
	for _, m := range list.Messages.Records {
		keys = append(keys, m.KeyID)
	}
	return keys
}

func TestMessageCursorTakesWhatPageInfoAnswered(t *testing.T) {
	r, token := online(t)
	for _, id := range []string{"M1", "M2", "M3", "M4"} {
		r.keep(t, received(id, anne, ""))
	}
	for _, path := range []string{"/instance/a/db/messages", "/chat/findMessages/a"} {
		size := `"limit":2`
		if strings.HasPrefix(path, "/chat/") {
			size = `"offset":2`
		}
		page := func(cursor string) messageList {
			t.Helper()
			return decoded[messageList](t, r.as(token, "POST", path, `{`+size+cursor+`}`))
		}
		first := page("")
		next := *first.Messages.PageInfo.NextCursor
		for name, cursor := range map[string]string{
			"text":         `,"cursor":"` + next + `"`,
			"text in id":   `,"cursor":{"type":"next","id":"` + next + `"}`,
			"empty text":   `,"cursor":""`,
			"null":         `,"cursor":null`,
			"number in id": `,"cursor":{"type":"next","id":3}`,
			"zero":         `,"cursor":{"type":"next","id":0}`,
		} {
			want := []string{"M2", "M1"}
			if name == "empty text" || name == "null" || name == "zero" {
				want = []string{"M4", "M3"}
			}
			if got := keysOf(page(cursor)); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", path, name, got, want)
			}
		}
		second := page(`,"cursor":"` + next + `"`)
		previous := *second.Messages.PageInfo.PreviousCursor
		for name, cursor := range map[string]string{
			"text":       `,"cursor":"` + previous + `"`,
			"text in id": `,"cursor":{"type":"previous","id":"` + previous + `"}`,
		} {
			if got := keysOf(page(cursor)); !slices.Equal(got, []string{"M4", "M3"}) {
				t.Errorf("%s, back by %s: %v", path, name, got)
			}
		}
	}
}

func TestMalformedMessageCursorIs400(t *testing.T) {
	r, token := online(t)
	for body, code := range map[string]string{
		`{"cursor":"nonsense"}`:                               codeNoCursor,
		`{"cursor":7}`:                                        "INVALID_TYPE",
		`{"cursor":["x"]}`:                                    "INVALID_TYPE",
		`{"cursor":{"type":"next"}}`:                          "MISSING_FIELD",
		`{"cursor":{"type":"next","id":1,"other":1}}`:         "UNKNOWN_FIELD",
		`{"cursor":{"type":"first","id":1}}`:                  codeInvalidQuery,
		`{"cursor":"AAAAAAAAACo","nextCursor":"AAAAAAAAACo"}`: codeInvalidQuery,
	} {
		if e := wantError(t, r.as(token, "POST", "/instance/a/db/messages", body), 400, code); code == "MISSING_FIELD" && !strings.Contains(e.Messages[0], "cursor.id") {
			t.Error(e.Messages)
		}
	}
	wantError(t, r.as(token, "POST", "/chat/findMessages/a", `{"cursor":"AAAAAAAAACo","page":2}`), 400, codeInvalidQuery)
}

func TestStatusWordsOfOtherGatewaysSelectMessages(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	r.line.paired.Store(true)
	decoded[connectAnswer](t, r.as(token, "GET", "/instance/a/connect", ""))
	words := map[string]event.UpdateStatus{
		"ERROR": event.StatusServerError, "server_ack": event.StatusSent, "DELIVERY_ACK": event.StatusDelivered,
		"Delivery_Ack": event.StatusDelivered, "READ": event.StatusRead, "played": event.StatusPlayed, "Played": event.StatusPlayed,
	}
	for word, status := range words {
		r.keep(t, received(word, anne, ""))
		r.became(t, word, status)
	}
	for word, status := range words {
		for _, body := range []string{`{"filter":{"messageStatus":"` + word + `"}}`, `{"filter":{"status":"` + word + `"}}`, `{"where":{"messageStatus":"` + word + `"}}`} {
			path := "/instance/a/db/messages"
			if strings.Contains(body, "where") {
				path = "/chat/findMessages/a"
			}
			list := decoded[messageList](t, r.as(token, "POST", path, body))
			if len(list.Messages.Records) == 0 {
				t.Errorf("%s selects nothing", body)
			}
			for _, m := range list.Messages.Records {
				if words[m.KeyID] != status {
					t.Errorf("%s selects a message that is %s", body, words[m.KeyID])
				}
			}
		}
	}
	for _, word := range []string{"PENDING", "pending"} {
		if got := keysOf(decoded[messageList](t, r.as(token, "POST", "/instance/a/db/messages", `{"filter":{"messageStatus":"`+word+`"}}`))); got != nil {
			t.Errorf("%s selects %v", word, got)
		}
	}
	same := `{"filter":{"messageStatus":"READ","status":"read"}}`
	if got := keysOf(decoded[messageList](t, r.as(token, "POST", "/instance/a/db/messages", same))); !slices.Equal(got, []string{"READ"}) {
		t.Errorf("two words for one status: %v", got)
	}
}

// became stores an update of a stored message.
func (r *rig) became(t *testing.T, keyID string, status event.UpdateStatus) {
	t.Helper()
	receipt := event.Receipt{KeyIDs: []string{keyID}, Status: status, At: time.Now(), Chat: anne}
	if err := r.line.report(t.Context(), event.Fact{Kind: event.MessagesUpdate, Data: receipt}); err != nil {
		t.Fatal(err)
	}
}
