package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waWa6"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types/events"

	"postern/sandbox/network"
)

// next is the version after that of the client library.
func next() store.WAVersionContainer {
	v := store.GetWAVersion()
	v[2]++
	return v
}

// introduce lets a client say that it is of a version.
func (c *client) introduce(v store.WAVersionContainer) {
	c.GetClientPayload = func() *waWa6.ClientPayload {
		p := c.Store.GetClientPayload()
		p.UserAgent.AppVersion = v.ProtoAppVersion()
		return p
	}
}

func TestOnlyOutdatedClientsAreRefused(t *testing.T) {
	s, p, c := paired(t)
	stranger := newClient(t, s, nil)
	stranger.connect()
	wait(stranger, 1, every[*events.QR])
	does(t, s, ownNumber, `{"do":"client-outdated","until":"`+next().String()+`"}`)
	wait(c, 1, every[*events.Disconnected])
	wait(c, 1, every[*events.ClientOutdated])
	wait(stranger, 1, every[*events.Disconnected])

	late := newClient(t, s, nil)
	late.connect()
	wait(late, 1, every[*events.ClientOutdated])
	late.Disconnect()
	late.introduce(next())
	late.connect()
	wait(late, 1, every[*events.QR])

	c.Disconnect()
	c.introduce(next())
	c.connect()
	wait(c, 2, every[*events.Connected])
	does(t, s, p.Number(), `{"do":"client-outdated","until":"`+next().String()+`"}`)
	if err := c.SetPassive(t.Context(), false); err != nil {
		t.Errorf("a client that is new enough was cut off: %v", err)
	}
	if s.Heal(); !s.Healthy() {
		t.Error("not healthy after the healing")
	}
	c.Disconnect()
	c.GetClientPayload = nil
	c.connect()
	wait(c, 3, every[*events.Connected])
}

func TestSiteReturnsTheAcceptedVersion(t *testing.T) {
	s := openServer(t, Config{})
	addPhone(t, s, ownNumber)
	ask := func() (*store.WAVersionContainer, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		web := httpClient(t, s.Endpoint())
		defer web.CloseIdleConnections()
		return whatsmeow.GetLatestVersion(ctx, web)
	}
	if v, err := ask(); err != nil || *v != store.GetWAVersion() {
		t.Errorf("a healthy network names %v, %v", v, err)
	}
	if s.Asked()["web.whatsapp.com"] != 1 {
		t.Errorf("counted %v", s.Asked())
	}
	// Not asked by the library alone: a page that does not end, which it would
	// read until the memory is gone, and another host, which it would follow to.
	for site, want := range map[network.Site]string{
		"": next().String(), network.SiteCurrent: next().String(), network.SiteLower: "2.3000.1000",
		network.SiteNone: "", network.SiteMajor: "", network.SiteSlow: "", network.SiteLoop: "", network.SiteUnavailable: "",
	} {
		does(t, s, ownNumber, fmt.Sprintf(`{"do":"client-outdated","until":%q,"site":%q}`, next(), site))
		if v, err := ask(); (err == nil) != (want != "") || err == nil && v.String() != want {
			t.Errorf("%s: the client learns %v, %v", site, v, err)
		}
	}
}

func TestWrongOutdatedFieldsChangeNothing(t *testing.T) {
	s := openServer(t, Config{})
	addPhone(t, s, ownNumber)
	for _, body := range []string{
		`{"do":"client-outdated","until":"2.3000"}`, `{"do":"client-outdated","until":"2.3000.x"}`, `{"do":"client-outdated","until":"2.3000.-1"}`,
		`{"do":"client-outdated","until":"2.3000.01"}`, `{"do":"client-outdated","until":"2.3000.4294967296"}`, `{"do":"client-outdated","until":"3.3000.1"}`,
		`{"do":"client-outdated","until":"2.3000.1","site":"x"}`, `{"do":"client-outdated","until":"2.3000.1.1"}`, `{"do":"client-outdated","until":5}`,
	} {
		var answer map[string]any
		status := call(t, s, "POST", "/sandbox/phones/"+ownNumber+"/act", body, &answer)
		if status != http.StatusUnprocessableEntity && !strings.Contains(body, ":5}") || status < 400 {
			t.Errorf("%s: %d %v", body, status, answer)
		}
	}
	if !s.Healthy() {
		t.Error("a refused act has left something")
	}
}
