package browser

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// Page is a tab of a browser.
type Page struct {
	b       *Browser
	t       *testing.T
	session string
	console chan string // what its console copied
}

// Page opens a tab that shows nothing yet.
func (b *Browser) Page() *Page {
	b.t.Helper()
	var target struct{ TargetID string }
	if err := b.command("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		b.t.Fatal(err)
	}
	var attached struct{ SessionID string }
	if err := b.command("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		b.t.Fatal(err)
	}
	p := &Page{b: b, t: b.t, session: attached.SessionID, console: make(chan string, 16)}
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime"} {
		p.Do(domain+".enable", nil, nil)
	}
	return p
}

// note takes an event of the page. It must not wait: it runs in the goroutine
// that reads answers.
func (p *Page) note(method string, params json.RawMessage) {
	switch method {
	case "Fetch.requestPaused":
		var paused struct{ RequestID string }
		if json.Unmarshal(params, &paused) == nil {
			go func() { _ = p.b.command(p.session, "Fetch.fulfillRequest", empty(paused.RequestID), nil) }()
		}
	case "Runtime.inspectRequested": // copy() of the console
		var copied struct{ Object struct{ Value string } }
		if json.Unmarshal(params, &copied) == nil {
			select {
			case p.console <- copied.Object.Value:
			default: // the others have no listener
			}
		}
	}
}

func empty(request string) map[string]any {
	return map[string]any{
		"requestId": request, "responseCode": 200,
		"responseHeaders": []map[string]string{{"name": "Content-Type", "value": "text/html"}},
		"body":            base64.StdEncoding.EncodeToString([]byte("<!doctype html><title>stand-in</title><p>This stands in for a site.")),
	}
}

// Do gives the page a command of the DevTools protocol and decodes the result
// into out, nil for none.
func (p *Page) Do(method string, params, out any) {
	p.t.Helper()
	if err := p.b.command(p.session, method, params, out); err != nil {
		p.t.Fatal(err)
	}
}

// Front brings the tab before the others: only that one has the clipboard and
// the authenticator.
func (p *Page) Front() {
	p.t.Helper()
	p.Do("Page.bringToFront", nil, nil)
}

// StandIn answers every request of the page that fits pattern with an empty
// page, so that the network is not needed.
func (p *Page) StandIn(pattern string) {
	p.t.Helper()
	p.Do("Fetch.enable", map[string]any{"patterns": []map[string]string{{"urlPattern": pattern}}}, nil)
}

// Go opens an address and waits until its scripts ran.
func (p *Page) Go(url string) {
	p.t.Helper()
	var went struct{ ErrorText string }
	p.Do("Page.navigate", map[string]any{"url": url}, &went)
	if went.ErrorText != "" {
		p.t.Fatalf("open %s: %s", url, went.ErrorText)
	}
	p.Await("document.readyState === 'complete' && location.href !== 'about:blank'")
}

// Run evaluates an expression as the user's console does, waits for its promise
// and returns its value as JSON.
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
	var ran struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.b.command(p.session, "Runtime.evaluate", map[string]any{
		"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true, "includeCommandLineAPI": true,
	}, &ran)
	if e := ran.ExceptionDetails; err == nil && e != nil {
		p.t.Fatalf("%.200s: %s %s", expression, e.Text, e.Exception.Description)
	}
	return ran.Result.Value, err
}

// Text returns the value of an expression that is a string.
func (p *Page) Text(expression string) string {
	p.t.Helper()
	var text string
	if err := json.Unmarshal(p.Run(expression), &text); err != nil {
		p.t.Fatalf("%s is no text: %v", expression, err)
	}
	return text
}

// Await waits until an expression is true. A page that is reloaded meanwhile
// answers nothing for a moment.
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
	case text := <-p.console:
		return text
	case <-time.After(patience):
		p.t.Fatal("nothing was copied")
		return ""
	}
}

// Passkey gives the page an authenticator with one passkey, whose user always
// agrees. id and key, in PKCS #8, are base64.
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

// Size makes the page so wide and so high, in pixels, and dark or light.
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

// Picture returns the page as it is seen, as a PNG.
func (p *Page) Picture() []byte {
	p.t.Helper()
	var shot struct{ Data []byte }
	p.Do("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	return shot.Data
}

// Press presses and releases a key as the keyboard does: "Tab", "Enter", "Escape",
// "ArrowDown", a letter.
func (p *Page) Press(keys ...string) {
	p.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "ArrowUp": 38, "ArrowDown": 40, "Home": 36, "End": 35, "PageDown": 34}
	for _, key := range keys {
		press := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
		switch {
		case key == "Enter":
			press["text"] = "\r"
		case key == "Space":
			press["key"], press["text"] = " ", " "
		case len([]rune(key)) == 1:
			press["text"] = key
		}
		p.Do("Input.dispatchKeyEvent", press, nil)
		press["type"] = "keyUp"
		delete(press, "text")
		p.Do("Input.dispatchKeyEvent", press, nil)
	}
}

// Type types a text into what has the focus.
func (p *Page) Type(text string) {
	p.t.Helper()
	p.Do("Input.insertText", map[string]any{"text": text}, nil)
}
