package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/batch"
	"postern/event"
	"postern/httpapi/rest"
	"postern/media"
)

// TestAnInstanceOfTheSameNameIsAnother: a key for the deleted instance is not valid
// for a new one of the same name.
func TestAnInstanceOfTheSameNameIsAnother(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["read"]}`).Key
	if res := r.with(token, "DELETE", "/instance/a", ""); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	wantError(t, r.with(key, "GET", "/instance/a", ""), 403, "SCOPE")
	r.instance("a")
	wantError(t, r.with(key, "GET", "/instance/a", ""), 403, "SCOPE")
}

// TestAKeyIsTakenInApikeyToo; two different keys are refused.
func TestAKeyIsTakenInApikeyToo(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["read"]}`).Key
	ask := func(headers ...string) *http.Response {
		req := httptest.NewRequest("GET", "/instance/a", nil)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Add(headers[i], headers[i+1])
		}
		return do(r.h, req)
	}
	for _, header := range []string{"apikey", "x-api-key"} {
		if res := ask(header, key); res.StatusCode != 200 {
			t.Errorf("%s: %s", header, res.Status)
		}
	}
	if res := ask("Authorization", "Bearer "+key, "apikey", testKey); res.StatusCode != 200 {
		t.Errorf("beside the GlobalApiKey, which opens no instance: %s", res.Status)
	}
	wantError(t, ask("apikey", key, "x-api-key", key+"x"), 400, "API_KEY_MISMATCH")
	wantError(t, ask("apikey", key[:len(key)-1]+"!"), 401, "UNAUTHORIZED")
}

// TestGlobalKeyOpensInstancesWhereSet, and not otherwise.
func TestGlobalKeyOpensInstancesWhereSet(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	wantError(t, r.admin("GET", "/instance/a", ""), 401, "UNAUTHORIZED")
	r.api.KeyOpensInstances = true
	if res := r.admin("GET", "/instance/a", ""); res.StatusCode != 200 {
		t.Errorf("%s", res.Status)
	}
	wantError(t, r.admin("GET", "/instance/nobody", ""), 404, "INSTANCE_NOT_FOUND")
}

// TestRecipientsHold: no route sends to other recipients.
func TestRecipientsHold(t *testing.T) {
	r, _, _ := doing(t)
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["send","batch"],"userId":"` + rest.ExampleUUID + `","recipients":["+49 151 12345678"]}`).Key
	if res := r.with(key, "POST", "/instance/a/send/text", `{"number":"4915112345678","textMessage":{"text":"x"}}`); res.StatusCode == 403 {
		t.Errorf("to its recipient: %s", text(t, res))
	}
	for path, body := range map[string]string{
		"/instance/a/send/text":   `{"number":"4915199999999","textMessage":{"text":"x"}}`,
		"/instance/a/send/status": `{"statusMessage":{"text":"x"}}`,

		"/instance/a/notify?to=4915199999999": `{"message":"x"}`,
		"/instance/a/chat/presence":           `{"presence":"composing","chat":"4915199999999"}`,
		"/instance/a/chat/is-account":         `{"numbers":["4915112345678","4915199999999"]}`,
		"/instance/a/group":                   `{"subject":"x","participants":["4915112345678"]}`,
		"/message/batches":                    `{"name":"x","instances":["a"],"recipients":["4915112345678","4915199999999"],"message":{"type":"text","payload":{"text":"x"}}}`,
	} {
		wantError(t, r.with(key, "POST", path, body), 403, "RECIPIENT_NOT_ALLOWED")
	}
}

// TestKeyWithRecipientsCannotSetCallReply; an existing reply does not change.
func TestKeyWithRecipientsCannotSetCallReply(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["manage"],"recipients":["4915112345678"]}`).Key
	const path, answering = "/instance/a/settings", `{"rejectCalls":{"enabled":true,"message":"x"}}`
	wantError(t, r.with(key, "PUT", path, answering), 403, "RECIPIENT_NOT_ALLOWED")
	if s, err := r.registry.Settings(1); err != nil || s.RejectCalls.Enabled {
		t.Errorf("%+v, %v", s, err)
	}
	for _, c := range []struct{ credential, body string }{
		{token, answering},
		{key, `{"alwaysOnline":true,"rejectCalls":{"enabled":true,"message":"x"}}`},
		{key, `{"rejectCalls":{"enabled":true}}`},
	} {
		if res := r.with(c.credential, "PUT", path, c.body); res.StatusCode != 200 {
			t.Errorf("%s: %s", c.body, res.Status)
		}
	}
}

// TestKeysBatchTakesOnlyItsInstancesUploads: it does not learn whether other instances have any. A user's batch may use the
// uploads of all instances.
func TestKeysBatchTakesOnlyItsInstancesUploads(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	keep := func(instance int64) media.Upload {
		u, err := r.media.Keep(t.Context(), instance, event.Uploaded{
			MediaInfo: event.MediaInfo{Kind: event.MediaImage}, DirectPath: "/v/1", UploadedAt: event.At(time.Now()),
		}, media.Tags{})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	own, others := keep(1), keep(2)
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["batch","media"],"userId":"` + r.user.String() + `"}`).Key
	create := func(credential, upload string) *http.Response {
		return r.with(credential, "POST", "/message/batches", `{"name":"x","instances":["a"],"recipients":["4915112345678"],"autoStart":false,
			"message":{"type":"media","payload":{"mediatype":"image","mediaUploadId":`+upload+`}}}`)
	}
	number := func(u media.Upload) string { return fmt.Sprint(u.Number) }
	uuid := func(u media.Upload) string { return `"` + u.ID.String() + `"` }
	for _, id := range []func(media.Upload) string{number, uuid} {
		there := wantError(t, create(key, id(others)), 422, "INVALID_MEDIA")
		if none := wantError(t, create(key, "4711"), 422, "INVALID_MEDIA"); !slices.Equal(there.Messages, none.Messages) {
			t.Errorf("%q tells more than %q", there.Messages, none.Messages)
		}
		if res := create(key, id(own)); res.StatusCode != 201 {
			t.Errorf("its own: %s %s", res.Status, text(t, res))
		}
		made := decoded[batch.View](t, create(r.token, id(others)))
		wantError(t, r.with(key, "POST", "/message/batches/"+made.ID.String()+"/start", ""), 422, "INVALID_MEDIA")
	}
}

// TestUploadsByIDNeedMedia wherever the id of an upload is accepted, whether or not the upload exists.
func TestUploadsByIDNeedMedia(t *testing.T) {
	r, _, _ := doing(t)
	u, err := r.media.Keep(t.Context(), 1, event.Uploaded{
		MediaInfo: event.MediaInfo{Kind: event.MediaImage}, DirectPath: "/v/1", UploadedAt: event.At(time.Now()),
	}, media.Tags{})
	if err != nil {
		t.Fatal(err)
	}
	scoped := func(more string) string {
		return r.newKey(`{"name":"k","instances":["*"],"scopes":["send","read","batch"` + more + `],"userId":"` + r.user.String() + `"}`).Key
	}
	without, full := scoped(""), scoped(`,"media"`)
	batchOf := func(credential string) string {
		body := `{"name":"x","instances":["a"],"recipients":["4915112345678"],"autoStart":false,"message":{"type":"media","payload":{"mediatype":"image","mediaUploadId":"` + u.ID.String() + `"}}}`
		return decoded[batch.View](t, r.with(credential, "POST", "/message/batches", body)).ID.String()
	}
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/instance/a/send/media", `{"number":"4915112345678","mediaMessage":{"mediatype":"image","mediaUploadId":ID}}`},
		{"POST", "/instance/a/send/media", `{"number":"4915112345678","mediaMessage":{"mediatype":"image"},"mediaUploadId":ID}`},
		{"POST", "/message/sendMedia/a", `{"number":"4915112345678","mediaMessage":{"mediatype":"image","mediaUploadId":ID}}`},
		{"POST", "/instance/a/send/ptt", `{"number":"4915112345678","audioMessage":{"mediaUploadId":ID}}`},
		{"POST", "/instance/a/send/sticker", `{"number":"4915112345678","stickerMessage":{"mediaUploadId":ID}}`},
		{"PUT", "/instance/a/group/update-picture", `{"groupJid":"1-2@g.us","mediaUploadId":ID}`},
		{"POST", "/message/batches", `{"name":"x","instances":["a"],"recipients":["4915112345678"],"autoStart":false,"message":{"type":"media","payload":{"mediatype":"image","mediaUploadId":ID}}}`},
		{"POST", "/message/batches/" + batchOf(full) + "/start", ``},
	} {
		var answers []string
		for _, id := range []string{`"` + u.ID.String() + `"`, fmt.Sprint(u.Number), `4711`} {
			body := strings.ReplaceAll(c.body, "ID", id)
			got := wantError(t, r.with(without, c.method, c.path, body), 403, "SCOPE")
			answers = append(answers, strings.Join(got.Messages, " "))
			if res := r.with(full, c.method, c.path, body); res.StatusCode == 403 || res.StatusCode == 400 {
				t.Errorf("%s %s with media: %s %s", c.method, c.path, res.Status, text(t, res))
			}
		}
		if len(slices.Compact(answers)) != 1 {
			t.Errorf("%s %s: %q", c.method, c.path, answers)
		}
	}
}

// TestKeyStartsOnlyBatchesItCouldMake, because another caller of the same user may have made it.
func TestKeyStartsOnlyBatchesItCouldMake(t *testing.T) {
	r, _, _ := doing(t)
	r.instance("b")
	body := `{"name":"x","instances":["b"],"recipients":["4915112345678"],"autoStart":false,"message":{"type":"text","payload":{"text":"x"}}}`
	made := decoded[batch.View](t, r.with(r.token, "POST", "/message/batches", body))
	user := `"userId":"` + r.user.String() + `"`
	narrow := r.newKey(`{"name":"k","instances":["a"],"scopes":["batch"],` + user + `}`).Key
	wantError(t, r.with(narrow, "POST", "/message/batches", body), 403, "SCOPE")
	wantError(t, r.with(narrow, "POST", "/message/batches/"+made.ID.String()+"/start", ""), 404, "BATCH_NOT_FOUND")
	few := r.newKey(`{"name":"k","instances":["*"],"scopes":["batch"],"recipients":["4915199999999"],` + user + `}`).Key
	wantError(t, r.with(few, "POST", "/message/batches/"+made.ID.String()+"/start", ""), 403, "RECIPIENT_NOT_ALLOWED")
	wide := r.newKey(`{"name":"k","instances":["b"],"scopes":["batch"],"recipients":["4915112345678"],` + user + `}`).Key
	if res := r.with(wide, "POST", "/message/batches/"+made.ID.String()+"/start", ""); res.StatusCode != 200 {
		t.Errorf("%s %s", res.Status, text(t, res))
	}
}

// TestARateLimitHolds
func TestARateLimitHolds(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["read"],"rateLimit":{"perMinute":3}}`).Key
	for range 3 {
		if res := r.with(key, "GET", "/instance/a", ""); res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	res := r.with(key, "GET", "/instance/a", "")
	wait := res.Header.Get("Retry-After")
	wantError(t, res, 429, "RATE_LIMITED")
	if wait == "" || wait == "0" {
		t.Errorf("Retry-After %q", wait)
	}
}

// TestTwoKeysHaveTheirOwnIdempotencyKeys: neither learns the answers to the other.
func TestTwoKeysHaveTheirOwnIdempotencyKeys(t *testing.T) {
	r, token, _ := doing(t)
	send := func(key string) string {
		req := httptest.NewRequest("POST", "/instance/a/send/text", strings.NewReader(`{"number":"4915112345678","textMessage":{"text":"x"}}`))
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Idempotency-Key", "one")
		res := do(r.h, req)
		if res.StatusCode != 200 {
			t.Fatalf("%s %s", res.Status, text(t, res))
		}
		return res.Header.Get("Idempotency-Replayed")
	}
	k := `{"name":"k","instances":["a"],"scopes":["send"]}`
	first, second := r.newKey(k).Key, r.newKey(k).Key
	for i, key := range []string{token, first, second} {
		if replayed := send(key); replayed != "" {
			t.Errorf("credential %d gets the answer to another", i)
		}
		if replayed := send(key); replayed != "true" {
			t.Errorf("credential %d does not get its own answer again", i)
		}
	}
}
