package page

import (
	"fmt"
	"testing"

	"postern/e2e/browser"
)

// TestPaletteByKeyboard opens an instance and an action by Ctrl and K, and closes the palette with
// Escape.
func TestPaletteByKeyboard(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1280, 800, false)
	opened(page, url, shot{scene: "many", place: "overview"})
	ctrlK := func() {
		t.Helper()
		for _, kind := range []string{"rawKeyDown", "keyUp"} {
			page.Do("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "k", "code": "KeyK", "windowsVirtualKeyCode": 75, "modifiers": 2}, nil)
		}
		page.Await(`document.activeElement?.matches("dialog [role=combobox]")`)
	}
	ctrlK()
	page.Type("store-17")
	page.Await(`document.querySelector("[role=option]").textContent.includes("store-17") && document.querySelectorAll("[role=option]").length === 50`)
	page.Press("ArrowDown", "ArrowUp", "ArrowUp")
	page.Await(`document.querySelectorAll("[role=option]")[49].getBoundingClientRect().bottom <= document.querySelector(".palette").getBoundingClientRect().bottom`)
	page.Press("ArrowDown", "Enter")
	page.Await(`!document.querySelector("dialog") && location.hash.startsWith("#/instances/store-17") && document.activeElement === document.querySelector("main h1")`)
	ctrlK()
	page.Type("audit")
	page.Press("Enter")
	page.Await(`location.hash === "#/audit" && document.activeElement === document.querySelector("main h1")`)
	focus(t, page, `.tools .button`)
	page.Press("Enter")
	page.Await(`document.activeElement?.matches("dialog [role=combobox]")`)
	page.Type("x")
	page.Press("Escape")
	page.Await(`!document.querySelector("dialog") && document.activeElement?.matches(".tools .button")`)
}

// TestBatchByKeyboard makes a batch without a pointer.
func TestBatchByKeyboard(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1280, 800, false)
	opened(page, url, shot{scene: "three", place: "batches/new"})
	next := func(title string) {
		t.Helper()
		focus(t, page, `.new-batch .last .first`)
		page.Await(`!document.activeElement.hasAttribute("aria-disabled")`)
		page.Press("Enter")
		page.Await(fmt.Sprintf(`document.activeElement?.matches(".new-batch h2") && document.activeElement.textContent === %q`, title))
	}
	focus(t, page, `.new-batch .last .first`)
	page.Press("Enter") // it cannot be pressed yet
	page.Await(`document.activeElement.getAttribute("aria-describedby") && document.querySelector("h2").textContent === "Recipients"`)
	focus(t, page, `.new-batch textarea`)
	page.Type("4915155500003")
	next("Message")
	focus(t, page, `.new-batch textarea`)
	page.Type("Hello")
	next("Options")
	page.Press("Tab")
	page.Type("Spring")
	page.Press("Tab", "Space")
	next("Check and send")
	focus(t, page, `.new-batch .last .first`)
	page.Await(`document.activeElement.textContent === "Send to 1 recipient" && !document.activeElement.hasAttribute("aria-disabled")`)
	page.Press("Enter")
	page.Await(`location.hash.startsWith("#/batches/0") && document.activeElement === document.querySelector("main h1")`)
}
