package browser_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/cli/consumer"
)

// TestCustomerLinksByPortalLink: with nothing but the link, in their
// language, and the page shows the one instance, and nothing else.
func TestCustomerLinksByPortalLink(t *testing.T) {
	d := newDesk(t)
	link := d.portalLink()
	d.page.Front()
	d.page.Size(390, 844, false)
	d.page.Go(link)
	d.page.Await(`document.title === "Postern" && document.body.textContent.includes("shop")`)
	for _, one := range [][2]string{{"pt", "Começar"}, {"es", "Empezar"}, {"en", "Begin"}} {
		code, word := one[0], one[1]
		d.page.Run(`(() => { const s = document.querySelector("select"); s.value = "` + code + `"; s.dispatchEvent(new Event("change", {bubbles: true})); })()`)
		d.page.Await(`document.documentElement.lang === "` + code + `" && document.querySelector("button.first").textContent.trim() === "` + word + `"`)
	}
	d.picture("portal-begin")
	var before struct{ ConnectionStatus string }
	d.Call(consumer.Bearer(d.token), http.MethodGet, "/instance/shop/connection/status", nil, &before)
	if before.ConnectionStatus != "OFFLINE" {
		t.Errorf("opening the page began something: %s", before.ConnectionStatus)
	}
	d.press("Begin")
	d.page.Await(`document.querySelector(".scan img")?.src.startsWith("data:image/png")`)
	d.picture("portal-scan")
	var connect struct{ Code string }
	d.Call(consumer.Bearer(d.token), http.MethodGet, "/instance/shop/connect", nil, &connect)
	if _, err := d.Sandbox.AutoScan(connect.Code); err != nil {
		t.Fatal(err)
	}
	d.page.Await(`document.querySelector(".portal-done h1")?.textContent === "Linked"`)
	d.picture("portal-linked")

	d.Call(consumer.Key(d.Sec.GlobalAuthToken), http.MethodPut, "/instance/shop/token", nil, nil)
	d.page.Go(link)
	d.page.Await(`document.querySelector("h1")?.textContent === "This link has expired"`)
	d.picture("portal-over")
}

func (d *desk) portalLink() string {
	d.t.Helper()
	var made struct{ URL string }
	d.Call(consumer.Bearer(d.token), http.MethodPost, "/instance/shop/portal-link", map[string]any{"expiresIn": 600}, &made)
	if !strings.HasPrefix(made.URL, d.API.Base+"/portal/") {
		d.t.Fatalf("link %q", made.URL)
	}
	return made.URL
}

// picture keeps what the page looks like where PICTURES names a folder.
func (d *desk) picture(name string) {
	d.t.Helper()
	folder := os.Getenv("PICTURES")
	if folder == "" {
		return
	}
	for _, dark := range []bool{false, true} {
		for _, width := range []int{390, 1280} {
			d.page.Size(width, 844, dark)
			file := filepath.Join(folder, name+"-"+map[int]string{390: "390", 1280: "1280"}[width]+map[bool]string{false: "", true: "-dark"}[dark]+".png")
			if err := os.WriteFile(file, d.page.Picture(), 0o600); err != nil {
				d.t.Error(err)
			}
		}
	}
}

// TestPortalLinkRevealsNothingElse: neither the number nor anything of what the
// instance does, and the secret opens no other route.
func TestPortalLinkRevealsNothingElse(t *testing.T) {
	d := newDesk(t)
	d.Pair("other")
	link := strings.TrimPrefix(d.portalLink(), d.API.Base)
	_, answer := d.Raw(consumer.Bearer("none"), http.MethodGet, link+"/state", "")
	var state map[string]any
	if err := json.Unmarshal([]byte(answer), &state); err != nil {
		t.Fatal(err)
	}
	known := []string{"instanceName", "state", "connectionStatus", "passkey", "expiresAt", "title", "accent", "logo"}
	for field := range state {
		if !slices.Contains(known, field) {
			t.Errorf("it tells %s", field)
		}
	}
	secret := strings.TrimPrefix(link, "/portal/")
	for _, path := range []string{"/instance/shop", "/instance/other", "/instance/other/connect", "/instance/shop/db/messages", "/session"} {
		if status, _ := d.Raw(consumer.Bearer(secret), http.MethodGet, path, ""); status < 400 {
			t.Errorf("%s answers %d", path, status)
		}
	}
}
