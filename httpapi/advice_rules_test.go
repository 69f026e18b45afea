package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/tokens/tokenstest"
)

func TestRefusedCredentialNamesWhatTheRouteTakes(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	scoped := r.newKey(`{"name":"k","instances":["a"],"scopes":["read"]}`).Key
	expired := tokenstest.Signed(t, jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"userId": r.user.String(), "exp": time.Now().Add(-time.Hour).Unix()}, nil)
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/message/batches", "user token as Authorization: Bearer; postern token user"},
		{"GET", "/instance/a", "token of the instance as Authorization: Bearer; POST /instance"},
		{"POST", "/message/sendText/a", "token of the instance as Authorization: Bearer"},
		{"POST", "/call/a", "token of the instance as Authorization: Bearer"},
		{"GET", "/keys", "GlobalApiKey in the header apikey"},
		{"GET", "/session", "or a scoped key as Authorization: Bearer"},
	} {
		var texts [][]string
		for name, credential := range map[string]string{
			"none": "", "malformed": "x", "of another kind": r.otherKind(c.path, token), "expired": expired,
			"a key that does not exist": scoped[:len(scoped)-4] + "AAAA",
		} {
			e := wantError(t, r.with(credential, c.method, c.path, ""), 401, rest.CodeUnauthorized)
			if len(e.Messages) != 2 || e.Messages[0] != "the credential is missing, malformed, expired or wrong" || !strings.Contains(e.Messages[1], c.want) {
				t.Errorf("%s %s, %s: %q", c.method, c.path, name, e.Messages)
			}
			texts = append(texts, e.Messages)
		}
		for _, other := range texts[1:] {
			if !slices.Equal(other, texts[0]) {
				t.Errorf("%s %s: the text depends on the credential: %q and %q", c.method, c.path, texts[0], other)
			}
		}
	}
	e := wantError(t, r.with(scoped, "PUT", "/instance/a/token", ""), 403, rest.CodeScope)
	if !strings.Contains(e.Messages[0], "this route takes the GlobalApiKey in the header apikey") {
		t.Errorf("%q", e.Messages)
	}
}

// otherKind returns a valid token of a kind that the route of a path does not take.
func (r *rig) otherKind(path, instance string) string {
	if strings.HasPrefix(path, "/message/batches") {
		return instance
	}
	return r.token
}

func TestUnknownFieldNamesTheOneThatWasMeant(t *testing.T) {
	r, token := online(t)
	for body, want := range map[string]string{
		`{"number":"4915112345678","text":"hi"}`:                                     "text is not a known field; use textMessage.text",
		`{"Number":"4915112345678","textMessage":{"text":"hi"}}`:                     "Number is not a known field; use number",
		`{"number":"4915112345678","textMessage":{"txt":"hi"}}`:                      "textMessage.txt is not a known field; use textMessage.text",
		`{"number":"4915112345678","delay":5,"textMessage":{"text":"hi"}}`:           "delay is not a known field; use options.delay",
		`{"number":"4915112345678","message":"hi","textMessage":{"text":"hi"}}`:      "message is not a known field", // not options.quotedMessage.message
		`{"number":"4915112345678","something":5,"textMessage":{"text":"hi"}}`:       "something is not a known field",
		`{"number":"4915112345678","quotedMessageId":5,"textMessage":{"text":"hi"}}`: "quotedMessageId is not a known field; use options.quotedMessageId",
	} {
		if e := wantError(t, r.as(token, "POST", "/instance/a/send/text", body), 400, "UNKNOWN_FIELD"); e.Messages[0] != want {
			t.Errorf("%s: %q, want %q", body, e.Messages[0], want)
		}
	}
}

func TestUnknownParameterNamesTheOneThatWasMeant(t *testing.T) {
	r, token := online(t)
	e := wantError(t, r.as(token, "GET", "/instance/a/contacts?limits=5", ""), 400, rest.CodeInvalidQuery)
	if want := "limits is not a known query parameter; use limit"; e.Messages[0] != want {
		t.Errorf("%q, want %q", e.Messages[0], want)
	}
}

func TestDomesticNumberIsExplained(t *testing.T) {
	r, token := online(t)
	r.line.sendErr = event.NotOnWhatsApp("015112345678")
	e := wantError(t, r.as(token, "POST", "/instance/a/send/text", `{"number":"0151 12345678","textMessage":{"text":"hi"}}`), 422, "RECIPIENT_NOT_ON_WHATSAPP")
	if want := "with country code, without the leading 0"; !strings.Contains(e.Messages[0], want) {
		t.Errorf("%q does not say %q", e.Messages[0], want)
	}
	if err := event.NotOnWhatsApp("4915112345678"); strings.Contains(fmt.Sprint(err), "country code") {
		t.Errorf("%v", err)
	}
}

func TestUnknownInstanceOfAKeyIsExplained(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	r.instance("b")
	key := r.newKey(`{"name":"k","instances":["a"],"scopes":["read"]}`).Key
	var texts []string
	for _, name := range []string{"b", "nobody"} {
		e := wantError(t, r.with(key, "GET", "/instance/"+name, ""), 403, rest.CodeScope)
		if !strings.Contains(e.Messages[0], "or there is no such instance") || !strings.Contains(e.Messages[0], "read") {
			t.Errorf("%s: %q", name, e.Messages)
		}
		texts = append(texts, e.Messages[0])
	}
	if texts[0] != texts[1] {
		t.Errorf("a key learns which instances there are: %q", texts)
	}
}
