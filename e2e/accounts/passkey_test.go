package accounts

import (
	"encoding/json"
	"net/http"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/event"
)

const (
	passkeyPath = "/instance/$name/connect/passkey"
	needsKey    = `{"type":"passkey","connection":"connecting","passkey":{"step":"required","code":null}}`
	keyIsOver   = `{"type":"passkey","connection":"close","passkey":null}`
)

// asked lets the phone of a scene, which a passkey protects, scan the code.
func asked(t *testing.T, s *rig.Scene) {
	t.Helper()
	from := len(s.Webhooks())
	s.Do(t, rig.Route(http.MethodGet, "/instance/$name/connect", "").As("qr"))
	s.Do(t, rig.Step{Method: http.MethodPost, Path: "/sandbox/scan", Body: `{"phone":"$own","code":"$qr.code"}`})
	s.AwaitEvent(t, from, event.ConnectionUpdated, needsKey)
	s.Do(t, rig.Route(http.MethodPost, passkeyPath+"/challenge", "").As("ask"))
	s.Do(t, rig.Act("$own", `{"do":"passkey-assert","challenge":"$ask.publicKey.challenge"}`).As("signed"))
}

// refused asks for what no pairing waits for.
func refused(t *testing.T, s *rig.Scene, method, route, body string) {
	t.Helper()
	status, answer := s.Raw(consumer.Bearer(s.Token), method, s.Fill(passkeyPath+route), s.Fill(body))
	var answered struct{ Code string }
	if json.Unmarshal([]byte(answer), &answered) != nil || status != http.StatusConflict || answered.Code != "PASSKEY_NOT_EXPECTED" {
		t.Errorf("%s: %d %s", route, status, answer)
	}
}

// over looks at what is left of a pairing that was given up.
func over(t *testing.T, s *rig.Scene, want string) {
	t.Helper()
	var status struct {
		ConnectionStatus string
		Passkey          *event.PasskeyState
	}
	s.Call(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/connection/status"), nil, &status)
	if status.ConnectionStatus != want || status.Passkey != nil {
		t.Errorf("the status is %+v, want %s and no passkey", status, want)
	}
	refused(t, s, http.MethodGet, "/script", "")
	refused(t, s, http.MethodPost, "/assertion", "$signed.*")
	refused(t, s, http.MethodPost, "/confirm", "")
}

// nothingIsScanned asks for a code to scan while a passkey is waited for: no phone
// is linked, and no caller confirms.
func nothingIsScanned(t *testing.T, s *rig.Scene) {
	t.Helper()
	ask := func(route string, want int) (answered struct {
		Code             string
		ConnectionStatus string
		AlreadyConnected bool
	},
	) {
		t.Helper()
		status, answer := s.Raw(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name"+route), "")
		if err := json.Unmarshal([]byte(answer), &answered); err != nil || status != want {
			t.Errorf("%s: %d %s, %v", route, status, answer, err)
		}
		return answered
	}
	if got := ask("/connect", http.StatusOK); got.Code != "" || got.AlreadyConnected || got.ConnectionStatus != "PAIRING" {
		t.Errorf("connect: %+v", got)
	}
	if got := ask("/qr.png", http.StatusConflict); got.Code != "NO_QR_CODE" {
		t.Errorf("qr.png: %+v", got)
	}
	if got := ask("/connection/status", http.StatusOK); got.ConnectionStatus != "PAIRING" {
		t.Errorf("asking for a code changed the pairing: %+v", got)
	}
}

// TestAPasskeyAndARestartInTheMiddle: the pairing is gone, nothing pretends
// otherwise, and the next one is as good as the first.
func TestAPasskeyAndARestartInTheMiddle(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel() // it waits more than it works
	s := rig.NewScene(t)
	s.Do(t, rig.Act("$own", `{"do":"passkey"}`))
	asked(t, s)
	s.Kill()
	s.Start()
	over(t, s, "OFFLINE")

	old := s.Vars["signed.*"]
	asked(t, s)
	s.Vars["old"] = old
	refused(t, s, http.MethodPost, "/assertion", "$old") // signed for the pairing that is gone
	refused(t, s, http.MethodPost, "/assertion", `{"requestId":"another","assertion":$signed.*}`)
	s.Do(t, rig.Route(http.MethodPost, passkeyPath+"/assertion", `{"requestId":"$ask.requestId","assertion":$signed.*}`))
	s.AwaitOnline(rig.SceneName, s.Token)
	s.Stop()
}

func TestUnsignedPasskeyTimesOut(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel() // it waits more than it works
	s := rig.NewScene(t, "WHATSAPP_PAIRING_TIMEOUT=10s")
	s.Do(t, rig.Act("$own", `{"do":"passkey"}`))
	asked(t, s)
	nothingIsScanned(t, s)
	s.AwaitEvent(t, 0, event.ConnectionUpdated, keyIsOver)
	over(t, s, "CONNECTION_TIMEOUT")
	s.Stop()
}

// TestPasskeysAreSeparatePerInstance: neither the question nor an
// answer passes between instances.
func TestPasskeysAreSeparatePerInstance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel() // it waits more than it works
	s := rig.NewScene(t)
	s.Do(t, rig.Act("$own", `{"do":"passkey"}`))
	asked(t, s)
	var other struct{ Auth struct{ Token string } }
	s.Call(consumer.Key(s.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": "other"}, &other)
	for route, method := range map[string]string{"/script": http.MethodGet, "/challenge": http.MethodPost, "/assertion": http.MethodPost, "/confirm": http.MethodPost} {
		if status, answer := s.Raw(consumer.Bearer(other.Auth.Token), method, s.Fill(passkeyPath+route), ""); status != http.StatusForbidden {
			t.Errorf("%s with another's token: %d %s", route, status, answer)
		}
	}
	status, answer := s.Raw(consumer.Bearer(other.Auth.Token), http.MethodPost, "/instance/other/connect/passkey/assertion", s.Fill("$signed.*"))
	if status != http.StatusConflict {
		t.Errorf("the answer of one at the other: %d %s", status, answer)
	}
	s.Do(t, rig.Route(http.MethodPost, passkeyPath+"/assertion", "$signed.*"))
	s.AwaitOnline(rig.SceneName, s.Token)
	s.Stop()
}
