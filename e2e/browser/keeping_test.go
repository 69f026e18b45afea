package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"postern/cli/consumer"
)

// TestDeliveriesAreSeenAndSentAgain: a webhook without a listener fails, is read with its body,
// and is replayed to the one that hears.
func TestDeliveriesAreSeenAndSentAgain(t *testing.T) {
	d := newConsole(t)
	token := d.Pair("shop")
	d.signIn()
	d.goTo("deliveries?target=webhook", "Deliveries")
	hook := map[string]any{"url": "http://127.0.0.1:9/", "enabled": true, "events": map[string]bool{"messagesUpsert": true}}
	d.Call(consumer.Bearer(token), http.MethodPut, "/instance/shop/webhook", hook, nil)
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
	d.says(".sheet .row", "Failed") // by itself
	d.page.Run(`$(".sheet .row a").click()`)
	d.says(".event-body pre", "is it ready?")
	d.says(".attempts", "the connection was refused")

	hook["url"] = d.Hook.URL
	d.Call(consumer.Bearer(token), http.MethodPut, "/instance/shop/webhook", hook, nil)
	d.goTo("deliveries?event=messages.upsert&instance=shop", "Deliveries")
	d.press("Replay")
	d.press("Send 1 again")
	d.says(".replay", "Replayed")
	d.says(".replay", "1 Delivered")
	d.Await("the event, which the global webhook had", func() bool { return d.Seen("messages.upsert") == 2 })
	d.page.Await(`document.querySelectorAll(".sheet .row").length === 2 && !$("main b")`)
	d.Stop()
}

// TestTheProgramIsKept makes a key and uses it, and goes through the pages of the operator.
func TestTheProgramIsKept(t *testing.T) {
	d := newConsole(t)
	d.Pair("shop")
	d.signIn()
	d.goTo("keys", "Keys")
	d.press("New key")
	d.fill("Name", "support")
	d.check("deliveries")
	d.page.Run(`document.querySelectorAll("dialog input[type=radio]")[1].click()`)
	d.page.Await(`$(".chosen-names .check input")`)
	d.page.Run(`$(".chosen-names .check input").click()`)
	d.fill("Requests per minute", "600")
	d.press("Create the key")
	d.page.Await(`$("dialog input[readonly]")?.value.startsWith("pk_")`)
	key := d.page.Text(`$("dialog input[readonly]").value`)
	d.press("Done")
	d.says(".sheet .row", "read, deliveries")

	d.goTo("audit", "Audit")
	d.says(".sheet .row", "key.create")
	d.goTo("backups", "Backups")
	d.press("Check")
	d.says(".notice.good", "No damage")
	d.goTo("configuration", "Configuration")
	d.page.Await(`document.querySelectorAll(".config dt").length > 50`)
	d.goTo("log", "Log")
	d.says(".lines-of-log", "msg=")
	d.press("Change")
	d.says(".card [role=status]", "It is debug until")

	d.page.Run(`$("[aria-label='Sign out (operator)']").click()`)
	d.signInWith(key)
	d.goTo("deliveries", "Deliveries")
	d.says(".empty", "No deliveries yet")
	if shown := d.page.Text(`[...document.querySelectorAll(".links a span")].map((one) => one.textContent).join()`); shown != "Overview,Instances,Chats,Deliveries" {
		t.Errorf("the key sees %s", shown)
	}
	d.Stop()
}

// TestAnAccountMovesInTheBrowser: it moves away into a file, is undone since no Postern took the
// file in, moves again, is deleted, and comes back by its file with what was written meanwhile.
func TestAnAccountMovesInTheBrowser(t *testing.T) {
	d := newConsole(t)
	token := d.Pair("shop")
	d.signIn()
	// What is downloaded is kept, to be taken in again.
	d.page.Run(`(() => { const made = URL.createObjectURL; URL.createObjectURL = (blob) => { window.kept = blob; return made.call(URL, blob); }; })()`)
	d.goTo("instances", "Instances")
	do := func(word string) {
		t.Helper()
		d.page.Await(`$("[aria-label='Actions for shop']")`)
		d.page.Run(`$("[aria-label='Actions for shop']").click()`)
		d.page.Await(fmt.Sprintf(`[...document.querySelectorAll("[role=menuitem]")].some((one) => one.textContent.trim() === %q && (one.click(), true))`, word))
		d.fill("Type shop to continue", "shop")
		d.page.Press("Enter")
		d.page.Await(`!$("dialog[open]")`)
	}
	do("Move to another Postern")
	d.says(".list .row", "Moved")
	do("Undo the move")
	d.says(".list .row", "Online")
	do("Move to another Postern")
	d.says(".list .row", "Moved")
	d.goTo("instances/shop", "shop")
	d.says(".notice", "It runs in another Postern")
	d.goTo("instances", "Instances")
	do("Delete")
	d.says(".empty", "Link the first phone")

	d.press("Import an account")
	d.page.Run(`(() => { const files = new DataTransfer(); files.items.add(new File([window.kept], "shop.account")); const box = $("dialog [type=file]"); box.files = files.files; box.dispatchEvent(new Event("change", { bubbles: true })); })()`)
	d.page.Await(`[...document.querySelectorAll("dialog footer button")].some((one) => one.textContent.trim() === "Import an account" && !one.hasAttribute("aria-disabled") && (one.click(), true))`)
	d.says(".toasts", "shop was imported")
	d.says(".list .row", "Online")
	d.Call(consumer.Bearer(token), http.MethodGet, "/instance/shop", nil, nil) // its token as well
	d.Stop()
}

// TestDeletingAKeyStopsItsWork: the page says what happens, and stops it.
func TestDeletingAKeyStopsItsWork(t *testing.T) {
	d := newConsole(t)
	token := d.Pair("shop")
	var made struct{ ID, Key string }
	d.Call(d.operator(), http.MethodPost, "/keys", map[string]any{"name": "leaver", "instances": []string{"shop"}, "scopes": []string{"webhook"}}, &made)
	d.Call(consumer.Bearer(made.Key), http.MethodPut, "/instance/shop/webhook", map[string]any{"url": "https://example.org/hook", "enabled": true}, nil)
	d.signIn()
	d.goTo("keys", "Keys")
	d.page.Await(`$(".sheet .row .menu button")`)
	d.page.Run(`$(".sheet .row .menu button").click()`)
	d.page.Await(`$("[role=menuitem].harm")`)
	d.page.Run(`$("[role=menuitem].harm").click()`)
	d.says("dialog .running", "https://example.org/hook")
	d.check("Stop all")
	d.fill("Type leaver to continue", "leaver")
	d.page.Press("Enter")
	d.says(".toasts", "leaver was deleted")
	var hook struct{ Enabled bool }
	d.Call(consumer.Bearer(token), http.MethodGet, "/instance/shop/webhook", nil, &hook)
	if hook.Enabled {
		t.Error("the webhook is enabled still")
	}
	d.Stop()
}
