package browser

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Page is a tab of a browser.
type Page struct {
	t      *testing.T
	ctx    context.Context // chromedp keeps its state in it
	copied chan string     // by the page's console
}

// Page opens an empty tab.
func (b *Browser) Page() *Page {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	p := &Page{b.t, ctx, make(chan string, 16)}
	if err := chromedp.Listen(ctx, p.note); err != nil {
		b.t.Fatal(err)
	}
	return p
}

// note takes an event of the page. It does not block: it runs in the goroutine that
// reads answers.
func (p *Page) note(ev any) {
	switch ev := ev.(type) {
	case *fetch.EventRequestPaused:
		go func() { _ = p.command("Fetch.fulfillRequest", empty(string(ev.RequestID)), nil) }()
	case *runtime.EventInspectRequested: // copy() of the console
		var text string
		if json.Unmarshal(ev.Object.Value, &text) == nil {
			select {
			case p.copied <- text:
			default: // the test takes fewer
			}
		}
	}
}

// empty is the answer of StandIn to a request.
func empty(request string) map[string]any {
	return map[string]any{
		"requestId": request, "responseCode": 200,
		"responseHeaders": []map[string]string{{"name": "Content-Type", "value": "text/html"}},
		"body":            base64.StdEncoding.EncodeToString([]byte("<!doctype html><title>stand-in</title><p>This stands in for a site.")),
	}
}

// command sends a command of the DevTools protocol and decodes the result into out, nil
// for none.
func (p *Page) command(method string, params, out any) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	var raw jsonv2.Value
	err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		return t.Call(ctx, method, params, &raw)
	}))
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// Do sends a command of the DevTools protocol and decodes the result into out, nil for
// none.
func (p *Page) Do(method string, params, out any) {
	p.t.Helper()
	if err := p.command(method, params, out); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}

// Front brings the tab before the others: only the front tab has the clipboard and the
// authenticator.
func (p *Page) Front() {
	p.t.Helper()
	p.Do("Page.bringToFront", nil, nil)
}

// StandIn answers every request of the page that matches pattern with an empty page, so
// that no network is needed.
func (p *Page) StandIn(pattern string) {
	p.t.Helper()
	p.Do("Fetch.enable", map[string]any{"patterns": []map[string]string{{"urlPattern": pattern}}}, nil)
}

// Go opens an address and waits until its scripts have run.
func (p *Page) Go(url string) {
	p.t.Helper()
	var went struct{ ErrorText string }
	p.Do("Page.navigate", map[string]any{"url": url}, &went)
	if went.ErrorText != "" {
		p.t.Fatalf("open %s: %s", url, went.ErrorText)
	}
	p.Await("document.readyState === 'complete' && (location.protocol !== 'about:' || " + strconv.FormatBool(strings.HasPrefix(url, "about:")) + ")")
}

// Run evaluates an expression as the browser's console does, waits for its promise and
// returns its value as JSON.
func (p *Page) Run(expression string) json.RawMessage {
	p.t.Helper()
	value, err := p.evaluate(expression)
	if err != nil {
		p.t.Fatal(err)
	}
	return value
}

func (p *Page) evaluate(expression string) (json.RawMessage, error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	yes := true
	gesture := func(e *runtime.EvaluateParams) { e.UserGesture = &yes }
	value, err := chromedp.Run(ctx, chromedp.EvaluateAsDevTools[[]byte](expression, chromedp.EvalAwaitPromise, gesture))
	if exception := new(chromedp.ExceptionError); errors.As(err, &exception) {
		p.t.Fatalf("%.200s: %v", expression, err)
	}
	return value, err
}

// Text returns the value of an expression that is a string.
func (p *Page) Text(expression string) string {
	p.t.Helper()
	var text string
	if err := json.Unmarshal(p.Run(expression), &text); err != nil {
		p.t.Fatalf("%s is not a string: %v", expression, err)
	}
	return text
}

// Await waits until an expression is true. A page that is reloaded meanwhile does not
// answer for a moment.
func (p *Page) Await(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		value, err := p.evaluate("!!(" + expression + ")")
		switch {
		case err == nil && string(value) == "true":
			return
		case err != nil && !strings.Contains(err.Error(), "navigated or closed"):
			p.t.Fatal(err)
		case time.Now().After(deadline):
			p.t.Fatalf("never true: %s; the page says:\n%s", expression, p.Text("document.body.innerText"))
		}
	}
}

// Copied returns the next text that the page's console copied.
func (p *Page) Copied() string {
	p.t.Helper()
	select {
	case text := <-p.copied:
		return text
	case <-time.After(patience):
		p.t.Fatal("nothing was copied")
		return ""
	}
}

// Passkey adds an authenticator with one passkey, whose user always agrees, to the page.
// id and key, in PKCS #8, are base64.
func (p *Page) Passkey(party, id, key string) {
	p.t.Helper()
	p.Do("WebAuthn.enable", nil, nil)
	var made struct{ AuthenticatorID string }
	p.Do("WebAuthn.addVirtualAuthenticator", map[string]any{"options": map[string]any{
		"protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true, "isUserVerified": true,
		"automaticPresenceSimulation": true,
	}}, &made)
	p.Do("WebAuthn.addCredential", map[string]any{"authenticatorId": made.AuthenticatorID, "credential": map[string]any{
		"credentialId": id, "isResidentCredential": true, "rpId": party, "privateKey": key,
		"userHandle": base64.StdEncoding.EncodeToString([]byte("user")), "signCount": 1,
	}}, nil)
}

// Size sets width and height of the page in pixels, and dark or light.
func (p *Page) Size(width, height int, dark bool) {
	p.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.Do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	p.Do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"},
	}}, nil)
}

// Picture returns the visible part of the page as a PNG.
func (p *Page) Picture() []byte {
	p.t.Helper()
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	return picture
}

// keys are the names of keys that Press accepts besides characters.
var keys = map[string]string{
	"Tab": kb.Tab, "Enter": kb.Enter, "Escape": kb.Escape, "Space": " ", "ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown,
	"Home": kb.Home, "End": kb.End, "PageDown": kb.PageDown,
}

// Press presses and releases keys: "Tab", "Enter", "ArrowDown", a letter.
func (p *Page) Press(names ...string) {
	p.t.Helper()
	for _, name := range names {
		if err := chromedp.Do(p.ctx, chromedp.KeyEvent(cmp.Or(keys[name], name))); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Type types a text into the focused element.
func (p *Page) Type(text string) {
	p.t.Helper()
	p.Do("Input.insertText", map[string]any{"text": text}, nil)
}
