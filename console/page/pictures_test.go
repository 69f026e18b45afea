package page

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"postern/e2e/browser"
)

var (
	pictures = flag.String("pictures", "", "write pictures of the pages into this folder")
	only     = flag.String("only", "", "only pictures whose name contains this")
)

// shot is one picture: a scene of the stage, the place in the page, and an act before it.
type shot struct{ name, scene, place, act string }

// sheet is a table with a duplicate, a number that begins with 0, and a line without a number.
const sheet = `"name;phone\nAda;+49 151 555 00003\nBen;4915155500004\nAda again;4915155500003\nNobody;n/a\nDora;0151 1234567\nCem;4915155500000"`

var shots = []shot{
	{"sign-in", "three&out=1", "", ""},
	{"overview-none", "empty", "overview", ""},
	{"overview-three", "three", "overview", ""},
	{"overview-month", "three", "overview", `stage.press(".choice button", -1)`},
	{"overview-many", "many", "overview", ""},
	{"overview-broken", "broken", "overview", ""},
	{"instances-none", "empty", "instances", ""},
	{"instances-three", "three", "instances", ""},
	{"instances-many", "many", "instances", ""},
	{"instances-hostile", "hostile", "instances", ""},
	{"instances-broken", "broken", "instances", ""},
	{"instances-chosen", "many", "instances?tag=north", `[...document.querySelectorAll(".list input")].slice(1, 6).forEach((one) => one.click()); stage.press(".many .menu button")`},
	{"instances-many-tags", "three", "instances", `document.querySelector(".row-head input").click(); stage.press(".many .menu button").then(() => stage.press(".many [role=menuitem]", 2))`},
	{"instances-work", "broken", "instances", `stage.answers["POST /instance/till-2/restart"] = () => stage.refusal(409, "BUSY", "the account is used elsewhere"); document.querySelector(".row-head input").click(); stage.press(".many .menu button").then(() => stage.press(".many [role=menuitem]")).then(() => stage.press("dialog footer .first")).then(() => stage.until(() => document.querySelector(".reasons")))`},
	{"instances-high", "three", "instances", `stage.press(".looks .menu:last-child button").then(() => stage.press(".looks [role=menuitem]", -1))`},
	{"instances-menu", "three", "instances", `stage.press(".row .menu button")`},
	{"instances-gone", "three", "instances", `stage.fall(); stage.until(() => document.querySelector(".away"))`},
	{"palette", "three", "instances/shop", `stage.press(".tools .button").then(() => stage.until(() => document.querySelector(".palette")))`},
	{"palette-typed", "hostile", "instances", `stage.press(".tools .button").then(() => stage.type("[role=combobox]", "a"))`},
	{"palette-nothing", "many", "overview", `stage.press(".tools .button").then(() => stage.type("[role=combobox]", "xyzzy"))`},
	{"create", "three", "instances", `stage.press(".page-head .button.first")`},
	{"invite", "three", "instances/newsletter", `stage.press(".page-head .menu button").then(() => stage.press("[role=menuitem]", 1)).then(() => stage.press("dialog footer .first")).then(() => stage.until(() => document.querySelector("dialog input[readonly]")))`},
	{"move", "three", "instances/shop", `stage.press(".page-head .menu button").then(() => stage.press("[role=menuitem]", 4))`},
	{"moved", "three", "instances/shop", `Object.assign(stage.instances[0], { connectionStatus: "offline" }); stage.tell({ type: "instance", instance: stage.instances[0] }); stage.until(() => document.querySelector(".notice.off"))`},
	{"import", "three", "instances", `stage.press(".page-head .button:not(.first)")`},
	{"delete", "three", "instances/shop", `stage.press(".page-head .menu button").then(() => stage.press("[role=menuitem]", -1))`},
	{"connect", "three", "instances/newsletter", `stage.press(".page-head .button.first").then(() => stage.until(() => document.querySelector(".scan img")))`},
	{"instance-state", "three", "instances/shop", ""},
	{"instance-broken", "broken", "instances/till-1", ""},
	{"instance-hostile", "hostile", "instances/" + strings.Repeat("a", 255), ""},
	{"instance-events", "three", "instances/shop/events", `stage.press(".events-list button")`},
	{"instance-webhook", "three", "instances/shop/webhook", ""},
	{"instance-limits", "three", "instances/shop/limits", ""},
	{"instance-settings", "three", "instances/shop/settings", ""},
	{"webhook", "three", "webhook", ""},
	{"instance-proxy", "three", "instances/shop/proxy", ""},
	{"deliveries", "three", "deliveries", ""},
	{"deliveries-none", "empty", "deliveries", ""},
	{"deliveries-hostile", "hostile", "deliveries", ""},
	{"deliveries-filtered", "three", "deliveries?state=FAILED,EXPIRED&event=connection.update&replay=3", ""},
	{"deliveries-many", "many", "deliveries", ""},
	{"receivers-broken", "broken", "deliveries?origin=https%3A%2F%2Fdown.example.org", `stage.press(".receiver .button").then(() => stage.until(() => document.querySelector(".receiver [role=status]")))`},
	{"receiver-pause", "three", "deliveries", `document.querySelector(".receivers details").open = true; stage.press(".receiver .button", 1)`},
	{"delivery", "three", "deliveries/236", ""},
	{"delivery-hostile", "hostile", "deliveries/240", ""},
	{"replay", "three", "deliveries", `stage.press(".page-head .button").then(() => stage.until(() => /\d/.test(document.querySelector("dialog [role=status]").textContent)))`},
	{"keys", "three", "keys", ""},
	{"keys-none", "empty", "keys", ""},
	{"keys-hostile", "hostile", "keys", ""},
	{"key-new", "three", "keys", `stage.press(".page-head .button.first")`},
	{"key-edit", "three", "keys", `stage.press(".sheet .row button.plain", 1)`},
	{"key-delete", "three", "keys", `stage.press(".sheet .row .menu button", 2).then(() => stage.press("[role=menuitem]", -1)).then(() => stage.until(() => document.querySelector("dialog .running")))`},
	{"key-delete-hostile", "hostile", "keys", `stage.press(".sheet .row .menu button").then(() => stage.press("[role=menuitem]", -1)).then(() => stage.until(() => document.querySelector("dialog .running")))`},
	{"audit", "three", "audit", ""},
	{"audit-filtered", "three", "audit?action=webhook&subject=shop", ""},
	{"audit-hostile", "hostile", "audit", ""},
	{"backups", "three", "backups", ""},
	{"backups-broken", "broken", "backups", `stage.press("main .card footer .button", 1)`},
	{"configuration", "three", "configuration", ""},
	{"configuration-broken", "broken", "configuration", ""},
	{"configuration-hostile", "hostile", "configuration?own=1", ""},
	{"log", "three", "log", ""},
	{"log-hostile", "hostile", "log", ""},
	{"sandbox", "three", "sandbox", ""},
	{"sandbox-none", "empty", "sandbox", ""},
	{"sandbox-hostile", "hostile", "sandbox", `stage.press(".any summary")`},
	{"chats-none", "empty", "chats", ""},
	{"chats-quiet", "three", "chats/newsletter", ""},
	{"chats", "three", "chats/shop", ""},
	{"chat", "three", "chats/shop/4915112345678@s.whatsapp.net", ""},
	{"chat-group", "three", "chats/shop/120363041234567890@g.us", ""},
	{"chat-hostile", "hostile", "chats/" + strings.Repeat("a", 255) + "/4915112345678@s.whatsapp.net", ""},
	{"chat-actions", "three", "chats/shop/4915112345678@s.whatsapp.net", `stage.press(".talk .menu button")`},
	{"chat-search", "three", "chats/shop/4915112345678@s.whatsapp.net", `stage.press(".talk > header button").then(() => stage.type(".found input", "order")).then(() => stage.until(() => document.querySelector(".found .message")))`},
	{"chat-failed", "three", "chats/shop/4915112345678@s.whatsapp.net", `stage.refuse("POST /instance/shop/send/text"); stage.type(".composer textarea", "Still there?").then(() => stage.press(".composer .first"))`},
	{"chat-new", "three", "chats/shop", `stage.press(".chats-side header button").then(() => stage.type("dialog input", "ada")).then(() => stage.until(() => document.querySelector("dialog .lines")))`},
	{"batches-none", "empty", "batches", ""},
	{"batches", "three", "batches", ""},
	{"batches-many", "many", "batches", ""},
	{"batches-hostile", "hostile", "batches", ""},
	{"batch", "three", "batches/00000000-0000-7000-8000-000000000001?user=0196f0a0-0000-7000-8000-000000000001", ""},
	{"batch-errors", "three", "batches/00000000-0000-7000-8000-000000000003?user=0196f0a0-0000-7000-8000-000000000001", ""},
	{"batch-hostile", "hostile", "batches/00000000-0000-7000-8000-000000000001?user=0196f0a0-0000-7000-8000-000000000001", ""},
	{"batch-new", "three", "batches/new", ""},
	{"batch-numbers", "three", "batches/new", "stage.type(\".new-batch textarea.code\", " + sheet + ").then(() => stage.until(() => document.querySelector(\".sums details\")))"},
	{"batch-text", "three", "batches/new", "stage.type(\".new-batch textarea.code\", " + sheet + ").then(() => stage.until(() => document.querySelector(\".sums details\"))).then(() => stage.press(\".last .first\")).then(() => stage.type(\".new-batch textarea\", \"Hello {{name}}, {{due}}\"))"},
	{"batch-options", "many", "batches/new", "stage.newBatch(" + sheet + ").then(() => stage.press(\".last .button\")).then(() => stage.press(\".further summary\"))"},
	{"batch-checked", "three", "batches/new", "stage.newBatch(" + sheet + ", \"Hello {{name}}\")"},
	{"batch-checked-hostile", "hostile", "batches/new", "stage.newBatch(" + sheet + ")"},
	{"batch-refused", "three", "batches/new", `stage.answers["POST /message/batches"] = () => stage.refusal(422, "INVALID_MESSAGE", "the text has an open {{"); stage.newBatch("4915155500003")`},
	{"instances-beside", "three", "instances?show=shop", ""},
	{"deliveries-beside", "three", "deliveries?show=236", ""},
	{"deliveries-hostile-beside", "hostile", "deliveries?show=240", ""},
}

// TestPictures writes screenshots of the pages with -pictures; see make pictures.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("writes pictures into the folder of -pictures; see make pictures")
	}
	if err := os.MkdirAll(*pictures, 0o755); err != nil {
		t.Fatal(err)
	}
	url := stage(t)
	page := browser.Open(t).Page()
	for _, s := range shots {
		for _, width := range []int{1280, 390} {
			for _, dark := range []bool{false, true} {
				look := map[bool]string{false: "light", true: "dark"}[dark]
				name := fmt.Sprintf("%s-%d-%s.png", s.name, width, look)
				if !strings.Contains(name, *only) {
					continue
				}
				page.Size(width, map[int]int{1280: 800, 390: 844}[width], dark)
				opened(page, url+"/?still=1", s)
				if err := os.WriteFile(filepath.Join(*pictures, name), page.Picture(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
