package httpapi

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/sends"
	"postern/instance"
	"postern/media"
	"postern/store"
)

// inAnHour are options that schedule a send.
func inAnHour() string {
	return `{"sendAt":"` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`
}

func laterText(options string) string {
	return `{"number":"4915112345678","textMessage":{"text":"hello"},"options":` + options + `}`
}

// scheduled returns the list of an instance.
func (r *rig) scheduledSends(token string) batch.List[sends.ScheduledView] {
	r.t.Helper()
	return decoded[batch.List[sends.ScheduledView]](r.t, r.as(token, "GET", "/instance/a/scheduled", ""))
}

type acceptedLater struct{ ScheduledID, Status, SendAt string }

func TestSendAtOnEverySendIs202(t *testing.T) {
	r, token, left := sender(t)
	chat := "4915112345678@s.whatsapp.net"
	stored := r.keep(t, event.Message{KeyID: "X", KeyRemoteJID: &chat, MessageType: "conversation", Content: []byte(`{"text":"a"}`)})
	bodies := map[string]string{
		"text": `"textMessage":{"text":"a"}`, "link": `"linkMessage":{"link":"https://example.org"}`,
		"media": `"mediaMessage":{"mediatype":"image","media":"https://example.org/a.jpg"}`, "ptt": `"audioMessage":{"audio":"https://example.org/a.ogg"}`,
		"sticker": `"stickerMessage":{"sticker":"https://example.org/a.webp"}`, "contact": `"contactMessage":[{"fullName":"A","phoneNumber":"4915187654321"}]`,
		"location": `"locationMessage":{"latitude":1,"longitude":2}`, "poll": `"pollMessage":{"name":"n","options":["a","b"]}`,
		"reaction": `"reactionMessage":{"key":{"remoteJid":"4915112345678@s.whatsapp.net","id":"X"},"reaction":"👍"}`, "forward": fmt.Sprintf(`"messageId":%d`, stored),
	}
	kinds := map[string]bool{}
	for route, content := range bodies {
		got := decodedAs[acceptedLater](t, r.as(token, "POST", "/instance/a/send/"+route, `{"number":"4915112345678",`+content+`,"options":`+inAnHour()+`}`), 202)
		if len(got.ScheduledID) != 36 || got.Status != "scheduled" || got.SendAt == "" {
			t.Errorf("%s: %+v", route, got)
		}
	}
	decodedAs[acceptedLater](t, r.as(token, "POST", "/instance/a/send/status", `{"statusMessage":{"text":"a"},"options":`+inAnHour()+`}`), 202)
	for route, name := range map[string]string{"media-file": "photo.jpg", "ptt-file": "note.ogg", "sticker-file": "sticker.webp"} {
		raw, err := os.ReadFile(filepath.Join("..", "media", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		parts := []part{{"attachment", name, string(raw)}, {name: "number", text: "4915112345678"}, {name: "sendAt", text: time.Now().Add(time.Hour).Format(time.RFC3339)}, {name: "lateMax", text: "5000"}}
		if name == "photo.jpg" {
			parts = append(parts, part{name: "mediaType", text: "image"})
		}
		body, kind := formBody(t, parts...)
		decodedAs[acceptedLater](t, r.form("/instance/a/send/"+route, token, body, kind), 202)
	}
	list := r.scheduledSends(token)
	for _, one := range list.Records {
		kinds[one.Type] = true
	}
	if want := len(bodies) + 4; list.TotalRecords != want || len(list.Records) != want || len(kinds) != 11 {
		t.Errorf("%d of %d are listed, of the kinds %v", len(list.Records), want, kinds)
	}
	if left.Load() != 0 || len(r.spooled()) != 0 {
		t.Errorf("%d left, and the files %v", left.Load(), r.spooled())
	}
}

func TestPastOrFarSendAtIs422(t *testing.T) {
	r, token, left := sender(t)
	at := func(after time.Duration) string {
		return `{"sendAt":"` + time.Now().Add(after).UTC().Format(time.RFC3339) + `"}`
	}
	for options, names := range map[string]string{
		at(-time.Minute):                                             "options.sendAt is past",
		at(90*24*time.Hour + time.Minute):                            "options.sendAt must be at most 90 days ahead",
		`{"sendAt":"tomorrow"}`:                                      "options.sendAt must be an RFC 3339 time",
		`{"sendAt":"2030-02-30T10:00:00Z"}`:                          "options.sendAt must be an RFC 3339 time",
		`{"lateMax":5000}`:                                           "options.lateMax is for sends with options.sendAt",
		strings.Replace(inAnHour(), "}", `,"lateMax":999}`, 1):       "options.lateMax must be 1000 to 604800000",
		strings.Replace(inAnHour(), "}", `,"lateMax":604800001}`, 1): "options.lateMax must be 1000 to 604800000",
	} {
		if e := wantError(t, r.as(token, "POST", sendPath, laterText(options)), 422, "INVALID_MESSAGE"); !strings.Contains(e.Messages[0], names) {
			t.Errorf("%s: %q", options, e.Messages)
		}
	}
	for options, field := range map[string]string{`{"sendAt":5}`: "options.sendAt", strings.Replace(inAnHour(), "}", `,"lateMax":"x"}`, 1): "options.lateMax"} {
		if e := wantError(t, r.as(token, "POST", sendPath, laterText(options)), 400, "INVALID_TYPE"); !strings.Contains(e.Messages[0], field) {
			t.Errorf("%s: %q", options, e.Messages)
		}
	}
	if list := r.scheduledSends(token); list.TotalRecords != 0 || left.Load() != 0 {
		t.Errorf("%+v, %d left", list, left.Load())
	}
	for _, options := range []string{at(89 * 24 * time.Hour), strings.Replace(inAnHour(), "Z", "+00:00", 1), strings.Replace(inAnHour(), "}", `,"lateMax":1000}`, 1), strings.Replace(inAnHour(), "}", `,"lateMax":null}`, 1)} {
		decodedAs[acceptedLater](t, r.as(token, "POST", sendPath, laterText(options)), 202)
	}
}

func TestOfflineInstanceAcceptsScheduledSends(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	got := decodedAs[acceptedLater](t, r.as(token, "POST", sendPath, laterText(inAnHour())), 202)
	list := r.scheduledSends(token)
	if len(list.Records) != 1 || list.Records[0].ScheduledID.String() != got.ScheduledID {
		t.Fatalf("%+v", list)
	}
	one := list.Records[0]
	if one.Status != "waiting" || one.LateMax != 600_000 || one.ChatJID != "4915112345678@s.whatsapp.net" || one.Text != "hello" || one.Type != "text" || string(one.ExternalAttributes) != "{}" {
		t.Errorf("%+v", one)
	}
	path := "/instance/a/scheduled/" + got.ScheduledID
	if res := r.as(token, "DELETE", path, ""); res.StatusCode != http.StatusNoContent {
		t.Error(res.Status)
	}
	wantError(t, r.as(token, "DELETE", path, ""), 404, "SCHEDULED_NOT_FOUND")
	wantError(t, r.as(token, "DELETE", "/instance/a/scheduled/5", ""), 404, "SCHEDULED_NOT_FOUND")
}

func TestScheduledSendsOfAnotherInstanceAreNotFound(t *testing.T) {
	r := newRig(t)
	token, other := r.instance("a"), r.instance("b")
	got := decodedAs[acceptedLater](t, r.as(token, "POST", sendPath, laterText(inAnHour())), 202)
	wantError(t, r.as(other, "DELETE", "/instance/b/scheduled/"+got.ScheduledID, ""), 404, "SCHEDULED_NOT_FOUND")
	if list := r.scheduledSends(token); list.TotalRecords != 1 {
		t.Errorf("%+v", list)
	}
}

func TestIdempotencyKeySchedulesOnce(t *testing.T) {
	r, token, _ := sender(t)
	body := laterText(inAnHour())
	first := r.keyed(token, "k", sendPath, body)
	if again := r.keyed(token, "k", sendPath, body); first.status != 202 || again.status != 202 || !again.replayed || again.body != first.body {
		t.Errorf("%v, then %v", first, again)
	}
	if list := r.scheduledSends(token); list.TotalRecords != 1 {
		t.Errorf("%+v", list)
	}
	if got := r.keyed(token, "k", sendPath, laterText(`{}`)); got.code() != "IDEMPOTENCY_KEY_REUSED" {
		t.Error(got)
	}
	past := r.keyed(token, "p", sendPath, laterText(`{"sendAt":"2020-01-01T00:00:00Z"}`))
	if again := r.keyed(token, "p", sendPath, laterText(inAnHour())); past.status != 422 || again.status != 202 {
		t.Errorf("a refusal keeps its key: %v, then %v", past, again)
	}
}

func TestKeyIsCheckedWhenASendIsScheduled(t *testing.T) {
	r, token, _ := sender(t)
	mine := decodedAs[acceptedLater](t, r.as(token, "POST", sendPath, laterText(inAnHour())), 202)
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["send"],"recipients":["4915199999999"]}`)
	wantError(t, r.with(key.Key, "POST", sendPath, laterText(inAnHour())), 403, "RECIPIENT_NOT_ALLOWED")
	wantError(t, r.with(key.Key, "POST", "/instance/a/send/status", `{"statusMessage":{"text":"a"},"options":`+inAnHour()+`}`), 403, "RECIPIENT_NOT_ALLOWED")
	wantError(t, r.with(key.Key, "GET", "/instance/a/scheduled", ""), 403, "SCOPE")
	wantError(t, r.with(key.Key, "DELETE", "/instance/a/scheduled/"+mine.ScheduledID, ""), 404, "SCHEDULED_NOT_FOUND")
	own := decodedAs[acceptedLater](t, r.with(key.Key, "POST", sendPath, strings.Replace(laterText(inAnHour()), "4915112345678", "4915199999999", 1)), 202)
	kept := decodedAs[acceptedLater](t, r.with(key.Key, "POST", sendPath, strings.Replace(laterText(inAnHour()), "4915112345678", "4915199999999", 1)), 202)
	if res := r.with(key.Key, "DELETE", "/instance/a/scheduled/"+own.ScheduledID, ""); res.StatusCode != 204 {
		t.Error(res.Status)
	}
	if res := r.admin("DELETE", "/keys/"+key.ID.String(), ""); res.StatusCode != 200 {
		t.Error(res.Status)
	}
	list := r.scheduledSends(token)
	if list.TotalRecords != 2 || list.Records[1].ScheduledID.String() != kept.ScheduledID {
		t.Errorf("after the key was deleted: %+v", list)
	}
}

func TestUploadThatExpiresBeforeSendAtIs422(t *testing.T) {
	r, token, _ := sender(t)
	u, err := r.media.Keep(t.Context(), 1, event.Uploaded{MediaInfo: event.MediaInfo{Kind: event.MediaImage}}, media.Tags{})
	if err != nil {
		t.Fatal(err)
	}
	body := func(after time.Duration) string {
		return fmt.Sprintf(`{"number":"4915112345678","mediaMessage":{"mediaUploadId":%d},"options":{"sendAt":%q}}`, u.Number, time.Now().Add(after).UTC().Format(time.RFC3339))
	}
	e := wantError(t, r.as(token, "POST", "/instance/a/send/media", body(media.Life)), 422, "INVALID_MESSAGE")
	if !strings.Contains(e.Messages[0], "mediaUploadId") || !strings.Contains(e.Messages[0], "options.sendAt") {
		t.Errorf("%q", e.Messages)
	}
	decodedAs[acceptedLater](t, r.as(token, "POST", "/instance/a/send/media", body(media.Life-time.Hour)), 202)
}

func TestScheduledListHasPages(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	for range 5 {
		decodedAs[acceptedLater](t, r.as(token, "POST", sendPath, laterText(inAnHour())), 202)
	}
	first := decoded[batch.List[sends.ScheduledView]](t, r.as(token, "GET", "/instance/a/scheduled?limit=3", ""))
	if len(first.Records) != 3 || first.NextCursor == nil || first.PreviousCursor != nil || first.TotalRecords != 5 {
		t.Fatalf("%+v", first)
	}
	second := decoded[batch.List[sends.ScheduledView]](t, r.as(token, "GET", "/instance/a/scheduled?limit=3&nextCursor="+*first.NextCursor, ""))
	if len(second.Records) != 2 || second.NextCursor != nil || second.PreviousCursor == nil {
		t.Fatalf("%+v", second)
	}
	back := decoded[batch.List[sends.ScheduledView]](t, r.as(token, "GET", "/instance/a/scheduled?limit=3&previousCursor="+*second.PreviousCursor, ""))
	if len(back.Records) != 3 || back.Records[0].ScheduledID != first.Records[0].ScheduledID {
		t.Errorf("%+v", back)
	}
	wantError(t, r.as(token, "GET", "/instance/a/scheduled?nextCursor=x", ""), 400, "INVALID_CURSOR")
}

// TestScheduledFailureHasTheCodeOfASend for each refusal that a send can end with after it was checked.
func TestScheduledFailureHasTheCodeOfASend(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	before := []string{"INVALID_MESSAGE", "INVALID_RECIPIENT", "MESSAGE_NOT_FOUND", "MESSAGE_WITHOUT_MEDIA", "UPLOAD_NOT_FOUND", "MESSAGE_PROCESSING_QUEUE_FULL"}
	var codes rest.Codes
	for _, route := range routes() {
		if strings.Contains(route.Path, "/send/") {
			codes = codes.And(route.Codes...)
		}
	}
	tried := 0
	for _, row := range errorTable() {
		if row.status != http.StatusUnprocessableEntity || !slices.Contains(codes, row.code) || slices.Contains(before, row.code) {
			continue
		}
		tried++
		r.notices()
		failed := instance.Unsent{Scheduled: "s", To: anne, Err: fmt.Errorf("send: %w", row.err)}
		if err := r.registry.ReportUnsent(t.Context(), 1, []instance.Unsent{failed}, func(*store.Tx) ([]int, error) { return []int{0}, nil }); err != nil {
			t.Fatal(err)
		}
		all := r.notices()
		if len(all) != 1 {
			t.Fatalf("%v: %d events", row.err, len(all))
		}
		if !strings.Contains(string(all[0].Body), `"code":"`+row.code+`"`) {
			t.Errorf("%v: the event is %s, and the code of the answer %s", row.err, all[0].Body, row.code)
		}
	}
	if tried < 8 {
		t.Errorf("%d errors were tried", tried)
	}
}
