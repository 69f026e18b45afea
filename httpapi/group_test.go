package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"postern/event"
	"postern/httpapi/rest"
)

const inGroup = "?groupJid=1-2@g.us"

func TestGroupCallsReachTheAccount(t *testing.T) {
	r, token, d := doing(t)
	const g, p = "1-2@g.us", "4915112345678@s.whatsapp.net"
	invite := `{"invitation":"https://chat.whatsapp.com/CODE","inviteCode":"CODE","groupJid":"1-2@g.us"}`
	pictured := "show " + g + "; picture of " + g + ", false"
	shown := `{"id":"1-2@g.us","subject":"","participants":[]}`
	r.asks(t, token, d, []request{
		{
			"POST", "/instance/a/group", `{"subject":"é","participants":["+49 151 12345678","4915112345678@c.us"]}`,
			`create "é" "" [` + p + `]`, `{"id":"1-2@g.us","subject":"é","participants":[],"notAdded":[]}`,
		},
		{"GET", "/instance/a/group" + inGroup, "", "show " + g, shown},
		{"GET", "/instance/a/groups", "", "list groups", "[" + shown + "]"},
		{
			"PUT", "/instance/a/group/update-participants" + inGroup, `{"action":"add","participants":["4915112345678"]}`,
			"add [" + p + "] in " + g, `{"groupJid":"1-2@g.us","action":"add","participants":[{"jid":"` + p + `","status":403}]}`,
		},
		{"PUT", "/instance/a/group/subject" + inGroup, `{"subject":"x"}`, `subject "x" of ` + g, `{"groupJid":"1-2@g.us","subject":"x"}`},
		{"PUT", "/instance/a/group/description", `{"groupJid":"1-2@g.us","description":""}`, `description "" of ` + g, `{"groupJid":"1-2@g.us","description":""}`},
		{
			"PUT", "/instance/a/group/settings" + inGroup, `{"announce":false,"ephemeralDuration":86400}`, "settings of " + g + ": false 86400",
			`{"groupJid":"1-2@g.us","announce":false,"ephemeralDuration":86400}`,
		},
		{"GET", "/instance/a/group/invitation-code" + inGroup, "", "code of " + g + ", false", invite},
		{"PUT", "/instance/a/group/revoke-invitation" + inGroup, "", "code of " + g + ", true", ""},
		{"PUT", "/instance/a/group/revoke-invitation" + inGroup + "&details=true", "", "code of " + g + ", true", `{"invitation":"https://chat.whatsapp.com/CODE"}`},
		{
			"PUT", "/instance/a/group/update-participants" + inGroup, `{"action":"remove","participants":["4915112345678"]}`,
			"remove [" + p + "] in " + g, "",
		},
		{
			"PUT", "/instance/a/group/update-participants" + inGroup + "&details=true", `{"action":"remove","participants":["4915112345678"]}`,
			"remove [" + p + "] in " + g, `{"groupJid":"1-2@g.us","action":"remove","participants":[{"jid":"` + p + `","status":200}]}`,
		},
		{"GET", "/instance/a/group/invitation?inviteCode=https://chat.whatsapp.com/AB-c_1?mode=ac_t", "", "group of AB-c_1", shown},
		{"POST", "/instance/a/group/join", `{"inviteCode":"https://chat.whatsapp.com/AB"}`, "join AB", `{"groupJid":"1-2@g.us","joined":false}`},
		{"GET", "/instance/a/group/join-requests" + inGroup, "", "requests of " + g, "[]"},
		{
			"PUT", "/instance/a/group/join-requests" + inGroup, `{"action":"approve","participants":["4915112345678"]}`,
			"approve true [" + p + "] in " + g, `{"groupJid":"1-2@g.us","action":"approve","participants":[{"jid":"` + p + `","status":200}]}`,
		},
		{
			"PUT", "/instance/a/group/join-requests", `{"groupJid":"1-2@g.us","action":"reject","participants":["4915112345678"]}`,
			"approve false [" + p + "] in " + g, `{"groupJid":"1-2@g.us","action":"reject","participants":[{"jid":"` + p + `","status":200}]}`,
		},
		{"DELETE", "/instance/a/group/leave" + inGroup, "", "leave " + g, ""},
		{"PUT", "/instance/a/group/update-picture" + inGroup, `{"image":""}`, pictured, `{"id":"1-2@g.us","subject":"","participants":[],"pictureId":"77"}`},

		{
			"POST", "/group/create/a", `{"subject":"x","participants":["4915112345678"],"description":"d"}`,
			`create "x" "d" [` + p + `]`, `{"id":"1-2@g.us","subject":"x","participants":[],"notAdded":[]}`,
		},
		{"PUT", "/group/updateGroupPicture/a" + inGroup, `{"image":""}`, pictured, `{"id":"1-2@g.us","subject":"","participants":[],"pictureId":"77"}`},
		{"GET", "/group/inviteCode/a" + inGroup, "", "code of " + g + ", false", invite},
		{"PUT", "/group/revokeInviteCode/a", `{"groupJid":"1-2@g.us"}`, "code of " + g + ", true", ""},
		{
			"PUT", "/group/updateParticipant/a", `{"groupJid":"1-2@g.us","action":"add","participants":["4915112345678"]}`,
			"add [" + p + "] in " + g, `{"groupJid":"1-2@g.us","action":"add","participants":[{"jid":"` + p + `","status":403}]}`,
		},
		{"DELETE", "/group/leaveGroup/a" + inGroup, "", "leave " + g, ""},
	})
}

func TestABadGroupCallAsksForNothing(t *testing.T) {
	r, token, d := doing(t)
	many := `"4915112345678"` + strings.Repeat(`,"4915112345678"`, 1023)
	create, members, settings := "/instance/a/group", "/instance/a/group/update-participants", "/instance/a/group/settings"
	r.refuses(t, token, d, []refusedCall{
		{"POST", create, `{"participants":["4915112345678"]}`, 400, rest.CodeMissingField, "subject"},
		{"POST", create, `{"subject":"x"}`, 400, rest.CodeMissingField, "participants"},
		{"POST", create, `{"subject":"","participants":["4915112345678"]}`, 422, "INVALID_ARGUMENT", "subject"},
		{"POST", create, `{"subject":"` + strings.Repeat("é", 101) + `","participants":["4915112345678"]}`, 422, "INVALID_ARGUMENT", "subject"},
		{"POST", create, `{"subject":"x","description":"` + strings.Repeat("é", 2049) + `","participants":["4915112345678"]}`, 422, "INVALID_ARGUMENT", "description"},
		{"POST", create, `{"subject":"x","participants":[]}`, 422, "INVALID_ARGUMENT", "participants"},
		{"POST", create, `{"subject":"x","participants":[` + many + `]}`, 422, "INVALID_ARGUMENT", "participants"},
		{"POST", create, `{"subject":"x","participants":["4915112345678","12"]}`, 422, "INVALID_RECIPIENT", "participants[1]"},
		{"POST", create, `{"subject":"x","participants":["1-2@g.us"]}`, 422, "INVALID_RECIPIENT", "participants[0]"},
		{"POST", create, `{"subject":"x","participants":"4915112345678"}`, 400, rest.CodeInvalidType, "participants"},

		{"GET", create, "", 400, rest.CodeMissingField, "groupJid"},
		{"GET", create + "?groupJid=4915112345678", "", 422, "INVALID_RECIPIENT", "groupJid"},
		{"GET", create + "?groupJid=", "", 422, "INVALID_RECIPIENT", "groupJid"},
		{"GET", create + "?groupJid=1-2@g.us&groupJid=1-2@g.us", "", 400, rest.CodeInvalidQuery, "groupJid"},
		{"GET", create + "?group=1-2@g.us", "", 400, rest.CodeInvalidQuery, "group"},
		{"GET", "/instance/a/groups?limit=5", "", 400, rest.CodeInvalidQuery, "limit"},

		{"PUT", members, `{"action":"add","participants":["4915112345678"]}`, 400, rest.CodeMissingField, "groupJid"},
		{"PUT", members + inGroup, `{"groupJid":"1-2@g.us","action":"add","participants":["4915112345678"]}`, 400, rest.CodeInvalidQuery, "groupJid"},
		{"PUT", members + inGroup, `{"action":"ban","participants":["4915112345678"]}`, 422, "INVALID_ARGUMENT", "action"},
		{"PUT", members + inGroup, `{"action":"add"}`, 400, rest.CodeMissingField, "participants"},

		{"PUT", "/instance/a/group/subject" + inGroup, `{"subject":""}`, 422, "INVALID_ARGUMENT", "subject"},
		{"PUT", "/instance/a/group/description" + inGroup, `{}`, 400, rest.CodeMissingField, "description"},
		{"PUT", settings + inGroup, `{}`, 422, "INVALID_ARGUMENT", "announce"},
		{"PUT", settings + inGroup, `{"announce":null}`, 422, "INVALID_ARGUMENT", "announce"},
		{"PUT", settings + inGroup, `{"announce":true,"ephemeralDuration":1}`, 422, "INVALID_ARGUMENT", "ephemeralDuration"},
		{"PUT", settings + inGroup, `{"locked":true}`, 400, rest.CodeUnknownField, "locked"},

		{"GET", "/instance/a/group/invitation", "", 400, rest.CodeInvalidQuery, "inviteCode"},
		{"GET", "/instance/a/group/invitation?inviteCode=a%20b", "", 422, "INVALID_ARGUMENT", "inviteCode"},
		{"POST", "/instance/a/group/join", `{"inviteCode":""}`, 422, "INVALID_ARGUMENT", "inviteCode"},
		{"POST", "/instance/a/group/join", `{"inviteCode":"https://evil.example/AB"}`, 422, "INVALID_ARGUMENT", "inviteCode"},
		{"POST", "/instance/a/group/join", `{"inviteCode":"` + strings.Repeat("A", 65) + `"}`, 422, "INVALID_ARGUMENT", "inviteCode"},

		{"PUT", "/instance/a/group/join-requests" + inGroup, `{"action":"add","participants":["4915112345678"]}`, 422, "INVALID_ARGUMENT", "action"},
		{"PUT", "/instance/a/group/join-requests" + inGroup, `{"action":"reject","participants":[]}`, 422, "INVALID_ARGUMENT", "participants"},
		{"GET", "/instance/a/group/join-requests", "", 400, rest.CodeMissingField, "groupJid"},

		{"PUT", "/instance/a/group/update-picture" + inGroup, `{}`, 400, rest.CodeMissingField, "image"},
		{"PUT", "/instance/a/group/update-picture" + inGroup, `{"image":"ftp://example.com/a.jpg"}`, 422, "INVALID_MESSAGE", "media"},
		{"PUT", "/instance/a/group/update-picture" + inGroup, `{"image":"","mediaUploadId":"x"}`, 422, "INVALID_MESSAGE", "exactly one"},
		{"PUT", "/instance/a/group/update-picture" + inGroup, `{"mediaUploadId":"x"}`, 422, "INVALID_MEDIA", "mediaUploadId"},
		{"PUT", "/instance/a/group/update-picture" + inGroup, `{"mediaUploadId":""}`, 422, "INVALID_MESSAGE", "mediaUploadId"},
		{"DELETE", "/instance/a/group/leave" + inGroup, `{"groupJid":"1-2@g.us"}`, 400, rest.CodeUnknownField, "groupJid"},
	})
}

// refuses also checks that the account was not called.
func (r *rig) refuses(t *testing.T, token string, d *doer, rows []refusedCall) {
	t.Helper()
	for _, c := range rows {
		t.Logf("%s %s %.80s", c.method, c.path, c.body)
		b := wantError(t, r.as(token, c.method, c.path, c.body), c.status, c.code)
		if len(b.Messages) == 0 || !strings.Contains(b.Messages[0], c.names) {
			t.Errorf("%q does not name %s", b.Messages, c.names)
		}
	}
	if len(d.asked) > 0 {
		t.Errorf("asked %q", d.asked)
	}
}

func TestGroupCallErrorsHaveTheirCodes(t *testing.T) {
	r, token, d := doing(t)
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{event.ErrRefused, 422, "REFUSED_BY_WHATSAPP"},
		{event.ErrNoAnswer, 408, "WHATSAPP_TIMEOUT"},
		{event.ErrNotConnected, 503, "INSTANCE_NOT_CONNECTED"},
		{errors.New("broken"), 500, rest.CodeInternal},
	} {
		d.err = fmt.Errorf("ask: %w", c.err)
		wantError(t, r.as(token, "PUT", "/instance/a/group/subject"+inGroup, `{"subject":"x"}`), c.status, c.code)
	}
	r.line.online.Store(false)
	d.asked = nil
	wantError(t, r.as(token, "PUT", "/instance/a/group/subject"+inGroup, `{"subject":"x"}`), 503, "INSTANCE_NOT_CONNECTED")
	if len(d.asked) > 0 {
		t.Errorf("asked %q while away", d.asked)
	}
}

func TestGroupIsMadeOncePerIdempotencyKey(t *testing.T) {
	r, token, d := doing(t)
	const body = `{"subject":"x","participants":["4915112345678"]}`
	first := r.keyed(token, "k", "/instance/a/group", body)
	again := r.keyed(token, "k", "/instance/a/group", body)
	if first.status != 201 || again.status != 201 || !again.replayed || again.body != first.body || len(d.asked) != 1 {
		t.Errorf("%s, then %s; asked %q", first, again, d.asked)
	}
	d.err = event.ErrRefused
	if a := r.keyed(token, "l", "/instance/a/group", body); a.status != 422 {
		t.Errorf("got %s", a)
	}
	d.err = nil
	if a := r.keyed(token, "l", "/instance/a/group", body); a.status != 201 || a.replayed {
		t.Errorf("a refusal keeps the key: %s", a)
	}
	d.err = event.ErrNoAnswer
	if a := r.keyed(token, "m", "/instance/a/group", body); a.status != 408 {
		t.Errorf("got %s", a)
	}
	d.err = nil
	if a := r.keyed(token, "m", "/instance/a/group", body); a.status != 408 || !a.replayed {
		t.Errorf("an unknown outcome is tried again: %s", a)
	}
}

// A crash before the answer then leaves the outcome unknown, and no retry makes a second one.
func TestCreationKeyIsStoredBeforeTheCall(t *testing.T) {
	for path, body := range map[string]string{
		"/instance/a/group": `{"subject":"x","participants":["4915112345678"]}`, "/instance/a/label": `{"name":"x"}`,
	} {
		r, token, d := doing(t)
		d.during = func() {
			if n := r.count(bucketKeys); n != 1 || r.record().Status != 0 {
				t.Errorf("%s: %d keys, %+v", path, n, r.record())
			}
		}
		if a := r.keyed(token, "k", path, body); a.status != 201 || len(d.asked) != 1 {
			t.Errorf("%s: %s, asked %q", path, a, d.asked)
		}
	}
}

func TestFormGroupPictureIsASquareJPEG(t *testing.T) {
	r, token, d := doing(t)
	var raw bytes.Buffer
	if err := png.Encode(&raw, image.NewGray(image.Rect(0, 0, 40, 20))); err != nil {
		t.Fatal(err)
	}
	send := func(parts ...part) answer {
		body, contentType := formBody(t, parts...)
		req := httptest.NewRequest("PUT", "/instance/a/group/update-picture", bytes.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", contentType)
		return read(t, do(r.h, req))
	}
	group := part{name: "groupJid", text: "1-2@g.us"}
	if a := send(group, part{"attachment", "a.png", raw.String()}); a.status != 200 {
		t.Fatal(a)
	}
	if !slices.Equal(d.asked, []string{"show 1-2@g.us", "picture of 1-2@g.us, true"}) {
		t.Errorf("asked %q", d.asked)
	}
	size, err := jpeg.DecodeConfig(bytes.NewReader(d.jpeg))
	if err != nil || size.Width != 20 || size.Height != 20 {
		t.Errorf("sent %+v, %v", size, err)
	}
	d.asked = nil
	for what, parts := range map[string][]part{
		"no image":  {group, {"attachment", "a.png", "just text"}},
		"no file":   {group},
		"no group":  {{"attachment", "a.png", raw.String()}},
		"cut image": {group, {"attachment", "a.png", raw.String()[:40]}},
	} {
		if a := send(parts...); a.status != 400 && a.status != 422 {
			t.Errorf("%s: %s", what, a)
		}
	}
	if left := r.spooled(); len(d.asked) > 0 || len(left) > 0 {
		t.Errorf("asked %q, left %q", d.asked, left)
	}
}
