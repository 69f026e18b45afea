package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/browser"
	"postern/e2e/rig"
)

const ownNumber = "4915155500001"

func TestMain(m *testing.M) { rig.Main(m) }

// desk is a program with an instance that is not paired, its dashboard in one
// tab, and WhatsApp's site in another.
type desk struct {
	*rig.World
	t          *testing.T
	token      string
	b          *browser.Browser
	page, site *browser.Page
}

// newDesk also makes a phone whose account is protected by a passkey, which
// the browser has too.
func newDesk(t *testing.T) *desk {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel() // it waits more than it works
	b := browser.Open(t)
	d := &desk{World: rig.NewWorld(t), t: t, page: b.Page(), site: b.Page()}
	d.Keep = true
	d.Start()
	var created struct{ Auth struct{ Token string } }
	d.Call(consumer.Key(d.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": "shop"}, &created)
	d.token = created.Auth.Token
	d.sandbox("/phones", `{"phone":"`+ownNumber+`","passkey":true}`, nil)
	return d
}

// sandbox asks the network for something.
func (d *desk) sandbox(path, body string, out any) {
	d.t.Helper()
	rec := httptest.NewRecorder()
	d.Sandbox.Control().ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/sandbox"+path, strings.NewReader(body)))
	if rec.Code >= 300 {
		d.t.Fatalf("%s %s: %d %s", path, body, rec.Code, rec.Body)
	}
	if out != nil {
		if err := json.Unmarshal(rec.Body.Bytes(), out); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *desk) act(body string, out any) {
	d.t.Helper()
	d.sandbox("/phones/"+ownNumber+"/act", body, out)
}

type status struct {
	ConnectionStatus string
	Passkey          *struct {
		Step string
		Code *string
	}
}

func (d *desk) status() (s status) {
	d.t.Helper()
	d.Call(consumer.Bearer(d.token), http.MethodGet, "/instance/shop/connection/status", nil, &s)
	return s
}

// asked signs in to the dashboard, presses Connect, scans the code and waits
// until the dialog says that a passkey is needed.
func (d *desk) asked() {
	d.t.Helper()
	var passkey struct{ CredentialID, RPID, PrivateKey string }
	d.act(`{"do":"passkey-credential"}`, &passkey)
	d.site.StandIn("https://web.whatsapp.com/*")
	d.site.Passkey(passkey.RPID, passkey.CredentialID, passkey.PrivateKey)
	d.signIn()
	d.page.Run(`location.hash = "#/instances"`)
	d.page.Await(`$("[aria-label='Connect shop']")`)
	d.page.Run(`$("[aria-label='Connect shop']").click()`)
	d.page.Await(`$(".scan img")?.src.startsWith("data:image/png") && $(".scan .left").textContent.includes("valid for")`)
	var connect struct{ Code string }
	d.Call(consumer.Bearer(d.token), http.MethodGet, "/instance/shop/connect", nil, &connect)
	d.sandbox("/scan", fmt.Sprintf(`{"phone":%q,"code":%q}`, ownNumber, connect.Code), nil)
	d.page.Await(`$(".sign textarea[readonly]")?.value && !$(".scan")`)
}

// signIn opens the console and signs in with the operator's key, as a person does.
func (d *desk) signIn() {
	d.t.Helper()
	d.signInWith(d.Sec.GlobalAuthToken)
}

func (d *desk) signInWith(key string) {
	d.t.Helper()
	d.page.Front()
	d.page.Go(d.API.Base + "/")
	d.page.Await(`document.activeElement?.matches("#key-form input")`)
	d.page.Type(key)
	d.page.Press("Enter")
	d.page.Await(`$("main h1") && !$("#key-form")`)
}

// press presses a button of the page by its word.
func (d *desk) press(word string) {
	d.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll("button")].findLast((b) => b.textContent.trim() === %q && !b.hasAttribute("aria-disabled"))`, word)
	d.page.Await(find)
	d.page.Run(find + ".click()")
}

// signed carries the line to WhatsApp's site and returns what its console
// copies there.
func (d *desk) signed() string {
	d.t.Helper()
	d.page.Front()
	d.press("Copy the line")
	d.page.Await(`[...document.querySelectorAll(".sign [role=status]")].some((one) => one.textContent === "Copied")`)
	line := d.page.Text(`$(".sign textarea[readonly]").value`)
	if strings.ContainsAny(line, "\r\n") {
		d.t.Errorf("more than one line: %q", line)
	}
	d.site.Front()
	d.site.Go(d.page.Text(`$(".sign a").href`))
	d.site.Run(line)
	return d.site.Copied()
}

func (d *desk) paste(answer string) {
	d.t.Helper()
	raw, err := json.Marshal(answer)
	if err != nil {
		d.t.Fatal(err)
	}
	d.page.Front()
	d.page.Run(`(() => { const box = $(".sign textarea:not([readonly])"); box.value = ` + string(raw) + `; box.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	d.page.Run(`new Promise((done) => setTimeout(done, 50))`) // until the page has it
	d.press("Send the answer")
}

// TestAPersonLinksAnAccountWithAPasskey goes through the whole dialog: the
// browser signs by its own WebAuthn, on the address of WhatsApp's site.
func TestAPersonLinksAnAccountWithAPasskey(t *testing.T) {
	d := newDesk(t)
	d.asked()
	if s := d.status(); s.Passkey == nil || s.Passkey.Step != "required" || s.Passkey.Code != nil {
		t.Errorf("the status tells %+v", s)
	}
	answer := d.signed()

	d.paste(answer[:len(answer)/2])
	d.page.Await(`$("dialog [role=alert]")?.textContent.includes("not the whole answer")`)
	d.paste(d.page.Text(`$(".sign textarea[readonly]").value`))
	d.page.Await(`$("dialog [role=alert]")?.textContent.includes("the line itself")`)
	d.paste("'" + answer + "'\n") // as some consoles show a text
	d.page.Await(`!$("dialog[open]") && $(".list").textContent.includes("` + ownNumber + `")`)
	d.AwaitOnline("shop", d.token)
	if s := d.status(); s.Passkey != nil {
		t.Errorf("paired, and the status tells %+v", s.Passkey)
	}
	d.page.Await(`!$("[role=alert]")`)
	d.Stop()
}

// TestAPersonComparesTheCode is a second dialog whose first answer, given by
// another one, led nowhere.
func TestAPersonComparesTheCode(t *testing.T) {
	for _, says := range []string{"same", "other"} {
		t.Run(says, func(t *testing.T) {
			d := newDesk(t)
			d.act(`{"do":"passkey","compare":true}`, nil)
			d.asked()
			if code, body := d.Raw(consumer.Bearer(d.token), http.MethodPost, "/instance/shop/connect/passkey/assertion", d.signed()); code != http.StatusAccepted {
				t.Fatalf("%d %s", code, body)
			}
			d.paste(d.signed())
			d.page.Await(`$(".digits")`)
			var phone struct{ Code string }
			d.act(`{"do":"passkey-code"}`, &phone)
			if shown := d.page.Text(`$(".digits").textContent`); shown != phone.Code || len(shown) != len("ABCD-EFGH") {
				t.Errorf("the dialog shows %q, the phone %q", shown, phone.Code)
			}
			d.press(map[string]string{"same": "Yes, it is the same", "other": "No, it is another"}[says])
			if says == "same" {
				d.page.Await(`!$("dialog[open]")`)
				d.AwaitOnline("shop", d.token)
			} else {
				d.page.Await(`$("dialog [role=alert]")?.textContent.includes("Nothing was linked")`)
				if s := d.status(); s.ConnectionStatus != "LOGGED_OUT" {
					t.Errorf("given up: %+v", s)
				}
			}
			if s := d.status(); s.Passkey != nil {
				t.Errorf("it is over, and the status tells %+v", s.Passkey)
			}
			d.Stop()
		})
	}
}
