package page

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"postern/e2e/browser"
	"postern/internal/nightly"
)

// axe returns the script of axe-core, fetched with npm, or skips the test.
func axe(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("fetches axe-core")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("needs npm")
	}
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), npm, "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@4.14.1")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("axe-core is unavailable: %.300s", out)
	}
	raw, err := os.ReadFile(filepath.Join(folder, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Skip(err)
	}
	return string(raw)
}

// opened loads a page of the stage and performs the act of the shot.
func opened(page *browser.Page, url string, s shot) {
	page.Go("about:blank#" + s.name) // discard the page before
	page.Go(url + "&scene=" + s.scene + "#/" + s.place)
	page.Run(`stage.settled()`)
	if s.act != "" {
		page.Run(s.act)
		page.Run(`stage.settled()`)
	}
}

// window is a size, colour scheme and language.
type window struct {
	width    int
	dark     bool
	language string
}

// windows are used in turn, so that a run takes a minute; with EVERYWHERE set, each page is
// checked in all of them.
var windows = []window{{1280, false, "pt"}, {390, true, "es"}, {320, false, "es"}, {768, true, "pt"}, {3840, false, "es"}}

// TestEveryPage checks every page, light and dark: axe-core finds no violation of WCAG
// 2.2 AA; nothing scrolls sideways or is cut off, down to 320 pixels; no key is shown, and
// no English text in another language. The short form runs axe-core on plain pages only.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("opens every page")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	words := tables(t)
	page.Do("Page.setBypassCSP", map[string]any{"enabled": true}, nil) // for axe only
	var script string
	t.Run("barriers", func(t *testing.T) { script = axe(t) })
	page.Go(url + "scene=empty")
	for i, s := range shots {
		in := windows[i%len(windows):][:1]
		if os.Getenv("EVERYWHERE") != "" {
			in = windows
		}
		if strings.HasSuffix(s.name, "-beside") {
			in = []window{{1920, i%2 == 0, "pt"}}
		}
		for _, w := range in {
			page.Run(`localStorage.setItem("postern.language", "` + w.language + `")`)
			page.Size(w.width, 900, w.dark)
			opened(page, url, s)
			within(t, page, s, w)
			speaks(t, page, s, w, words)
			if plain := strings.HasPrefix(s.scene, "three") && s.act == ""; script != "" && nightly.Or(plain, true) {
				noBarriers(t, page, s, w, script)
			}
		}
	}
}

func noBarriers(t *testing.T, page *browser.Page, s shot, w window, script string) {
	t.Helper()
	page.Run(script + "\n;0")
	raw := page.Run(`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
		.then(({violations}) => violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => v.id + ": " + n.html.slice(0, 160) + " " + n.any.concat(n.all, n.none).map((c) => c.message).join("; ").slice(0, 200))))`)
	var found []string
	if err := json.Unmarshal(raw, &found); err != nil {
		t.Fatal(err)
	}
	for _, one := range found {
		t.Errorf("%s, %+v: %s", s.name, w, one)
	}
}

func within(t *testing.T, page *browser.Page, s shot, w window) {
	t.Helper()
	if wide := page.Text(`String(document.documentElement.scrollWidth > innerWidth + 1 && [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".side, .tabs, .filters, .unseen, .scrolled")).slice(0, 3).map((e) => e.outerHTML.slice(0, 120)).join("\n") || "")`); wide != "false" && wide != "" {
		t.Errorf("%s, %+v: %s", s.name, w, wide)
	}
}

func speaks(t *testing.T, page *browser.Page, s shot, w window, words map[string]map[string]string) {
	t.Helper()
	text := page.Text(`document.documentElement.lang + "\n" + document.body.innerText`)
	if !strings.HasPrefix(text, w.language) {
		t.Errorf("%s, %+v: is in %.2s", s.name, w, text)
	}
	line := " " + strings.ReplaceAll(text, "\n", " ") + " "
	for key, word := range words["en"] {
		if len(word) > 14 && word != words[w.language][key] && !strings.Contains(word, "{") && strings.Contains(text, word) {
			t.Errorf("%s, %+v: says %q", s.name, w, word)
		}
		if strings.Contains(key, ".") && strings.Contains(line, " "+key+" ") && !strings.HasPrefix(key, "event.") {
			t.Errorf("%s, %+v: shows the key %q", s.name, w, key)
		}
	}
}

// TestInstancePagesByKeyboard signs in, creates an instance, opens its menu and deletes it
// without a pointer.
func TestInstancePagesByKeyboard(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1280, 800, false)
	page.Go(url + "scene=empty&out=1")
	page.Await(`document.activeElement?.matches("#key-form input")`)
	page.Type("right")
	page.Press("Enter")
	page.Await(`document.querySelector("main h1") && !document.querySelector("#key-form")`)
	focus(t, page, `.links a[href="#/instances"]`)
	page.Press("Enter")
	page.Await(`document.activeElement === document.querySelector("main h1") && location.hash === "#/instances"`)
	focus(t, page, `.empty .button.first`)
	page.Press("Enter")
	page.Await(`document.activeElement?.matches("dialog input")`)
	page.Type("till")
	page.Press("Tab", "Tab", "Tab", "Space") // do not show the code
	page.Await(`!document.querySelector("dialog input[type=checkbox]").checked`)
	page.Press("Enter")
	page.Await(`!document.querySelector("dialog[open]") && document.querySelector(".list .row")`)
	focus(t, page, `.row .menu button`)
	page.Press("Enter")
	page.Await(`document.activeElement?.matches("[role=menuitem]")`)
	page.Press("Escape")
	page.Await(`!document.querySelector("[role=menu]") && document.activeElement?.matches(".row .menu button")`)
	page.Press("Enter")
	page.Await(`document.activeElement?.matches("[role=menuitem]")`)
	page.Press("End", "Enter")
	page.Await(`document.activeElement?.matches("dialog input")`)
	page.Press("Enter") // without the name nothing happens
	page.Type("till")
	page.Await(`!document.querySelector("dialog footer .first").hasAttribute("aria-disabled")`)
	page.Press("Enter")
	page.Await(`!document.querySelector("dialog[open]") && document.querySelector(".empty")`)
}

// TestOperatorPagesByKeyboard creates a key, edits it by its menu and opens a delivery
// without a pointer.
func TestOperatorPagesByKeyboard(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a browser")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1280, 800, false)
	opened(page, url, shot{scene: "three", place: "keys"})
	focus(t, page, `.page-head .button.first`)
	page.Press("Enter")
	page.Await(`document.activeElement?.matches("dialog input")`)
	page.Type("till")
	page.Press("Tab", "Tab", "Space") // send, too
	page.Press("Enter")
	page.Await(`document.querySelector("dialog input[readonly]")?.value.startsWith("pk_")`)
	focus(t, page, `dialog footer .first`)
	page.Press("Enter")
	page.Await(`!document.querySelector("dialog[open]") && document.querySelector(".sheet .row").textContent.includes("read, send")`)
	focus(t, page, `.sheet .row .menu button`)
	page.Press("Enter")
	page.Await(`document.activeElement?.matches("[role=menuitem]")`)
	page.Press("Enter")
	page.Await(`document.activeElement?.matches("dialog input") && document.activeElement.value === "till"`)
	page.Press("Escape")
	page.Await(`!document.querySelector("dialog[open]")`)
	focus(t, page, `.links a[href="#/deliveries"]`)
	page.Press("Enter")
	page.Await(`document.activeElement === document.querySelector("main h1") && document.querySelector(".sheet .row")`)
	focus(t, page, `.sheet .row a`)
	page.Press("ArrowDown")
	page.Await(`document.activeElement?.closest("[data-row]")?.dataset.row === "1"`)
	page.Press("Enter")
	page.Await(`document.activeElement === document.querySelector("main h1") && document.querySelector(".attempts")`)
}

// focus presses Tab until the selector has the focus, and checks that the focus is always
// visible.
func focus(t *testing.T, page *browser.Page, selector string) {
	t.Helper()
	for range 60 {
		page.Press("Tab")
		at := page.Text(fmt.Sprintf(`(() => { const e = document.activeElement; const seen = e === document.body || getComputedStyle(e).outlineStyle !== "none"; return (e.matches(%q) ? "there" : "on") + (seen ? "" : " unseen " + e.outerHTML.slice(0, 100)); })()`, selector))
		if strings.Contains(at, "unseen") {
			t.Errorf("the focus is not visible: %s", at)
		}
		if strings.HasPrefix(at, "there") {
			return
		}
	}
	t.Fatalf("the Tab key does not reach %s", selector)
}

// busy returns the processor time of the page's thread in seconds.
func busy(page *browser.Page) float64 {
	var result struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	page.Do("Performance.getMetrics", nil, &result)
	for _, m := range result.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value
		}
	}
	return 0
}

// frameLimit is how much processor time a frame of the table may take, in frames of plain rows. Four
// runs at loads of 6 to 10 had 3.6 to 4.2.
const frameLimit = 6

// plainFrames draws as many frames, each with forty new plain rows of six cells.
const plainFrames = `new Promise((done) => {
	const box = document.body.appendChild(document.createElement("div"));
	let n = 0;
	const step = () => {
		box.innerHTML = Array.from({length: 40}, (_, row) => "<p>" + Array.from({length: 6}, (_, cell) => "<span>" + (n + row) + " " + cell + "</span>").join("") + "</p>").join("");
		box.offsetHeight;
		if (++n < 130) requestAnimationFrame(step); else { box.remove(); done(n); }
	};
	step();
})`

// TestTwoThousandInstancesScrollWithoutALongTask checks the number of rows in the page and
// the cost of a frame.
func TestTwoThousandInstancesScrollWithoutALongTask(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1280, 800, false)
	opened(page, url, shot{scene: "many", place: "instances"})
	const frames = 130
	page.Do("Performance.enable", map[string]string{"timeDomain": "threadTicks"}, nil)
	before := busy(page)
	raw := page.Run(`new Promise((done) => {
		let rows = 0, n = 0;
		const step = () => {
			scrollTo(0, n * 900); rows = Math.max(rows, document.querySelectorAll(".list .row").length);
			if (++n < 130) requestAnimationFrame(step); else setTimeout(() => done({rows, last: document.querySelector(".list .row:last-child")?.textContent || ""}), 200);
		};
		step();
	})`)
	each := (busy(page) - before) / frames * 1000
	before = busy(page)
	page.Run(plainFrames)
	plain := (busy(page) - before) / frames * 1000
	var result struct {
		Rows int
		Last string
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows at once, %.1f ms of processor time for each frame, %.2f × a frame of plain rows", result.Rows, each, each/plain)
	if each > frameLimit*plain {
		t.Errorf("a frame takes %.2f × one of plain rows, at most %d are wanted", each/plain, frameLimit)
	}
	if result.Rows > 60 || result.Rows < 10 || !strings.Contains(result.Last, "store-18") && !strings.Contains(result.Last, "store-19") && !strings.Contains(result.Last, "store-2000") {
		t.Errorf("%d rows, the last one is %q", result.Rows, result.Last)
	}
}

// TestTwoThousandInstancesDoNotShift checks how far the table moves while it loads.
func TestTwoThousandInstancesDoNotShift(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1280, 800, false)
	opened(page, url, shot{scene: "many", place: "instances"})
	raw := page.Run(`new Promise((done) => {
		let sum = 0;
		new PerformanceObserver((list) => list.getEntries().forEach((one) => { sum += one.value; })).observe({type: "layout-shift", buffered: true});
		setTimeout(() => done(sum), 300);
	})`)
	var shift float64
	if err := json.Unmarshal(raw, &shift); err != nil {
		t.Fatal(err)
	}
	t.Logf("a layout shift of %.3f", shift)
	if shift > 0.1 {
		t.Errorf("the table shifts by %.3f, want at most 0.1", shift)
	}
}

// TestTableKeepsItsPlace leaves the table for an instance and comes back, and ends a choice of
// rows far down.
func TestTableKeepsItsPlace(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1280, 800, false)
	opened(page, url, shot{scene: "many", place: "instances?tag=north"})
	page.Run(`scrollTo(0, 6000); stage.settled()`)
	page.Await(`document.querySelectorAll(".list .row .name a")[9]?.getBoundingClientRect().top > 0`)
	page.Run(`document.querySelectorAll(".list .row .name a")[9].click(); stage.settled()`)
	page.Await(`location.hash.startsWith("#/instances/store-") && scrollY === 0`)
	page.Run(`history.back(); stage.settled()`)
	page.Await(`location.hash === "#/instances?tag=north" && Math.abs(scrollY - 6000) < 5 && document.querySelectorAll(".list .row").length > 10`)
	page.Run(`document.querySelectorAll(".list .row input")[9].click(); stage.settled()`)
	page.Run(`stage.press(".many > .button")`)
	page.Await(`!document.querySelector(".many") && document.activeElement === document.querySelector(".row-head input") && Math.abs(scrollY - 6000) < 5`)
}

// TestManyInstancesByKeyboard chooses rows, restarts and deletes them without a pointer.
func TestManyInstancesByKeyboard(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1280, 800, false)
	opened(page, url, shot{scene: "three", place: "instances"})
	focus(t, page, `.list .row input`)
	page.Press("Space")
	page.Await(`document.querySelector(".many")?.textContent.includes("1 chosen")`)
	focus(t, page, `.row-head input`)
	page.Press("Space")
	page.Await(`document.querySelector(".many").textContent.includes("3 chosen")`)
	focus(t, page, `.many .menu button`)
	page.Press("Enter")
	page.Await(`document.activeElement?.matches("[role=menuitem]")`)
	page.Press("Enter")
	page.Await(`document.querySelector("dialog[open]")?.contains(document.activeElement)`)
	focus(t, page, `dialog footer .first`)
	page.Press("Enter")
	page.Await(`document.querySelector(".work")?.textContent.includes("3 done")`)
	focus(t, page, `.many .menu button`)
	page.Press("Enter")
	page.Await(`document.activeElement?.matches("[role=menuitem]")`)
	page.Press("End", "Enter")
	page.Await(`document.activeElement?.matches("dialog input")`)
	page.Type("3")
	page.Await(`!document.querySelector("dialog footer .first").hasAttribute("aria-disabled")`)
	page.Press("Enter")
	page.Await(`!document.querySelector("dialog[open]") && document.querySelector(".empty") && document.activeElement === document.querySelector("main h1")`)
}

// TestReceiversByKeyboard tests and pauses a receiver without a pointer.
func TestReceiversByKeyboard(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1280, 800, false)
	opened(page, url, shot{scene: "broken", place: "deliveries"})
	focus(t, page, `.receiver .button`)
	page.Press("Enter")
	page.Await(`document.querySelector(".receiver [role=status]")`)
	page.Press("Tab", "Enter")
	page.Await(`document.activeElement?.matches("dialog select")`)
	focus(t, page, `dialog footer .first`)
	page.Press("Enter")
	page.Await(`!document.querySelector("dialog[open]") && document.querySelector(".receiver").textContent.includes("until") && document.activeElement !== document.body`)
}

// TestAnHourOfEventsLeavesMemoryFlat sends ten thousand events and checks that the page keeps
// only the newest.
func TestAnHourOfEventsLeavesMemoryFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1280, 800, false)
	opened(page, url, shot{scene: "three", place: "instances/shop/events"})
	hear := `(async () => { const s = stage.sockets.findLast((s) => s.url.includes("event=*")); for (let i = 0; i < 5000; i++) { s.hear({event: "messages.upsert", data: {id: i, content: {text: "x".repeat(2000)}}}); stage.tell({type: "figures", figures: {at: new Date().toISOString(), sent: i, received: i, deliveries: i, failed: 0}}); if (i % 250 === 0) await stage.settled(); } await stage.settled(); })()`
	page.Run(hear)
	first := heap(t, page)
	page.Run(hear)
	second := heap(t, page)
	t.Logf("%d KB after 5 000 events, %d KB after 10 000", first>>10, second>>10)
	if second > first+first/2 { // what is collected varies by 0.9 MB; the texts of 5 000 events are 10 MB
		t.Errorf("%d bytes after 5 000 events, %d after 10 000", first, second)
	}
}

// heap returns the size of the script heap after garbage collection.
func heap(t *testing.T, page *browser.Page) int64 {
	t.Helper()
	page.Do("HeapProfiler.enable", nil, nil)
	page.Do("HeapProfiler.collectGarbage", nil, nil)
	var result struct{ UsedSize float64 }
	page.Do("Runtime.getHeapUsage", nil, &result)
	return int64(result.UsedSize)
}

// TestChatByKeyboard replies to a message without a pointer.
func TestChatByKeyboard(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	url, page := stage(t)+"/?", browser.Open(t).Page()
	page.Size(1280, 800, false)
	opened(page, url, shot{scene: "three", place: "chats/shop"})
	focus(t, page, `.chats-list a.chat`)
	page.Press("ArrowDown", "ArrowUp", "Enter")
	page.Await(`document.querySelector(".talk .message:last-child .menu")`)
	page.Await(`document.activeElement?.matches(".composer textarea")`)
	for page.Text(`String(document.activeElement.matches(".talk .message"))`) != "true" {
		for _, kind := range []string{"rawKeyDown", "keyUp"} {
			page.Do("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9, "modifiers": 8}, nil)
		}
	}
	page.Press("ArrowUp")
	page.Await(`document.activeElement.matches(".message") && document.activeElement.nextElementSibling?.matches(".message:last-child")`)
	page.Press("Tab", "Enter")
	page.Await(`document.activeElement?.textContent === "Reply"`)
	page.Press("Enter")
	page.Await(`document.activeElement?.matches(".composer textarea") && document.querySelector(".replying")`)
	page.Type("As I said")
	page.Press("Enter")
	page.Await(`stage.sent?.body.options.quotedMessageId && document.querySelector(".talk .message:last-child").textContent.includes("As I said") && !document.querySelector(".replying")`)
}
