package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/httpapi/rest"
	"postern/store"
)

func (d *doer) Registered(_ context.Context, numbers []string) ([]event.Registration, error) {
	all := []event.Registration{{Number: numbers[0], Person: event.Person{JID: "j"}, Exists: true}}
	for _, n := range numbers[1:] {
		all = append(all, event.Registration{Number: n, Person: event.Person{JID: n + "@s.whatsapp.net"}})
	}
	return all, d.note("look up %v", numbers)
}

func (d *doer) MarkRead(_ context.Context, chat, sender string, ids []string, _ bool) error {
	return d.note("read %v of %q in %s", ids, sender, chat)
}

func (d *doer) Archive(_ context.Context, chat string, archived bool, last event.LastMessage) error {
	id := ""
	if last.Key != nil {
		id = last.Key.ID
	}
	return d.note("archive %s %t %s %d", chat, archived, id, max(0, last.At.Unix()))
}

func (d *doer) Pin(ctx context.Context, chat string, pinned bool) error {
	d.request = event.RequestIDOf(ctx)
	return d.note("pin %s %t", chat, pinned)
}

func (d *doer) Mute(_ context.Context, chat string, muted bool, until time.Time) error {
	return d.note("mute chat %s %t %d", chat, muted, max(0, until.Unix()))
}

func (d *doer) Star(_ context.Context, k event.MessageKey, starred bool) error {
	return d.note("star %s %s %t %q %t", k.RemoteJID, k.ID, k.FromMe, k.Participant, starred)
}

func (d *doer) Block(_ context.Context, who string, blocked bool) ([]event.Person, error) {
	return []event.Person{{JID: who}}, d.note("block %s %t", who, blocked)
}

func (d *doer) Blocked(context.Context) ([]event.Person, error) {
	return []event.Person{}, d.note("list blocked")
}

func (d *doer) Picture(_ context.Context, of string, preview bool) (*event.Picture, error) {
	if preview {
		return nil, d.note("small picture of %s", of)
	}
	return &event.Picture{ID: "1", URL: "https://x/y"}, d.note("profile picture of %s", of)
}

func (d *doer) ShowAvailable(_ context.Context, available bool) error {
	return d.note("available %t", available)
}

func (d *doer) ShowPresence(_ context.Context, chat string, p event.Presence) error {
	return d.note("%s in %s", p, chat)
}

func (d *doer) WatchPresence(_ context.Context, who string) error { return d.note("watch %s", who) }

func (d *doer) AskHistory(_ context.Context, anchor event.MessageKey, at time.Time, count int) error {
	return d.note("%d of %s before %s of %d", count, anchor.RemoteJID, anchor.ID, at.Unix())
}

func (d *doer) RejectCall(_ context.Context, from, id string) error {
	return d.note("reject %s of %s", id, from)
}

// keep stores a message of the rig's first instance and returns its id.
func (r *rig) keep(t *testing.T, m event.Message) (id int64) {
	t.Helper()
	if m.Content == nil {
		m.MessageType, m.Content = "conversation", []byte(`{"text":"old"}`)
	}
	if m.MessageTimestamp == 0 {
		m.MessageTimestamp = time.Now().Unix()
	}
	err := r.store.Update(t.Context(), func(tx *store.Tx) (err error) {
		id, err = r.messages.StoreMessage(tx, 1, &m)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Addresses of the tests.
const (
	anne      = "4915112345678@s.whatsapp.net"
	aGroup    = "1-2@g.us"
	aChannel  = "9@newsletter"
	annesLID  = "77@lid"
	chatPath  = "/instance/a/chat/"
	oldAnswer = "/chat/"
)

func received(id, chat, participant string) event.Message {
	m := event.Message{KeyID: id, KeyRemoteJID: &chat, IsGroup: participant != ""}
	if participant != "" {
		m.KeyParticipantLID = &participant
	}
	return m
}

func TestChatCallsReachTheAccount(t *testing.T) {
	r, token, d := doing(t)
	r.keep(t, received("A1", anne, ""))
	r.keep(t, received("G1", aGroup, annesLID))
	r.asks(t, token, d, []request{
		{"POST", chatPath + "is-account", `{"numbers":["+49 (151) 12345678","4915112345679@c.us"]}`, "look up [4915112345678 4915112345679]", `[{"number":"4915112345678","jid":"j","lid":null,"exists":true},{"number":"4915112345679","jid":"4915112345679@s.whatsapp.net","lid":null,"exists":false}]`},
		{"POST", oldAnswer + "whatsappNumbers/a", `{"numbers":["4915112345678"]}`, "look up [4915112345678]", `[{"number":"4915112345678","jid":"j","lid":null,"exists":true}]`},

		{"POST", chatPath + "read-message", `{"messageId":[1]}`, `read [A1] of "" in ` + anne, `{"message":"Read messages","read":"success"}`},
		{"PUT", oldAnswer + "readMessages/a", `{"messageId":["G1"]}`, `read [G1] of "77@lid" in ` + aGroup, `{"message":"Read messages","read":"success"}`},
		{"PUT", chatPath + "read-message", `{"chat":"+49 151 12345678","keyIds":["X","Y"]}`, `read [X Y] of "" in ` + anne, `{"message":"Read messages","read":"success"}`},
		{"POST", chatPath + "read-message", `{"chat":"1-2@g.us","sender":"77@lid","keyIds":["X"]}`, `read [X] of "77@lid" in ` + aGroup, `{"message":"Read messages","read":"success"}`},
		{"PATCH", chatPath + "read-message", `{"ids":[1]}`, `read [A1] of "" in ` + anne, `{"message":"Read messages","read":"success"}`},
		{"PATCH", oldAnswer + "readMessages/a", `{"sender":"4915112345678","chat":"4915112345678","messageIds":["X"]}`, `read [X] of "` + anne + `" in ` + anne, `{"message":"Read messages","read":"success"}`},
		{"POST", chatPath + "read-message", `{"readMessages":[{"remoteJid":"1-2@g.us","id":"X","participant":"4915112345678","fromMe":false}]}`, `read [X] of "` + anne + `" in ` + aGroup, `{"message":"Read messages","read":"success"}`},

		{"POST", chatPath + "archive", `{"chat":"4915112345678","archive":true}`, "archive " + anne + " true  0", ""},
		{"PUT", oldAnswer + "archiveChat/a", `{"archive":false,"lastMessage":{"key":{"remoteJid":"1-2@g.us","id":"L"},"messageTimestamp":5}}`, "archive 1-2@g.us false L 5", ""},
		{"POST", chatPath + "pin", `{"chat":"77@lid","pinned":false}`, "pin 77@lid false", `{"chat":"77@lid","pinned":false}`},
		{"POST", chatPath + "mute", `{"chat":"1-2@g.us","muted":true}`, "mute chat 1-2@g.us true 0", `{"chat":"1-2@g.us","muted":true}`},
		{"POST", chatPath + "mute", `{"chat":"1-2@g.us","muted":true,"until":"2100-01-01T01:00:00+01:00"}`, "mute chat 1-2@g.us true 4102444800", `{"chat":"1-2@g.us","muted":true,"until":"2100-01-01T00:00:00.000Z"}`},
		{"POST", chatPath + "star", `{"messageId":"G1","starred":true}`, `star 1-2@g.us G1 false "77@lid" true`, `{"messageId":2,"starred":true}`},

		{"POST", chatPath + "block", `{"number":"4915112345678","blocked":true}`, "block " + anne + " true", `{"blocked":[{"jid":"` + anne + `","lid":null}]}`},
		{"GET", chatPath + "blocked", "", "list blocked", `{"blocked":[]}`},
		{"POST", chatPath + "profile-picture", `{"number":"1-2@g.us"}`, "profile picture of 1-2@g.us", `{"wuid":"1-2@g.us","profilePictureUrl":"https://x/y","pictureId":"1"}`},
		{"POST", chatPath + "profile-picture", `{"chat":"1-2@g.us"}`, "profile picture of 1-2@g.us", `{"wuid":"1-2@g.us","profilePictureUrl":"https://x/y","pictureId":"1"}`},
		{"POST", chatPath + "profile-picture", `{"recipient":"+49 151 12345678"}`, "profile picture of " + anne, `{"wuid":"` + anne + `","profilePictureUrl":"https://x/y","pictureId":"1"}`},
		{"POST", oldAnswer + "fetchProfilePictureUrl/a", `{"number":"77@lid","preview":true}`, "small picture of 77@lid", `{"wuid":"77@lid","profilePictureUrl":null,"pictureId":null}`},
		{"POST", oldAnswer + "rejectCall/a", `{"callId":"C1","callFrom":"4915112345678"}`, "reject C1 of " + anne, ""},

		{"POST", chatPath + "presence", `{"presence":"available"}`, "available true", `{"presence":"available"}`},
		{"POST", chatPath + "presence", `{"presence":"unavailable"}`, "available false", `{"presence":"unavailable"}`},
		{"POST", chatPath + "presence", `{"presence":"recording","chat":"1-2@g.us"}`, "recording in 1-2@g.us", `{"presence":"recording","chat":"1-2@g.us"}`},
		{"POST", chatPath + "presence", `{"presence":"subscribe","chat":"4915112345678"}`, "watch " + anne, `{"presence":"subscribe","chat":"` + anne + `"}`},
	})
}

func TestReadReceiptsAreOnePerSender(t *testing.T) {
	r, token, d := doing(t)
	body := `{"readMessages":[{"remoteJid":"1-2@g.us","id":"X","participant":"77@lid"},{"remoteJid":"4915112345678","id":"Y"},{"remoteJid":"1-2@g.us","id":"Z","participant":"77@lid"}]}`
	if res := r.as(token, "POST", chatPath+"read-message", body); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	if want := []string{`read [X Z] of "77@lid" in 1-2@g.us`, `read [Y] of "" in ` + anne}; strings.Join(d.asked, ";") != strings.Join(want, ";") {
		t.Errorf("asked %q", d.asked)
	}
}

func TestABadChatCallAsksForNothing(t *testing.T) {
	r, token, d := doing(t)
	mine := received("M1", anne, "")
	mine.KeyFromMe = true
	r.keep(t, mine)
	many := strings.Repeat(`"4915112345678",`, 100) + `"4915112345678"`
	read, archive, mute, presence := chatPath+"read-message", chatPath+"archive", chatPath+"mute", chatPath+"presence"
	r.refuses(t, token, d, []refusedCall{
		{"POST", chatPath + "is-account", `{}`, 400, rest.CodeMissingField, "numbers"},
		{"POST", chatPath + "is-account", `{"numbers":[]}`, 422, "INVALID_ARGUMENT", "numbers"},
		{"POST", chatPath + "is-account", `{"numbers":[` + many + `]}`, 422, "INVALID_ARGUMENT", "numbers"},
		{"POST", chatPath + "is-account", `{"numbers":["4915112345678","12"]}`, 422, "INVALID_RECIPIENT", "numbers[1]"},
		{"POST", chatPath + "is-account", `{"numbers":["77@lid"]}`, 422, "INVALID_RECIPIENT", "numbers[0]"},
		{"POST", chatPath + "is-account", `{"numbers":[4915112345678]}`, 400, rest.CodeInvalidType, "numbers[0]"},

		{"POST", read, `{}`, 422, "INVALID_ARGUMENT", "exactly one"},
		{"POST", read, `{"messageId":[1],"chat":"4915112345678"}`, 422, "INVALID_ARGUMENT", "exactly one"},
		{"POST", read, `{"messageId":[1],"chat":"4915112345678","keyIds":["X"]}`, 422, "INVALID_ARGUMENT", "exactly one"},
		{"POST", read, `{"keyIds":["X"]}`, 422, "INVALID_ARGUMENT", "exactly one"},
		{"POST", read, `{"chat":"4915112345678","keyIds":[` + many + `]}`, 422, "INVALID_ARGUMENT", "100"},
		{"POST", read, `{"chat":"4915112345678","keyIds":["X",""]}`, 422, "INVALID_MESSAGE", "message 1"},
		{"POST", read, `{"chat":"nobody","keyIds":["X"]}`, 422, "INVALID_RECIPIENT", "message 0"},
		{"POST", read, `{"chat":"1-2@g.us","keyIds":["X"]}`, 422, "INVALID_MESSAGE", "sender"},
		{"POST", read, `{"chat":"1-2@g.us","sender":"1-2@g.us","keyIds":["X"]}`, 422, "INVALID_RECIPIENT", "person"},
		{"POST", read, `{"messageId":[99]}`, 404, "MESSAGE_NOT_FOUND", "messageId[0]"},
		{"POST", read, `{"messageId":["M1"]}`, 422, "INVALID_MESSAGE", "account itself"},
		{"POST", read, `{"messageId":[0]}`, 400, rest.CodeInvalidType, "messageId[0]"},
		{"POST", read, `{"readMessages":[{"remoteJid":"4915112345678"}]}`, 400, rest.CodeMissingField, "id"},

		{"POST", archive, `{"chat":"4915112345678"}`, 400, rest.CodeMissingField, "archive"},
		{"POST", archive, `{"archive":true}`, 422, "INVALID_RECIPIENT", "chat"},
		{"POST", archive, `{"chat":"x@example.com","archive":true}`, 422, "INVALID_RECIPIENT", "chat"},
		{"POST", archive, `{"chat":"4915112345678","archive":true,"lastMessage":{"messageTimestamp":-1}}`, 422, "INVALID_ARGUMENT", "messageTimestamp"},
		{"POST", chatPath + "pin", `{"chat":"4915112345678","pinned":"yes"}`, 400, rest.CodeInvalidType, "pinned"},
		{"POST", mute, `{"chat":"4915112345678","muted":true,"until":"tomorrow"}`, 422, "INVALID_ARGUMENT", "until"},
		{"POST", mute, `{"chat":"4915112345678","muted":true,"until":"2001-01-01T00:00:00Z"}`, 422, "INVALID_ARGUMENT", "until"},
		{"POST", mute, `{"chat":"4915112345678","muted":false,"until":"2100-01-01T00:00:00Z"}`, 422, "INVALID_ARGUMENT", "until"},
		{"POST", chatPath + "star", `{"messageId":99,"starred":true}`, 404, "MESSAGE_NOT_FOUND", ""},
		{"POST", chatPath + "block", `{"number":"1-2@g.us","blocked":true}`, 422, "INVALID_RECIPIENT", "number"},
		{"POST", chatPath + "block", `{"number":"4915112345678"}`, 400, rest.CodeMissingField, "blocked"},
		{"POST", chatPath + "profile-picture", `{"number":""}`, 422, "INVALID_RECIPIENT", "number"},
		{"POST", chatPath + "reject-call", `{"callId":"","callFrom":"4915112345678"}`, 422, "INVALID_ARGUMENT", "callId"},
		{"POST", chatPath + "reject-call", `{"callId":"C","callFrom":"1-2@g.us"}`, 422, "INVALID_RECIPIENT", "callFrom"},
		{"POST", presence, `{"presence":"asleep"}`, 422, "INVALID_ARGUMENT", "presence"},
		{"POST", presence, `{"presence":"available","chat":"4915112345678"}`, 422, "INVALID_ARGUMENT", "chat"},
		{"POST", presence, `{"presence":"composing"}`, 422, "INVALID_RECIPIENT", "chat"},
		{"POST", presence, `{"presence":"subscribe","chat":"1-2@g.us"}`, 422, "INVALID_RECIPIENT", "chat"},
	})
}

func TestChatCallErrorsHaveTheirCodes(t *testing.T) {
	r, token, d := doing(t)
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{event.ErrRefused, 422, "REFUSED_BY_WHATSAPP"},
		{event.ErrNoAnswer, 408, "WHATSAPP_TIMEOUT"},
		{event.ErrNotConnected, 503, "INSTANCE_NOT_CONNECTED"},
		{errors.New("x"), 500, "INTERNAL_ERROR"},
	} {
		d.err = c.err
		wantError(t, r.as(token, "POST", chatPath+"pin", `{"chat":"4915112345678","pinned":true}`), c.status, c.code)
	}
	r.line.online.Store(false)
	for _, c := range [][2]string{{"POST", "pin"}, {"POST", "read-message"}, {"GET", "blocked"}} {
		body := map[string]string{"pin": `{"chat":"4915112345678","pinned":true}`, "read-message": `{"chat":"4915112345678","keyIds":["A"]}`}[c[1]]
		wantError(t, r.as(token, c[0], chatPath+c[1], body), 503, "INSTANCE_NOT_CONNECTED")
	}
}

func TestAccountGetsTheRequestIDOfTheCall(t *testing.T) {
	r, token, d := doing(t)
	req := httptest.NewRequest(http.MethodPost, "/instance/a/chat/pin", strings.NewReader(`{"chat":"4915155500003","pinned":true}`))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("X-Request-Id", "trace-7")
	if res := do(r.h, req); res.StatusCode != http.StatusOK || d.request != "trace-7" {
		t.Errorf("%s, the account was asked by %q", res.Status, d.request)
	}
}
