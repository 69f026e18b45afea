package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/event"
	"postern/sandbox"
)

// The cast of the scene: the instance's own phone and two contacts.
const (
	OwnNumber  = "4915155500001"
	AnneNumber = "4915155500002"
	BobNumber  = "4915155500003"
	SceneName  = "shop"
)

// Scene is a running program with one paired instance, and what the rows of
// the table have learned so far.
type Scene struct {
	*World
	Token   string
	Control http.Handler
	Vars    map[string]string
}

// NewScene starts a program with an instance that is not paired yet, and the phones of
// the cast. env are more variables of the program.
func NewScene(t *testing.T, env ...string) *Scene {
	t.Helper()
	return newScene(t, NewWorld(t), env...)
}

func newScene(t *testing.T, w *World, env ...string) *Scene {
	t.Helper()
	w.Keep = true
	w.Env = append([]string{"WHATSAPP_KEEPALIVE_INTERVAL=1s", "WHATSAPP_KEEPALIVE_TIMEOUT=1s"}, env...)
	s := &Scene{World: w, Control: w.Sandbox.Control(), Vars: map[string]string{
		"own": OwnNumber, "anne": AnneNumber, "bob": BobNumber, "name": SceneName, "hook": w.Hook.URL,
	}}
	for number, name := range map[string]string{OwnNumber: "Shop", AnneNumber: "Anne", BobNumber: "Bob"} {
		p, err := w.Sandbox.AddPhone(sandbox.PhoneOptions{Number: number, PushName: name})
		if err != nil {
			t.Fatal(err)
		}
		s.Vars[strings.ToLower(name)+"LID"] = p.LID().String()
	}
	w.Start()
	var created struct{ Auth struct{ Token string } }
	w.Call(consumer.Key(w.Sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": SceneName}, &created)
	s.Token = created.Auth.Token
	return s
}

// Step is one thing that a row does.
type Step struct {
	phone  string // of an act, or "" for a call of the program's API or of the sandbox
	Method string
	Path   string
	Body   string
	keep   string // the answer's fields become variables with this prefix
	fails  bool   // an error answer is expected
}

// Act lets a phone do something.
func Act(phone, body string) Step { return Step{phone: phone, Body: body} }

// Route calls the program.
func Route(method, path, body string) Step { return Step{Method: method, Path: path, Body: body} }

// As keeps the fields of the answer as variables $prefix.field, and the whole of it as $prefix.*.
func (s Step) As(prefix string) Step { s.keep = prefix; return s }

// Failing says that the answer is an error.
func (s Step) Failing() Step { s.fails = true; return s }

// Fill replaces every $name by the variable's value, the longest names first.
func (s *Scene) Fill(text string) string {
	names := make([]string, 0, len(s.Vars))
	for name := range s.Vars {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		text = strings.ReplaceAll(text, "$"+name, s.Vars[name])
	}
	return text
}

// Do carries out a step.
func (s *Scene) Do(t *testing.T, st Step) {
	t.Helper()
	body := s.Fill(st.Body)
	if st.phone != "" {
		st.Method, st.Path = http.MethodPost, "/sandbox/phones/"+s.Fill(st.phone)+"/act"
	}
	var raw []byte
	if strings.HasPrefix(st.Path, "/sandbox") {
		rec := httptest.NewRecorder()
		s.Control.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), st.Method, st.Path, strings.NewReader(body)))
		raw = rec.Body.Bytes()
		if rec.Code >= 300 && !st.fails {
			t.Fatalf("%s: %d %s", body, rec.Code, raw)
		}
	} else {
		var in any
		if body != "" {
			in = json.RawMessage(body)
		}
		var out json.RawMessage
		err := s.API.Call(t.Context(), consumer.Bearer(s.Token), st.Method, s.Fill(st.Path), in, &out)
		if err != nil && !st.fails {
			t.Fatal(err)
		}
		raw = out
	}
	s.Remember(st.keep, raw)
}

// Remember makes the fields of an answer variables with the prefix, and the whole of it the one that ends in ".*".
func (s *Scene) Remember(prefix string, raw []byte) {
	var fields map[string]any
	if prefix == "" || json.Unmarshal(raw, &fields) != nil {
		return
	}
	s.Vars[prefix+".*"] = string(raw)
	s.remember(prefix, fields)
}

func (s *Scene) remember(prefix string, fields map[string]any) {
	for name, value := range fields {
		s.Vars[prefix+"."+name] = fmt.Sprint(value)
		if inner, ok := value.(map[string]any); ok {
			s.remember(prefix+"."+name, inner)
		}
	}
}

// Online waits until the instance is logged in and has read the account's
// state, pairing it when it has to be.
func (s *Scene) Online(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		var status struct {
			ConnectionStatus string
			LoggedIn         bool
		}
		s.Call(consumer.Bearer(s.Token), http.MethodGet, "/instance/"+SceneName+"/connection/status", nil, &status)
		switch status.ConnectionStatus {
		case "ONLINE":
			if p, _ := s.Sandbox.Phone(OwnNumber); s.Sandbox.StateRead(p) {
				return
			}
		case "OFFLINE", "LOGGED_OUT", "SESSION_MISSING", "QR_CODE":
			var connect struct{ Code string }
			if err := s.API.Call(t.Context(), consumer.Bearer(s.Token), http.MethodGet, "/instance/"+SceneName+"/connect", nil, &connect); err == nil && connect.Code != "" {
				s.Do(t, Step{Method: http.MethodPost, Path: "/sandbox/scan", Body: fmt.Sprintf(`{"phone":"$own","code":%q}`, connect.Code)}.Failing())
			}
		case "CONNECTION_ERROR", "CONNECTION_TIMEOUT", "DISCONNECTED":
			_ = s.API.Call(t.Context(), consumer.Bearer(s.Token), http.MethodGet, "/instance/"+SceneName+"/connect", nil, nil)
		case "STREAM_REPLACED", "CLIENT_OUTDATED", "TEMPORARY_BAN":
			_ = s.API.Call(t.Context(), consumer.Bearer(s.Token), http.MethodPost, "/instance/"+SceneName+"/restart", nil, nil)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the instance stays %s; the program said:\n%s", status.ConnectionStatus, s.Output)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// AwaitEvent returns the first webhook received after from whose event is kind and whose data holds
// all of want.
func (s *Scene) AwaitEvent(t *testing.T, from int, kind event.Kind, want string) []byte {
	t.Helper()
	var wanted any
	if err := json.Unmarshal([]byte(s.Fill(want)), &wanted); err != nil {
		t.Fatalf("%s: %v", s.Fill(want), err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		log := s.Webhooks()[from:]
		for _, r := range log {
			var e struct{ Data any }
			if r.Event == string(kind) && json.Unmarshal(r.Body, &e) == nil && Holds(e.Data, wanted) {
				return r.Body
			}
		}
		if time.Now().After(deadline) {
			var bodies bytes.Buffer
			for _, r := range log {
				fmt.Fprintf(&bodies, "  %s\n", r.Body)
			}
			t.Fatalf("no %s with %s arrived; what did:\n%s", kind, s.Fill(want), bodies.Bytes())
		}
	}
}

// Holds reports whether got has everything that want names: objects may have
// more keys, "*" stands for anything but null, and "<absent>" for no key.
func Holds(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for key, value := range want {
			part, has := object[key]
			if value == "<absent>" {
				ok = ok && !has
				continue
			}
			ok = ok && has && Holds(part, value)
		}
		return ok
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			if !Holds(list[i], want[i]) {
				return false
			}
		}
		return true
	default:
		return want == "*" && got != nil || reflect.DeepEqual(got, want)
	}
}
