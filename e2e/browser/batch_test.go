package browser_test

import (
	"net/http"
	"testing"

	"postern/cli/consumer"
)

// TestABatchIsMadeInSteps goes from the palette through the steps of a new batch, whose text has a
// column, and the real dry run, to messages that are sent.
func TestABatchIsMadeInSteps(t *testing.T) {
	d := newConsole(t)
	d.Pair("shop")
	d.signIn()
	d.page.Run(`$(".tools .button").click()`)
	d.page.Await(`document.activeElement?.matches("[role=combobox]")`)
	d.page.Type("new batch")
	d.page.Press("Enter")
	d.page.Await(`location.hash === "#/batches/new" && document.activeElement === $("main h1")`)
	d.page.Run(`$(".new-batch textarea").focus()`)
	d.page.Type("name;phone\nAda;+49 151 555 00003\nBen;0151 55500004\nNemo;12\nCem;4915155500000")
	d.fill("Country code for numbers that begin with 0", "+49")
	d.says(".sums", "3 numbers")
	d.press("Next")
	d.fill("Text", "Hello {{name|you}}.")
	d.says(".new-batch .facts", "Hello Ben.")
	d.press("Next")
	d.fill("Name", "Spring")
	d.page.Run(`$(".flags-list input").click()`)
	d.fill("At least", "0")
	d.fill("At most", "0")
	d.press("Next")
	d.says(".new-batch .sums", "2 of 3 are on WhatsApp")
	d.says(".new-batch .left-out", "4 12")
	d.page.Await(`$(".new-batch").textContent.includes("Hello Ada.")`)
	d.press("Send to 2 recipients")
	d.page.Await(`$("main h1")?.textContent === "Spring" && $("main").textContent.includes("Done")`)

	var batches struct {
		Records []struct{ ID, OwnerUserID string }
	}
	d.Call(d.operator(), http.MethodGet, "/admin/batches", nil, &batches)
	if len(batches.Records) != 1 {
		t.Fatalf("%+v", batches)
	}
	var user struct{ Token string }
	d.Call(d.operator(), http.MethodPost, "/auth/user-token", map[string]any{"userId": batches.Records[0].OwnerUserID, "expiresIn": 600}, &user)
	var items struct {
		Records []struct{ Status, RenderedPreview, NormalizedRecipient string }
	}
	d.Call(consumer.Bearer(user.Token), http.MethodGet, "/message/batches/"+batches.Records[0].ID+"/items", nil, &items)
	if len(items.Records) != 2 || items.Records[0].Status != "SUCCESS" || items.Records[0].RenderedPreview != "Hello Ada." || items.Records[1].NormalizedRecipient != "4915155500004" {
		t.Errorf("%+v", items.Records)
	}
	d.Stop()
}
