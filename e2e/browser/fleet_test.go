package browser_test

import (
	"net/http"
	"testing"

	"postern/cli/consumer"
)

// TestManyInstancesAreChangedAtOnce chooses two instances of the real program, changes tags,
// limits and webhook of both, sees the webhook fail and tests it, and deletes both.
func TestManyInstancesAreChangedAtOnce(t *testing.T) {
	d := newConsole(t)
	token := d.Pair("shop")
	d.Pair("till")
	d.signIn()
	d.goTo("instances", "Instances")
	d.page.Await(`document.querySelectorAll(".list .row").length === 2`)
	d.page.Run(`$(".row-head input").click()`)
	chosen := func(action string) {
		t.Helper()
		d.page.Await(`$(".many .menu button")`)
		d.page.Run(`$(".many .menu button").click()`)
		d.page.Await(`[...document.querySelectorAll("[role=menuitem]")].find((one) => one.textContent.trim() === "` + action + `")`)
		d.page.Run(`[...document.querySelectorAll("[role=menuitem]")].find((one) => one.textContent.trim() === "` + action + `").click()`)
	}
	chosen("Tags")
	d.fill("Add", "north, paying")
	d.press("Change 2 instances")
	d.says(".work", "2 done")
	d.says(".list .row", "paying")
	chosen("Limits")
	d.fill("Messages per hour", "7")
	d.press("Change 2 instances")
	d.says(".work", "2 done")
	var limits struct{ PerHour int }
	d.Call(consumer.Bearer(token), http.MethodGet, "/instance/shop/limits", nil, &limits)
	if limits.PerHour != 7 {
		t.Errorf("the limit is %d", limits.PerHour)
	}
	chosen("Webhook")
	d.fill("Address", "http://127.0.0.1:9/")
	d.press("Change 2 instances")
	d.says(".work", "2 done")
	chosen("Restart")
	d.press("Restart")
	d.says(".work", "2 done")

	d.goTo("instances/shop", "shop")
	d.says("main .stack > .buttons", "Send a test message")
	d.goTo("instances/shop/webhook", "shop")
	d.says(".receivers", "http://127.0.0.1:9")
	d.press("Test")
	d.says(".receivers [role=status]", "refused")

	d.goTo("instances?tag=north,paying", "Instances")
	d.says(".many", "2 chosen") // still
	chosen("Delete")
	d.fill("Type 2 to continue", "2")
	d.press("Delete")
	d.page.Await(`$(".empty") && $(".work").textContent.includes("2 done")`)
	d.Stop()
}
