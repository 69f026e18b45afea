package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postern/e2e/browser"
	"postern/event"
	"postern/httpapi/instances"
)

const scriptPath = "/instance/a/connect/passkey/script"

// needsSignature makes the only session of a rig wait for the signature of a challenge.
func (r *rig) needsSignature(challenge string) {
	r.line.passkey = &event.PasskeyChallenge{ID: "c-1", Step: event.PasskeyRequired, PublicKey: json.RawMessage(challenge)}
}

func TestPasskeyScriptIsOneLinePerChallenge(t *testing.T) {
	r, token := unpaired(t)
	r.needsSignature(`{"challenge":"AQIDBA","timeout":60000,"rpId":"whatsapp.com","allowCredentials":[],"userVerification":"required","extensions":{}}`)
	res := r.as(token, "GET", scriptPath, "")
	script := text(t, res)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/javascript; charset=utf-8" || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d, %v", res.StatusCode, res.Header)
	}
	if !strings.Contains(script, `"challenge":"AQIDBA"`) || strings.ContainsAny(script, "\r\n") {
		t.Errorf("the script is %q", script)
	}
}

func TestPasskeyScriptWithoutChallengeIs409(t *testing.T) {
	r := newRig(t)
	token := r.instance("a")
	wantError(t, r.as(token, "GET", scriptPath, ""), 409, "PASSKEY_NOT_EXPECTED") // nothing was begun
	decoded[instances.ConnectAnswer](t, r.as(token, "GET", "/instance/a/connect", ""))
	wantError(t, r.as(token, "GET", scriptPath, ""), 409, "PASSKEY_NOT_EXPECTED") // a code waits to be scanned
	for name, waits := range map[string]*event.PasskeyChallenge{
		"a code is compared": {Step: event.PasskeyCompare, Code: "ABCD-EFGH"},
		"all is done":        {Step: event.PasskeyDone},
		"no challenge":       {Step: event.PasskeyRequired, PublicKey: json.RawMessage(`{}`)},
		"no bytes":           {Step: event.PasskeyRequired, PublicKey: json.RawMessage(`{"challenge":"');alert(1);('"}`)},
	} {
		r.line.passkey = waits
		if body := wantError(t, r.as(token, "GET", scriptPath, ""), 409, "PASSKEY_NOT_EXPECTED"); len(body.Messages) != 1 {
			t.Errorf("%s: %q", name, body.Messages)
		}
	}
}

func TestPasskeyScriptNeedsTheInstancesToken(t *testing.T) {
	r, token := unpaired(t)
	r.needsSignature(`{"challenge":"AQIDBA"}`)
	other := r.instance("b")
	wantError(t, r.as(other, "GET", scriptPath, ""), 403, "FORBIDDEN")
	wantError(t, r.as(other, "POST", assertionPath, signedAnswer), 403, "FORBIDDEN")
	wantError(t, r.as("", "GET", scriptPath, ""), 401, "UNAUTHORIZED")
	if res := r.as(token, "GET", scriptPath, ""); res.StatusCode != http.StatusOK {
		t.Error(res.Status)
	}
}

func TestTheStatusTellsHowFarThePasskeyIs(t *testing.T) {
	r, token := unpaired(t)
	for want, waits := range map[string]*event.PasskeyChallenge{
		`null`:                              nil,
		`{"step":"required","code":null}`:   {Step: event.PasskeyRequired, PublicKey: json.RawMessage(`{}`), Answered: true},
		`{"step":"compare","code":"AB-CD"}`: {Step: event.PasskeyCompare, Code: "AB-CD"},
		`{"step":"done","code":null}`:       {Step: event.PasskeyDone, Answered: true},
	} {
		r.line.passkey = waits
		got := decoded[map[string]json.RawMessage](t, r.as(token, "GET", "/instance/a/connection/status", ""))
		if diff := cmp.Diff(want, string(got["passkey"])); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAnAssertionOfMegabytesIsRefused(t *testing.T) {
	r, token := unpaired(t)
	r.needsSignature(`{"challenge":"AQIDBA"}`)
	huge := strings.Replace(signedAnswer, `"signature":"AQ"`, `"signature":"`+strings.Repeat("A", 4<<20)+`"`, 1)
	wantError(t, r.as(token, "POST", assertionPath, huge), 413, "BODY_TOO_LARGE")
	if r.line.asserted != nil {
		t.Error("it was handed on")
	}
}

// hostileTexts are texts that a server may send instead of a name.
var hostileTexts = []string{
	`');window.broken=1;('`, `\');window.broken=1;//`, `\u0027);window.broken=1;(\u0027`, "');\nwindow.broken=1;('", "\u2028');window.broken=1;('\u2029",
	"`${window.broken=1}`", `</script><script>window.broken=1</script>`, "<!--", `"});window.broken=1;({"`, "OPTIONS", "\u202e;1=nekorb.wodniw",
	"\x00\x1b[31m", "\xff\xfe", "𝒜é", strings.Repeat(`\'`, 5000),
}

// hostile returns a challenge with text wherever a server can put one.
func hostile(t *testing.T, text string) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"challenge": "AQIDBA", "timeout": -1, "rpId": text, "userVerification": text, "extensions": map[string]any{text: text, "__proto__": text},
		"allowCredentials": []map[string]any{{"id": "AQI", "type": text, "transports": []string{text}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestPasskeyScriptIgnoresServerText, because all of that is one string.
func TestPasskeyScriptIgnoresServerText(t *testing.T) {
	frame := func(text string) string {
		line, err := instances.PasskeyLine(hostile(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if odd := regexp.MustCompile(`[^ -~]`).FindString(line); odd != "" {
			t.Errorf("%.40q: the line has %q", text, odd)
		}
		before, rest, _ := strings.Cut(line, "JSON.parse('")
		end := regexp.MustCompile(`^(?:[^'\\]|\\.)*'\);`).FindString(rest)
		return before + strings.TrimPrefix(rest, end)
	}
	want := frame("whatsapp.com")
	for _, text := range hostileTexts {
		if diff := cmp.Diff(want, frame(text)); diff != "" {
			t.Errorf("%.40q: %s", text, diff)
		}
	}
}

func FuzzPasskeyLine(f *testing.F) {
	for _, text := range hostileTexts {
		f.Add(`{"challenge":"AQIDBA","rpId":"x"}`, text)
	}
	f.Fuzz(func(t *testing.T, challenge, text string) {
		for _, raw := range []json.RawMessage{json.RawMessage(challenge), hostile(t, text)} {
			line, err := instances.PasskeyLine(raw)
			if err != nil {
				if !errors.Is(err, event.ErrNoPasskey) {
					t.Error(err)
				}
				continue
			}
			if odd := regexp.MustCompile(`[^ -~]`).FindString(line); odd != "" {
				t.Errorf("the line has %q", odd)
			}
			if n := len(regexp.MustCompile(`JSON\.parse\('(?:[^'\\]|\\.)*'\);const publicKey`).FindAllString(line, -1)); n != 1 {
				t.Errorf("the challenge is not one string: %s", line)
			}
		}
	})
}

// TestThePasskeyScriptInABrowser pastes the script into the console of a page whose
// navigator.credentials the test replaces.
func TestThePasskeyScriptInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	page := browser.Open(t).Page()
	page.StandIn("https://web.whatsapp.com/*")
	page.Go("https://web.whatsapp.com/")
	const play = `(() => {
		const part = (text) => new TextEncoder().encode(text).buffer;
		window.told = [];
		console.log = (...said) => told.push(said.join(" "));
		window.failures = [];
		navigator.credentials.get = async (options) => {
			window.options = options;
			const failure = failures.shift();
			if (failure) throw new DOMException("no", failure);
			return {id: "AQI", rawId: new Uint8Array([1, 2]).buffer, type: "public-key",
				response: {clientDataJSON: part("{}"), authenticatorData: part("\u00ff?>"), signature: part("s"), userHandle: null}};
		};
		return true;
	})()`
	const signed = `{"id":"AQI","rawId":"AQI","type":"public-key","clientExtensionResults":{},` +
		`"response":{"clientDataJSON":"e30","authenticatorData":"w78_Pg","signature":"cw","userHandle":null}}`
	page.Run(play)

	for _, text := range hostileTexts {
		line, err := instances.PasskeyLine(hostile(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if got := page.Text(line); got != signed || page.Copied() != signed {
			t.Errorf("%.40q: the answer is %s", text, got)
		}
		var asked []string
		if err := json.Unmarshal(page.Run(`[options.publicKey.rpId, typeof broken]`), &asked); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{string([]rune(text)), "undefined"}, asked); diff != "" {
			t.Error(diff)
		}
	}
	if got := string(page.Run(`[[...options.publicKey.challenge], [...options.publicKey.allowCredentials[0].id], "extensions" in options.publicKey]`)); got != `[[1,2,3,4],[1,2],false]` {
		t.Errorf("asked for %s", got)
	}

	line, err := instances.PasskeyLine(json.RawMessage(`{"challenge":"AQIDBA","rpId":"whatsapp.com"}`))
	if err != nil {
		t.Fatal(err)
	}
	// The route accepts the answer unchanged.
	r, token := unpaired(t)
	r.needsSignature(`{"challenge":"AQIDBA"}`)
	if res := r.as(token, "POST", assertionPath, page.Text(line)); res.StatusCode != http.StatusAccepted {
		t.Errorf("the answer is refused: %s", res.Status)
	}
	page.Copied()
	for name, c := range map[string]struct{ before, run, said string }{
		"a console that keeps the page from being in front": {
			`document.hasFocus = () => false; failures = ["NotAllowedError"]; setTimeout(() => dispatchEvent(new Event("focus")), 100)`, line, "click once anywhere",
		},
		"a cancelled signature":    {`failures = ["NotAllowedError"]`, line, "Paste the line again"},
		"another site":             {`failures = ["SecurityError"]`, line, "web.whatsapp.com only"},
		"another failure":          {`failures = ["UnknownError"]`, line, "was not used: no"},
		"a console without copy()": {`navigator.clipboard.writeText = async (text) => { window.copied = text; }`, `{ const copy = undefined; ` + line + ` }`, "is copied"},
		"no clipboard at all":      {`navigator.clipboard.writeText = async () => { throw new Error("no"); }`, `{ const copy = undefined; ` + line + ` }`, "from { to }"},
	} {
		t.Run(name, func(t *testing.T) {
			page.Run(`delete document.hasFocus; told.length = 0; ` + c.before + `; 0`)
			page.Run(c.run)
			if said := page.Text(`told.join("\n")`); !strings.Contains(said, c.said) {
				t.Errorf("said %q, want %q", said, c.said)
			}
		})
	}
	if got := page.Text(`copied`); got != signed {
		t.Errorf("the clipboard has %s", got)
	}
}

// unpaired returns a rig with an instance whose pairing is in progress, and its token.
func unpaired(t *testing.T) (*rig, string) {
	t.Helper()
	r := newRig(t)
	token := r.instance("a")
	decoded[instances.ConnectAnswer](t, r.as(token, "GET", "/instance/a/connect", ""))
	return r, token
}
