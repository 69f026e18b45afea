package accounts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
	"postern/sandbox"
)

// another makes a network that never paired a device of the world, and returns the
// network of before.
func another(t *testing.T, w *rig.World) *sandbox.Server {
	t.Helper()
	before := w.Sandbox
	other, err := sandbox.Open(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	w.Sandbox = other
	return before
}

// name returns how a network is shown.
func name(kind string, s *sandbox.Server) string {
	root := s.Endpoint().RootKey
	return fmt.Sprintf("%s %x", kind, root[:4])
}

// deviceRows counts the records of the stopped program's devices by bucket, as postern
// stats does.
func deviceRows(t *testing.T, o *rig.Operator) map[string]int {
	t.Helper()
	var is struct {
		Buckets []struct {
			Bucket string
			Rows   int
		}
	}
	status, output := o.Runs(nil, "stats", "--json")
	if status != 0 || json.Unmarshal([]byte(output[strings.Index(output, "{"):]), &is) != nil {
		t.Fatalf("postern stats: %d\n%s", status, output)
	}
	rows := map[string]int{}
	for _, b := range is.Buckets {
		if strings.HasPrefix(b.Bucket, "device") {
			rows[b.Bucket] = b.Rows
		}
	}
	return rows
}

type status struct {
	ConnectionStatus, LastError string
	OwnerJID                    *string
	LoggedIn                    bool
}

func (s status) is(state string) bool { return s.ConnectionStatus == state }

func statusOf(w *rig.World, name, token string) (s status) {
	w.Call(consumer.Bearer(token), http.MethodGet, "/instance/"+name+"/connection/status", nil, &s)
	return s
}

func (s status) String() string { return s.ConnectionStatus + ": " + s.LastError }

// answersWith wants an answer that is an error with a code.
func answersWith(t *testing.T, w *rig.World, token, method, path, body string, want int, code string) {
	t.Helper()
	if got, answer := w.Raw(consumer.Bearer(token), method, path, body); got != want || !strings.Contains(answer, `"`+code+`"`) {
		t.Errorf("%s %s: %d %s, want %d %s", method, path, got, answer, want, code)
	}
}

// TestAccountsSurviveStartsOnOtherNetworks is the whole of one mistake after the other:
// a sandbox, another endpoint and WhatsApp itself, and then the right network again.
func TestAccountsSurviveStartsOnOtherNetworks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	w := rig.NewWorld(t)
	w.Start()
	o := rig.Beside(t, w)
	key := consumer.Key(w.Sec.GlobalAuthToken)
	tokens := map[string]string{}
	names := []string{"shop", "desk", "bar"}
	for _, n := range names {
		tokens[n] = w.Pair(n)
	}
	own := w.Sandbox
	w.Stop()
	w.Start() // what a login stores once is stored
	for _, n := range names {
		w.AwaitOnline(n, tokens[n])
	}
	w.Stop()
	before := deviceRows(t, o)
	if before["device"] < 3*800 {
		t.Fatalf("the devices have %v records", before)
	}

	mistakes := []struct {
		what    string
		env     []string
		program func() string // how the network of the program is shown
		advice  string
	}{
		{"a sandbox without a file", []string{"SANDBOX_ENABLED=true", "SANDBOX_PATH=", "WHATSAPP_ENDPOINT=", "WHATSAPP_ENDPOINT_CA=", "WHATSAPP_ENDPOINT_ROOT_KEY="}, func() string { return "sandbox " }, "whatsapp.endpoint"},
		{"a sandbox with a file", []string{"SANDBOX_ENABLED=true", "SANDBOX_PATH=" + filepath.Join(w.Folder, "sandbox.db"), "WHATSAPP_ENDPOINT=", "WHATSAPP_ENDPOINT_CA=", "WHATSAPP_ENDPOINT_ROOT_KEY="}, func() string { return "sandbox " }, "whatsapp.endpoint"},
		{"another endpoint", nil, func() string { return name("endpoint", w.Sandbox) }, "whatsapp.endpoint"},
		{"WhatsApp", []string{"WHATSAPP_ENDPOINT=", "WHATSAPP_ENDPOINT_CA=", "WHATSAPP_ENDPOINT_ROOT_KEY="}, func() string { return "whatsapp" }, "whatsapp.endpoint"},
	}
	for _, m := range mistakes {
		t.Log(m.what)
		another(t, w)
		w.Env = m.env
		status, output := o.Runs(nil, "doctor")
		if !strings.Contains(output, "3 accounts belong to another network") || !strings.Contains(output, m.advice) {
			t.Errorf("%s: postern doctor of the stopped program: %d\n%s", m.what, status, output)
		}
		w.Start()
		for _, n := range names {
			got := statusOf(w, n, tokens[n])
			if !got.is("OFFLINE") || !strings.Contains(got.LastError, name("endpoint", own)) || !strings.Contains(got.LastError, m.program()) || got.OwnerJID == nil {
				t.Errorf("%s: %s is %s", m.what, n, got)
			}
		}
		answersWith(t, w, tokens["shop"], "POST", "/instance/shop/send/text", `{"number":"4915550001001","textMessage":{"text":"x"}}`, 503, "WRONG_NETWORK")
		answersWith(t, w, tokens["shop"], "GET", "/instance/shop/connect", "", 409, "WRONG_NETWORK")
		answersWith(t, w, tokens["shop"], "POST", "/instance/shop/connect/code", `{"phoneNumber":"4915112345678"}`, 409, "WRONG_NETWORK")
		answersWith(t, w, tokens["shop"], "GET", "/instance/shop/qr.png", "", 409, "WRONG_NETWORK")
		answersWith(t, w, tokens["shop"], "POST", "/instance/shop/restart", "", 409, "WRONG_NETWORK")
		answersWith(t, w, tokens["shop"], "DELETE", "/instance/shop/logout", "", 409, "WRONG_NETWORK")
		var ready struct {
			Status   string
			Warnings []string
		}
		w.Call(consumer.Credential{}, "GET", "/ready", nil, &ready)
		answered := slices.ContainsFunc(ready.Warnings, func(s string) bool {
			return strings.Contains(s, "3 accounts belong to another network") && strings.Contains(s, name("endpoint", own)) && strings.Contains(s, m.advice)
		})
		if ready.Status != "ready" || !answered {
			t.Errorf("%s: /ready says %+v", m.what, ready)
		}
		if n := strings.Count(w.Output.String(), "belong to another network"); n != 1 {
			t.Errorf("%s: the log says it %d times:\n%s", m.what, n, w.Output)
		}
		if status, output := o.Runs(nil, "doctor"); !strings.Contains(output, "3 accounts belong to another network") {
			t.Errorf("%s: postern doctor beside the program: %d\n%s", m.what, status, output)
		}
		if strings.HasPrefix(m.program(), "sandbox") { // others work
			var created struct{ Auth struct{ Token string } }
			fresh := "fresh-" + m.program()[:3] + fmt.Sprint(len(tokens))
			w.Call(key, "POST", "/instance", map[string]any{"instanceName": fresh}, &created)
			w.Call(consumer.Bearer(created.Auth.Token), "GET", "/instance/"+fresh+"/connect", nil, nil)
			w.AwaitOnline(fresh, created.Auth.Token)
			w.Call(consumer.Bearer(created.Auth.Token), "DELETE", "/instance/"+fresh+"?force=true", nil, nil)
		}
		w.Stop()
		if after := deviceRows(t, o); after["device"] != before["device"] {
			t.Errorf("after %s the devices have %v records, before %v", m.what, after, before)
		}
	}

	w.Sandbox, w.Env = own, nil
	w.Start()
	for _, n := range names {
		w.AwaitOnline(n, tokens[n])
		if got := statusOf(w, n, tokens[n]); got.LastError != "" {
			t.Errorf("back on its network %s says %s", n, got)
		}
	}
	w.Call(consumer.Bearer(tokens["shop"]), "POST", "/instance/shop/send/text", map[string]any{"number": "4915550001001", "textMessage": map[string]any{"text": "still here"}}, nil)
	w.Stop()
}

// TestForgettingAnotherNetworkNeedsConfirmation: the one instance pairs again, the
// other is logged out, and the third stays.
func TestForgettingAnotherNetworkNeedsConfirmation(t *testing.T) {
	t.Parallel()
	w := rig.NewWorld(t)
	w.Start()
	tokens := map[string]string{}
	names := []string{"shop", "desk", "bar"}
	for _, n := range names {
		tokens[n] = w.Pair(n)
	}
	w.Stop()
	own := another(t, w)
	w.Start()
	answersWith(t, w, tokens["shop"], "GET", "/instance/shop/connect?network=other", "", 400, "INVALID_QUERY")
	var connect struct{ Code string }
	w.Call(consumer.Bearer(tokens["shop"]), "GET", "/instance/shop/connect?network=forget", nil, &connect)
	if _, err := w.Sandbox.AutoScan(connect.Code); err != nil {
		t.Fatal(err)
	}
	w.AwaitOnline("shop", tokens["shop"])
	var out struct{ Message string }
	w.Call(consumer.Bearer(tokens["desk"]), "DELETE", "/instance/desk/logout?network=forget", nil, &out)
	if got := statusOf(w, "desk", tokens["desk"]); !got.is("LOGGED_OUT") || got.OwnerJID != nil || got.LastError != "" || !strings.Contains(out.Message, "on the phone") {
		t.Errorf("desk is %s, and was answered %q", got, out.Message)
	}
	var ready struct{ Warnings []string }
	w.Call(consumer.Credential{}, "GET", "/ready", nil, &ready)
	if len(ready.Warnings) != 1 || !strings.Contains(ready.Warnings[0], "1 account belongs") {
		t.Errorf("/ready says %v", ready.Warnings)
	}
	w.Stop()

	w.Sandbox = own
	w.Start()
	w.AwaitOnline("bar", tokens["bar"])
	if got := statusOf(w, "shop", tokens["shop"]); !got.is("OFFLINE") || !strings.Contains(got.LastError, "network") {
		t.Errorf("shop is %s", got)
	}
	w.Stop()
}

// TestLogOutByTheNetworkIsSetAside: the keys of an unlinked account stay until a restart
// that is accepted, or until they are removed.
func TestLogOutByTheNetworkIsSetAside(t *testing.T) {
	t.Parallel()
	w := rig.NewWorld(t)
	w.Start()
	o := rig.Beside(t, w)
	token := w.Pair("shop")
	w.Stop()
	before := deviceRows(t, o)
	w.Start()
	w.AwaitOnline("shop", token)
	number := strings.TrimSuffix(*statusOf(w, "shop", token).OwnerJID, "@s.whatsapp.net")

	w.Sandbox.RefuseLogin(number, 401) // the network errs, once
	w.Sandbox.Drop(number)
	loggedOut := func() bool { return statusOf(w, "shop", token).is("LOGGED_OUT") }
	w.Await("logged out", loggedOut)
	w.Kill()
	if after := deviceRows(t, o); after["device"] < before["device"] {
		t.Errorf("after a log-out by the network there are %v records, before %v", after, before)
	}
	w.Start()
	if got := statusOf(w, "shop", token); !got.is("LOGGED_OUT") {
		t.Errorf("after a start shop is %s", got)
	}
	w.Call(consumer.Bearer(token), "POST", "/instance/shop/restart", nil, nil)
	w.AwaitOnline("shop", token)

	w.Sandbox.Unlink(number) // this time it is meant
	w.Await("logged out", loggedOut)
	w.Call(consumer.Bearer(token), "POST", "/instance/shop/restart", nil, nil)
	w.Await("logged out again", loggedOut)
	w.Stop()
	if after := deviceRows(t, o); after["device"] < before["device"] {
		t.Errorf("after another refusal there are %v records, before %v", after, before)
	}
	w.Start()
	w.Call(consumer.Bearer(token), "DELETE", "/instance/shop?force=true", nil, nil)
	w.Stop()
	if after := deviceRows(t, o); after["device"] != 0 {
		t.Errorf("after the deletion there are %v records", after)
	}
}

// TestLoggedOutKeysAreRemovedInTime, also with a time of zero.
func TestLoggedOutKeysAreRemovedInTime(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	for _, keep := range []string{"0", "1s"} {
		w := rig.NewWorld(t)
		w.Env = []string{"WHATSAPP_KEEP_LOGGED_OUT=" + keep}
		w.Start()
		o := rig.Beside(t, w)
		token := w.Pair("shop")
		w.Sandbox.Unlink(strings.TrimSuffix(*statusOf(w, "shop", token).OwnerJID, "@s.whatsapp.net"))
		w.Await("logged out", func() bool { return statusOf(w, "shop", token).is("LOGGED_OUT") })
		w.Await("removed", func() bool {
			return keep == "0" || strings.Contains(w.Output.String(), "keys of a logged out account removed")
		})
		answersWith(t, w, token, "POST", "/instance/shop/restart", "", 503, "INSTANCE_NOT_CONNECTED")
		w.Stop()
		if after := deviceRows(t, o); after["device"] != 0 {
			t.Errorf("kept for %s: there are %v records", keep, after)
		}
	}
}
