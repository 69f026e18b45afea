package page

import (
	"testing"

	"postern/e2e/browser"
)

// TestWideWindowShowsAnEntryBesideItsList: a click and Enter show it, and leave list, place and focus as they are. The
// address names it, a narrow window shows its page, and Close ends it.
func TestWideWindowShowsAnEntryBesideItsList(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1920, 1000, false)
	opened(page, url, shot{scene: "many", place: "instances?tag=north"})
	page.Run(`scrollTo(0, 6000); stage.settled()`)
	page.Await(`document.querySelectorAll(".list .row .name a")[9]?.getBoundingClientRect().top > 0`)
	page.Run(`document.querySelectorAll(".list .row .name a")[9].click(); stage.settled()`)
	page.Await(`document.querySelector(".beside > aside h2")?.textContent === document.querySelector(".list a[aria-current]")?.textContent && document.querySelector(".beside > aside .facts") && Math.abs(scrollY - 6000) < 5`)
	page.Await(`/^#\/instances\?tag=north&show=store-/.test(location.hash)`)
	page.Run(`document.querySelector(".list a[aria-current]").focus()`)
	page.Press("ArrowDown")
	page.Await(`document.activeElement.closest(".list .row") && !document.activeElement.ariaCurrent`)
	page.Press("Enter")
	page.Await(`document.activeElement.ariaCurrent === "true" && document.querySelector(".beside > aside h2").textContent === document.activeElement.textContent && document.querySelectorAll("h1").length === 1`)
	page.Run(`document.querySelector(".beside > aside [aria-label=Close]").click(); stage.settled()`)
	page.Await(`!document.querySelector(".beside > aside") && location.hash === "#/instances?tag=north" && Math.abs(scrollY - 6000) < 5`)

	opened(page, url, shot{scene: "three", place: "deliveries?state=FAILED"})
	page.Await(`document.querySelector(".deliveries .row a")`)
	page.Run(`document.querySelector(".deliveries .row a").click(); stage.settled()`)
	page.Await(`document.querySelector(".beside > aside .attempts") && document.querySelector(".deliveries .row") && location.hash.includes("state=FAILED&show=") && document.title.endsWith("Deliveries · Postern")`)
	page.Size(1280, 800, false)
	page.Await(`document.querySelector("main h1").textContent.startsWith("Delivery ") && !document.querySelector(".beside > aside") && document.querySelector(".crumb").hash === "#/deliveries?state=FAILED" && document.title.includes("connection.update")`)
}
