package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"postern/delivery"
	"postern/event"
)

// failedCode adds a failed pairing code for the webhook to the log.
func (r *rig) failedCode() uint64 {
	r.t.Helper()
	to := event.Destination{Target: event.TargetWebhook, URL: "http://own.example/"}
	r.inLog(aboutEvent{kind: event.QRCodeUpdated}.notice(1), to, delivery.Failed, delivery.Attempt{Status: 500, Error: "receiver answered 500"})
	return r.deliveryList("", "?limit=1").Records[0].ID
}

func (r *rig) withOwnWebhook() (token string) {
	r.t.Helper()
	token = r.instance("a")
	r.resolve = r.registry.Webhooks().Resolve
	textOf(r.t, r.as(token, "PUT", "/instance/a/webhook", `{"url":"http://own.example/","events":{"qrcodeUpdated":true}}`))
	return token
}

func TestResendingACodeNeedsScopePair(t *testing.T) {
	r := newRig(t)
	r.withOwnWebhook()
	code := r.failedCode()
	r.inLog(aboutEvent{}.notice(1), event.Destination{Target: event.TargetWebhook, URL: "http://own.example/"}, delivery.Failed, delivery.Attempt{Status: 500})
	without := r.newKey(`{"name":"k","instances":["*"],"scopes":["webhook","deliveries","read","send","manage"]}`).Key
	pairs := r.newKey(`{"name":"k","instances":["*"],"scopes":["deliveries","pair"]}`).Key
	for _, base := range []string{"/instance/a/webhook", "/webhook"} {
		retry := fmt.Sprintf("%s/deliveries/%d/retry", base, code)
		if e := wantError(t, r.with(without, "POST", retry, ""), 403, "SCOPE"); !strings.Contains(e.Messages[0], "pair") {
			t.Errorf("%q", e.Messages)
		}
		wantError(t, r.with(without, "POST", base+"/deliveries/replay", `{"events":["messages.upsert","qrcode.updated"]}`), 403, "SCOPE")
		if rec, _, _, err := r.log.Record(t.Context(), code); err != nil || rec.State != delivery.Failed {
			t.Errorf("%+v, %v", rec, err)
		}
		for key, want := range map[string]string{without: `"matched":1`, pairs: `"matched":2`} {
			res := r.with(key, "POST", base+"/deliveries/replay", `{}`)
			raw, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusAccepted || !strings.Contains(string(raw), want) {
				t.Fatalf("%d %s, %v, want %s", res.StatusCode, raw, err, want)
			}
			all := decodedReplay(t, raw)
			if res := r.with(key, "DELETE", fmt.Sprintf("%s/replays/%d", base, all), ""); res.StatusCode != http.StatusOK {
				t.Fatal(res.Status)
			}
		}
	}
	if res := r.with(pairs, "POST", fmt.Sprintf("/instance/a/webhook/deliveries/%d/retry", code), ""); res.StatusCode != http.StatusAccepted {
		t.Errorf("with pair: %s", res.Status)
	}
}

func decodedReplay(t *testing.T, raw []byte) (id uint64) {
	t.Helper()
	if _, err := fmt.Sscanf(string(raw), `{"replayId":%d`, &id); err != nil {
		t.Fatal(err)
	}
	return id
}

// The check of the flags sees only what is requested, which is harmless here.
func TestMovingTheWebhookYieldsNoStoredCode(t *testing.T) {
	r := newRig(t)
	r.withOwnWebhook()
	code := r.failedCode()
	thief := r.newKey(`{"name":"k","instances":["a"],"scopes":["webhook","deliveries"]}`).Key
	if res := r.with(thief, "PUT", "/instance/a/webhook", `{"url":"http://thief.example/","events":{"qrcodeUpdated":false}}`); res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	rec := r.deliveryList("", "").Records[0]
	if rec.ID != code || rec.State != delivery.Cancelled || rec.LastError == nil || *rec.LastError != "CHANGED" || rec.Replayable {
		t.Errorf("%+v", rec)
	}
	retry := fmt.Sprintf("/deliveries/%d/retry", code)
	wantError(t, r.with(thief, "POST", "/instance/a/webhook"+retry, ""), 403, "SCOPE")
	wantError(t, r.logCall("", "POST", retry, ""), 409, "BODY_GONE")
	if body := textOf(t, r.logCall("", "GET", fmt.Sprintf("/deliveries/%d", code), "")); !strings.Contains(body, `"body":null`) {
		t.Errorf("%s", body)
	}
}
