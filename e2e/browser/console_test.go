package browser_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/browser"
	"postern/e2e/rig"
)

// newConsole returns a program without an instance, and a tab for its console.
func newConsole(t *testing.T) *desk {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel() // it waits more than it works
	d := openConsole(t)
	d.Start()
	return d
}

// openConsole returns a program that has not been started, and a tab.
func openConsole(t *testing.T) *desk {
	b := browser.Open(t)
	d := &desk{World: rig.NewWorld(t), t: t, b: b, page: b.Page()}
	d.Keep = true
	return d
}

func (d *desk) operator() consumer.Credential { return consumer.Key(d.Sec.GlobalAuthToken) }

// goTo opens a place of the console and waits for its heading.
func (d *desk) goTo(place, heading string) {
	d.t.Helper()
	d.page.Await(`!history.state?.dialog`) // a closed dialog has left the history
	d.page.Run(`location.hash = "#/` + place + `"`)
	d.page.Await(fmt.Sprintf(`$("main h1")?.textContent.includes(%q)`, heading))
}

// says waits until what the selector finds says the text.
func (d *desk) says(selector, text string) {
	d.t.Helper()
	d.page.Await(fmt.Sprintf(`$(%q)?.textContent.includes(%q)`, selector, text))
}

// fill types into the field with the label.
func (d *desk) fill(label, text string) {
	d.t.Helper()
	d.page.Await(fmt.Sprintf(`(() => { const l = [...document.querySelectorAll("label")].findLast((l) => l.textContent.trim() === %q); const box = document.getElementById(l?.htmlFor); box?.focus(); box?.select(); return box; })()`, label))
	d.page.Type(text)
}

// save presses Save and waits until nothing is left to be saved.
func (d *desk) save() {
	d.t.Helper()
	d.press("Save")
	d.page.Await(`![...document.querySelectorAll("button")].some((b) => b.textContent.trim() === "Save" && !b.hasAttribute("aria-disabled")) && !$(".card [role=alert], .card .wheel")`)
}

// check presses the box with the label.
func (d *desk) check(label string) {
	d.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll("label.check")].find((l) => l.textContent.startsWith(%q))?.querySelector("input")`, label)
	d.page.Await(find)
	d.page.Run(find + ".click()")
}

// TestTheFirstMinuteOfANewcomer: signed in, an instance is made, its code is scanned, and
// it is online in the list, without a look away from the page.
func TestTheFirstMinuteOfANewcomer(t *testing.T) {
	d := newConsole(t)
	d.signIn()
	d.says("h1", "No instances yet")
	d.goTo("instances", "Instances")
	d.says(".empty", "Link the first phone")
	d.press("New instance")
	d.fill("Name", "till")
	d.page.Press("Enter")
	d.page.Await(`$(".scan img")?.src.startsWith("data:image/png") && $(".scan .left").textContent.includes("valid for")`)
	var issued struct{ Token string }
	d.Call(d.operator(), http.MethodPut, "/instance/till/token", nil, &issued)
	var connect struct{ Code, ExpiresAt string }
	d.Call(consumer.Bearer(issued.Token), http.MethodGet, "/instance/till/connect", nil, &connect)
	if connect.ExpiresAt == "" {
		t.Error("connect does not tell until when its code is good")
	}
	if _, err := d.Sandbox.AutoScan(connect.Code); err != nil {
		t.Fatal(err)
	}
	d.page.Await(`!$("dialog[open]")`)
	d.says(".list .row", "Online")
	d.says(".toasts", "till is linked")
	d.Stop()
}

// TestWhatChangesElsewhereIsSeen: what other programs do appears by itself, a server that is
// gone is shown, and when it is back the page has caught up, in the same session.
func TestWhatChangesElsewhereIsSeen(t *testing.T) {
	d := newConsole(t)
	d.signIn()
	d.goTo("instances", "Instances")
	token := d.Pair("shop")
	d.says(".list .row", "Online")
	d.Call(d.operator(), http.MethodPost, "/instance", map[string]any{"instanceName": "brief"}, nil)
	d.page.Await(`document.querySelectorAll(".list .row").length === 2`)
	var issued struct{ Token string }
	d.Call(d.operator(), http.MethodPut, "/instance/brief/token", nil, &issued)
	d.Call(consumer.Bearer(issued.Token), http.MethodDelete, "/instance/brief", nil, nil)
	d.page.Await(`document.querySelectorAll(".list .row").length === 1`)

	d.Kill()
	d.says(".away", "Not connected")
	d.says(".list .row", "shop")
	d.Launch(strings.TrimPrefix(d.API.Base, "http://"))
	d.page.Await(`!$(".away") && $(".pulse .dot") && $(".side .pulse").textContent === "Live"`)
	d.Call(consumer.Bearer(token), http.MethodDelete, "/instance/shop/logout", nil, nil)
	d.says(".list .row", "Logged out")
	d.says(".links .count", "1")
	d.Stop()
}

// TestFailedPageLoadIsShownAndRetried: one that was not open before, while the
// server is gone, and so does a language. What is there stays until the server is back.
func TestFailedPageLoadIsShownAndRetried(t *testing.T) {
	d := newConsole(t)
	d.signIn()
	d.goTo("instances", "Instances")
	d.Kill()
	d.page.Run(`location.hash = "#/keys"`)
	d.says("main [role=alert]", "No answer from")
	d.page.Run(`$("main [role=alert] button").click()`) // the server is still down
	d.page.Await(`!$("main [role=alert] .wheel")`)
	d.says("main [role=alert]", "No answer from")
	d.page.Run(`location.hash = "#/instances"`) // and what was there before still is
	d.page.Await(`$("main h1")?.textContent.includes("Instances") && !$("main .page-head ~ * .wheel")`)
	d.page.Run(`$(".side .tools [aria-haspopup=menu]").click()`)
	d.page.Await(`[...document.querySelectorAll(".side [role=menu] button")].some((b) => b.textContent.includes("Português") && (b.click(), true))`)
	d.says(".toasts", "No answer from")
	d.page.Run(`location.hash = "#/keys"`)
	d.says("main [role=alert]", "No answer from")
	d.Launch(strings.TrimPrefix(d.API.Base, "http://"))
	d.page.Await(`$(".side .pulse").textContent === "Live"`)
	d.page.Run(`$("main [role=alert] button").click()`)
	d.page.Await(`$("main h1")?.textContent.includes("Keys") && document.documentElement.lang === "en"`)
	d.Stop()
}

// TestAWebhookIsSetTriedAndSeen goes through the tabs of an instance.
func TestAWebhookIsSetTriedAndSeen(t *testing.T) {
	d := newConsole(t)
	d.Pair("shop")
	d.signIn()
	d.goTo("instances/shop/webhook", "shop")
	d.fill("Address", "ftp://example.org")
	d.press("Save")
	d.says(".card [role=alert]", "http")
	d.fill("Address", d.Hook.URL)
	d.press("All")
	d.save()
	d.press("Send")
	d.says(".notice.good", "Accepted with 200")
	d.Await("the example", func() bool { return d.Seen("messages.upsert") > 0 })

	d.check("Keep each event until it is accepted")
	d.check("Sign deliveries")
	d.press("Save")
	d.says("dialog[open]", "The signing secret")
	d.page.Await(`$("dialog[open] input").value.startsWith("whsec_")`)
	d.press("Done")
	d.press("New secret")
	d.press("Generate a new secret")
	d.says("dialog[open]", "not shown again")
	d.press("Done")
	d.goTo("webhook", "Global webhook")
	d.check("Keep each event until it is accepted")
	d.save()
	d.press("Restore the defaults")
	d.says("dialog[open]", "removes all these options")
	d.press("Restore the defaults")
	d.page.Await(`!$("dialog[open]") && $("label.check input").checked === false`)

	d.goTo("instances/shop/limits", "shop")
	d.fill("Messages per minute", "0")
	d.press("Save")
	d.says(".card [role=alert]", "perMinute")
	d.fill("Messages per minute", "60")
	d.save()
	d.goTo("instances/shop", "shop")
	d.says(".stack", "of 60")
	d.goTo("instances/shop/settings", "shop")
	d.page.Await(`$(".check input")`)
	d.page.Run(`$(".check input").click()`)
	d.save()

	d.goTo("instances/shop/events", "shop")
	d.says(".events-state", "Live")
	var row []struct{ OwnerJID string }
	d.Call(d.operator(), http.MethodGet, "/instance", nil, &row)
	own, _, _ := strings.Cut(row[0].OwnerJID, "@")
	d.sandbox("/phones", `{"phone":"4915155500077"}`, nil)
	text := `<b onclick=alert(1)>is it ready?</b>`
	raw, err := json.Marshal(map[string]string{"do": "text", "to": own, "text": text})
	if err != nil {
		t.Fatal(err)
	}
	d.sandbox("/phones/4915155500077/act", string(raw), nil)
	d.says(".events-list", text)
	d.page.Run(`[...document.querySelectorAll(".events-list button")].find((b) => b.textContent.includes("messages.upsert")).click()`)
	d.says(".event-one pre", "is it ready?")
	d.press("As curl")
	d.page.Await(`$(".event-one [role=status]") && !$(".event-one b")`)

	d.goTo("instances/shop/proxy", "shop")
	d.fill("Address", "http://127.0.0.1:1")
	d.press("Save")
	d.says(".card [role=alert]", "connect")
	d.page.Run(`$("[aria-label='Actions for shop']").click()`)
	d.press("Link for a customer")
	d.press("Create the link")
	d.page.Await(`$("dialog input[readonly]")?.value.startsWith("http")`)
	d.site = d.b.Page()
	d.site.Go(d.page.Text(`$("dialog input[readonly]").value`))
	d.site.Await(`document.body.innerText.includes("shop")`)
	d.page.Front()
	d.press("Done")
	d.page.Run(`$("[aria-label='Actions for shop']").click()`)
	d.press("Delete")
	d.page.Await(`document.activeElement?.matches("dialog input")`)
	d.page.Type("shop")
	d.page.Await(`!$("dialog footer .first").hasAttribute("aria-disabled")`)
	d.page.Press("Enter")
	d.says(".empty", "Link the first phone")
	d.Stop()
}

// TestAKeyThatIsDeletedEndsItsSession: in mid-work, with a word, and the page stays.
func TestAKeyThatIsDeletedEndsItsSession(t *testing.T) {
	d := newConsole(t)
	d.Pair("shop")
	d.Pair("other")
	var made struct{ ID, Key string }
	d.Call(d.operator(), http.MethodPost, "/keys", map[string]any{"name": "support", "instances": []string{"shop"}, "scopes": []string{"read"}}, &made)
	d.signInWith(made.Key)
	d.goTo("instances", "Instances")
	d.page.Await(`document.querySelectorAll(".list .row").length === 1`)
	if text := d.page.Text(`document.body.innerText`); strings.Contains(text, "other") || strings.Contains(text, "New instance") {
		t.Errorf("a key that may only read shop sees\n%s", text)
	}
	d.Call(d.operator(), http.MethodDelete, "/keys/"+made.ID, nil, nil)
	d.says("dialog[open]", "Sign in again")
	d.says(".list .row", "shop")
	d.page.Await(`document.activeElement?.matches("dialog input")`)
	d.page.Type(d.Sec.GlobalAuthToken)
	d.page.Press("Enter")
	d.page.Await(`!$("dialog[open]") && document.querySelectorAll(".list .row").length === 2`)
	d.Stop()
}

// TestTheConsoleIsThereAtOnce holds the first paint of the page: 300 milliseconds on the loopback, of the
// fastest load. A machine that has much else to do paints a page of one word as slowly, relatively: it is
// loaded in turn, and where six of it take longer, they are the bound.
func TestTheConsoleIsThereAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const atOnce, loads = 300, 25
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>plain</title><p>plain")
	}))
	defer plain.Close()
	d := openConsole(t)
	d.Start()
	fastest := func(before float64, url string) float64 {
		d.page.Go("about:blank#again")
		d.page.Go(url)
		d.page.Front()
		d.page.Await(`performance.getEntriesByName("first-contentful-paint").length`)
		var paint float64
		if err := json.Unmarshal(d.page.Run(`performance.getEntriesByName("first-contentful-paint")[0].startTime`), &paint); err != nil {
			t.Fatal(err)
		}
		return min(before, paint)
	}
	console, bare := 1e9, 1e9
	for load := 0; load == 0 || load < loads && console > max(atOnce, 6*bare); load++ {
		console = fastest(console, d.API.Base+"/")
		bare = fastest(bare, plain.URL)
	}
	t.Logf("the first paint after %.0f ms, of a plain page after %.0f ms", console, bare)
	if console > max(atOnce, 6*bare) {
		t.Errorf("the first paint after %.0f ms, of a plain page after %.0f ms", console, bare)
	}
	d.Stop()
}
