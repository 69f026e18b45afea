package accounts

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	wastore "go.mau.fi/whatsmeow/store"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
	"postern/internal/nightly"
	"postern/sandbox/network"
)

// newer returns a version after the built-in one.
func newer(by uint32) wastore.WAVersionContainer {
	v := wastore.GetWAVersion()
	v[2] += by
	return v
}

// world is a program that has a proxy in its environment, which must not be
// ask: what leaves for another place than the endpoint would.
type world struct {
	*rig.World
	strays *atomic.Int32
}

func newWorld(t *testing.T, env ...string) *world {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &world{World: rig.NewWorld(t), strays: &atomic.Int32{}}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			w.strays.Add(1)
			_ = conn.Close()
		}
	}()
	w.Keep = true
	w.Env = append(env, "HTTPS_PROXY=http://"+l.Addr().String(), "HTTP_PROXY=http://"+l.Addr().String(), "NO_PROXY=127.0.0.1")
	w.Start()
	t.Cleanup(func() {
		if n := w.strays.Load(); n != 0 {
			t.Errorf("%d connections left on another way", n)
		}
	})
	return w
}

// instance creates one that is not paired.
func (w *world) instance(name string) (token consumer.Credential) {
	w.T.Helper()
	var created struct{ Auth struct{ Token string } }
	w.Call(consumer.Key(w.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": name}, &created)
	return consumer.Bearer(created.Auth.Token)
}

func (w *world) wantAsked(n int) {
	w.T.Helper()
	want := map[string]int{}
	if n > 0 {
		want["web.whatsapp.com"] = n
	}
	if asked := w.Sandbox.Asked(); !maps.Equal(asked, want) {
		w.T.Errorf("the site was asked %v, want %v", asked, want)
	}
}

func (w *world) wantVersion(v wastore.WAVersionContainer, source string) {
	w.T.Helper()
	name := fmt.Sprintf(`postern_whatsapp_version_info{source=%q,version=%q}`, source, v)
	if w.Metric(name) != 1 {
		_, all := w.Raw(consumer.Key(w.Sec.GlobalAuthToken), http.MethodGet, "/metrics", "")
		i := strings.Index(all, "postern_whatsapp_version_info{")
		w.T.Errorf("there is no %s: %.120s", name, all[max(i, 0):])
	}
}

// wantRefused wants 503 CLIENT_OUTDATED.
func (w *world) wantRefused(cred consumer.Credential, method, path, body string) {
	w.T.Helper()
	status, answer := w.Raw(cred, method, path, body)
	if status != http.StatusServiceUnavailable || !strings.Contains(answer, `"code":"CLIENT_OUTDATED"`) {
		w.T.Errorf("%s %s: %d %s", method, path, status, answer)
	}
}

func (w *world) connectionStatus(cred consumer.Credential, name string) string {
	w.T.Helper()
	var status struct{ ConnectionStatus string }
	w.Call(cred, http.MethodGet, "/instance/"+name+"/connection/status", nil, &status)
	return status.ConnectionStatus
}

// TestADayOnWhichAllClientsAreRefused: many instances, one of them in the
// middle of a batch, are refused at once. One question heals them all, the batch
// loses no account, and the next start knows the version without a question.
func TestADayOnWhichAllClientsAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	fleet := nightly.Or(15, 50)
	w := newWorld(t)
	tokens := make([]string, fleet)
	for i := range tokens {
		tokens[i] = w.Pair(fmt.Sprintf("shop-%d", i))
	}
	var recipients []string
	for i := range 60 {
		recipients = append(recipients, fmt.Sprint(4915750000001+10*i))
	}
	user := consumer.Bearer(w.User)
	var batch rig.BatchAnswer
	w.Call(user, http.MethodPost, "/message/batches", map[string]any{
		"name": "news", "instances": []string{"shop-0"}, "recipients": recipients,
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}},
		"options": map[string]any{"delay": map[string]int{"minMs": 50, "maxMs": 50}},
	}, &batch)
	w.Await("the batch has begun", func() bool { return w.Batch(batch.ID).Counts.Success > 5 })
	w.wantAsked(0)
	w.wantVersion(newer(0), "builtin")

	w.Sandbox.SetSite(network.SiteLate) // most are refused by then
	w.Sandbox.RequireVersion(newer(7))
	for i := range fleet {
		w.AwaitOnline(fmt.Sprintf("shop-%d", i), tokens[i])
	}
	refused := len(w.refusals())
	if refused < fleet/2 {
		t.Errorf("%d were refused, that is no storm", refused)
	}
	t.Logf("%d of %d were refused before the answer came", refused, fleet)
	w.wantAsked(1)
	w.wantVersion(newer(7), "fetched")
	w.Await("the batch has ended", func() bool { return w.Batch(batch.ID).Counts.Processed == 60 })
	// The one message that was on its way when the line was cut may be unknown.
	if c := w.Batch(batch.ID).Counts; c.Failed != 0 || c.Unknown > 1 || c.Success+c.Unknown != 60 {
		t.Errorf("the batch came to %+v", c)
	}

	w.Stop()
	w.Start()
	for i := range fleet {
		w.AwaitOnline(fmt.Sprintf("shop-%d", i), tokens[i])
	}
	w.wantVersion(newer(7), "stored")
	w.wantAsked(1)
	if n := len(w.refusals()); n != refused {
		t.Errorf("%d refusals, the start with the stored version has none", n)
	}
	w.Stop()
}

// refusals returns the instances that are to be refused.
func (w *world) refusals() map[string]bool {
	refused := map[string]bool{}
	for _, hook := range w.Webhooks() {
		var body struct {
			Instance struct{ Name, ConnectionStatus string }
			Data     struct{ Type string }
		}
		if hook.Event == string(event.StatusInstance) && json.Unmarshal(hook.Body, &body) == nil && body.Data.Type == "client.outdated" && body.Instance.ConnectionStatus == "client_outdated" {
			refused[body.Instance.Name] = true
		}
	}
	return refused
}

func TestRefusedPairingGetsACodeAfterTheUpdate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	w := newWorld(t)
	scanned, typed := w.instance("scanned"), w.instance("typed")
	w.Sandbox.RequireVersion(newer(1))
	var both sync.WaitGroup // the second joins the question of the first, or comes late and needs none
	link := func(token consumer.Credential, path string, body any) {
		var got struct{ Code string }
		if err := w.API.Call(t.Context(), token, http.MethodPost, path, body, &got); err != nil {
			t.Error(err)
			return
		}
		if _, err := w.Sandbox.AutoScan(got.Code); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	both.Go(func() { link(scanned, "/instance/scanned/connect", nil) })
	both.Go(func() { link(typed, "/instance/typed/connect/code", map[string]string{"phoneNumber": "4915750000011"}) })
	both.Wait()
	for name, token := range map[string]consumer.Credential{"scanned": scanned, "typed": typed} {
		w.Await(name+" online", func() bool { return w.connectionStatus(token, name) == "ONLINE" })
	}
	w.wantAsked(1)
	w.Stop()
}

// TestWhenNoVersionIsFoundItIsSaid, and not asked again within ten minutes, a
// kill and an orderly restart included.
func TestWhenNoVersionIsFoundItIsSaid(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for site, reason := range map[network.Site]string{
		network.SiteNone:      "version number not found",
		network.SiteLower:     "2.3000.1000, which is older than",
		network.SiteMajor:     "version number not found",
		network.SiteEndless:   "page is too long",
		network.SiteElsewhere: "to another one",
	} {
		t.Run(string(site), func(t *testing.T) {
			w := newWorld(t)
			paired := consumer.Bearer(w.Pair("paired"))
			token := w.instance("a")
			w.Sandbox.RequireVersion(newer(1))
			w.Sandbox.SetSite(site)
			w.wantRefused(token, http.MethodPost, "/instance/a/connect", "")
			w.Await("the paired one is refused, too", func() bool { return w.connectionStatus(paired, "paired") == "CLIENT_OUTDATED" })
			if got := w.connectionStatus(token, "a"); got != "CLIENT_OUTDATED" {
				t.Errorf("the state is %s", got)
			}
			if !strings.Contains(w.Output.String(), reason) {
				t.Errorf("the log lacks %q:\n%s", reason, w.Output)
			}
			w.wantRefused(token, http.MethodPost, "/instance/a/connect/code", `{"phoneNumber":"4915750000011"}`)
			w.Call(consumer.Credential{}, http.MethodGet, "/ready", nil, nil)
			w.wantAsked(1)
			w.wantVersion(newer(0), "builtin")
			w.Sandbox.SetSite(network.SiteCurrent)
			for _, end := range []func(){w.Kill, w.Stop} {
				end()
				w.Start()
				w.wantRefused(token, http.MethodGet, "/instance/a/connect", "")
				w.Await("the paired one tried and is refused", func() bool { return w.connectionStatus(paired, "paired") == "CLIENT_OUTDATED" })
				w.wantAsked(1)
			}
			w.Stop()
		})
	}
}

func TestASetVersionIsSaidAndNeverReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for setting, use := range map[string]struct {
		version wastore.WAVersionContainer
		source  string
	}{
		"builtin":         {newer(0), "builtin"},
		newer(3).String(): {newer(3), "pinned"},
	} {
		t.Run(use.source, func(t *testing.T) {
			w := newWorld(t, "WHATSAPP_VERSION="+setting)
			w.wantVersion(use.version, use.source)
			w.Sandbox.RequireVersion(use.version)
			w.Pair("a") // as that version
			token := w.instance("b")
			w.Sandbox.RequireVersion(newer(4))
			w.wantRefused(token, http.MethodPost, "/instance/b/connect", "")
			w.Await("the paired one is refused, too", func() bool { return len(w.refusals()) == 2 })
			if n := strings.Count(w.Output.String(), `set whatsapp.version to`); n != 1 {
				t.Errorf("advised %d times:\n%s", n, w.Output)
			}
			w.wantAsked(0)
			w.wantVersion(use.version, use.source)
			w.Stop()
		})
	}
}

// TestAcceptedInstanceRequestsNoVersion: pairing, sending, lost
// connections, restarts.
func TestAcceptedInstanceRequestsNoVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	w := newWorld(t)
	token := w.Pair("a")
	phones := w.Sandbox.Phones()
	for range 3 {
		w.Call(consumer.Bearer(token), http.MethodPost, "/instance/a/send/text", map[string]any{"number": "4915750000021", "textMessage": map[string]string{"text": "hello"}}, nil)
		w.Sandbox.Drop(phones[0].Number())
		w.AwaitOnline("a", token)
		w.Kill()
		w.Start()
		w.AwaitOnline("a", token)
	}
	w.wantAsked(0)
	w.Stop()
	if i := slices.IndexFunc(w.Webhooks(), func(h consumer.Webhook) bool { return strings.Contains(string(h.Body), "outdated") }); i >= 0 {
		t.Errorf("answered: %s", w.Webhooks()[i].Body)
	}
	w.wantAsked(0)
}
