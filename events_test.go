package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/event"
	"postern/sandbox"
)

// The cast of the scene: the instance's own phone and two contacts.
const (
	ownNumber  = "4915155500001"
	anneNumber = "4915155500002"
	bobNumber  = "4915155500003"
	sceneName  = "shop"
)

// scene is a running program with one paired instance, and what the rows of
// the table have learned so far.
type scene struct {
	*world
	token   string
	control http.Handler
	vars    map[string]string
}

func newScene(t *testing.T, env ...string) *scene {
	w := newWorld(t)
	w.keep = true
	w.env = append([]string{"WHATSAPP_KEEPALIVE_INTERVAL=1s", "WHATSAPP_KEEPALIVE_TIMEOUT=1s"}, env...)
	s := &scene{world: w, control: w.sandbox.Control(), vars: map[string]string{
		"own": ownNumber, "anne": anneNumber, "bob": bobNumber, "name": sceneName, "hook": w.hook.URL,
	}}
	for number, name := range map[string]string{ownNumber: "Shop", anneNumber: "Anne", bobNumber: "Bob"} {
		p, err := w.sandbox.AddPhone(sandbox.PhoneOptions{Number: number, PushName: name})
		if err != nil {
			t.Fatal(err)
		}
		s.vars[strings.ToLower(name)+"LID"] = p.LID().String()
	}
	w.start()
	var created struct{ Auth struct{ Token string } }
	w.call(apiKey(w.sec.GlobalAuthToken), http.MethodPost, "/instance", map[string]any{"instanceName": sceneName}, &created)
	s.token = created.Auth.Token
	return s
}

// step is one thing that a row does.
type step struct {
	phone  string // of an act, or "" for a call of the program's API or of the sandbox
	method string
	path   string
	body   string
	keep   string // the answer's fields become variables with this prefix
	fails  bool   // an error answer is expected
}

// act lets a phone do something.
func act(phone, body string) step { return step{phone: phone, body: body} }

// api calls the program.
func api(method, path, body string) step { return step{method: method, path: path, body: body} }

func (s step) as(prefix string) step { s.keep = prefix; return s }

func (s step) failing() step { s.fails = true; return s }

// fill replaces every $name by the variable's value, the longest names first.
func (s *scene) fill(text string) string {
	names := make([]string, 0, len(s.vars))
	for name := range s.vars {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		text = strings.ReplaceAll(text, "$"+name, s.vars[name])
	}
	return text
}

func (s *scene) do(t *testing.T, st step) {
	t.Helper()
	body := s.fill(st.body)
	if st.phone != "" {
		st.method, st.path = http.MethodPost, "/sandbox/phones/"+s.fill(st.phone)+"/act"
	}
	var raw []byte
	if strings.HasPrefix(st.path, "/sandbox") {
		rec := httptest.NewRecorder()
		s.control.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), st.method, st.path, strings.NewReader(body)))
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
		err := s.api.call(t.Context(), bearer(s.token), st.method, s.fill(st.path), in, &out)
		if err != nil && !st.fails {
			t.Fatal(err)
		}
		raw = out
	}
	s.remember(st.keep, raw)
}

func (s *scene) remember(prefix string, raw []byte) {
	var fields map[string]any
	if prefix == "" || json.Unmarshal(raw, &fields) != nil {
		return
	}
	for name, value := range fields {
		s.vars[prefix+"."+name] = fmt.Sprint(value)
	}
}

// online waits until the instance is logged in and has read the account's
// state, pairing it when it has to be.
func (s *scene) online(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		var status struct {
			ConnectionStatus string
			LoggedIn         bool
		}
		s.call(bearer(s.token), http.MethodGet, "/instance/"+sceneName+"/connection/status", nil, &status)
		switch status.ConnectionStatus {
		case "ONLINE":
			if p, _ := s.sandbox.Phone(ownNumber); s.sandbox.StateRead(p) {
				return
			}
		case "OFFLINE", "LOGGED_OUT", "SESSION_MISSING", "QR_CODE":
			var connect struct{ Code string }
			if err := s.api.call(t.Context(), bearer(s.token), http.MethodGet, "/instance/"+sceneName+"/connect", nil, &connect); err == nil && connect.Code != "" {
				s.do(t, step{method: http.MethodPost, path: "/sandbox/scan", body: fmt.Sprintf(`{"phone":"$own","code":%q}`, connect.Code)}.failing())
			}
		case "CONNECTION_ERROR", "CONNECTION_TIMEOUT", "DISCONNECTED":
			_ = s.api.call(t.Context(), bearer(s.token), http.MethodGet, "/instance/"+sceneName+"/connect", nil, nil)
		case "STREAM_REPLACED", "CLIENT_OUTDATED", "TEMPORARY_BAN":
			_ = s.api.call(t.Context(), bearer(s.token), http.MethodPost, "/instance/"+sceneName+"/restart", nil, nil)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the instance stays %s; the program said:\n%s", status.ConnectionStatus, s.output)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// awaitEvent returns the first webhook received after from whose event is kind and whose data holds
// all of want.
func (s *scene) awaitEvent(t *testing.T, from int, kind event.Kind, want string) []byte {
	t.Helper()
	var wanted any
	if err := json.Unmarshal([]byte(s.fill(want)), &wanted); err != nil {
		t.Fatalf("%s: %v", s.fill(want), err)
	}
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		log := slices.Clone(s.log[from:])
		s.mu.Unlock()
		for _, r := range log {
			var e struct{ Data any }
			if r.event == string(kind) && json.Unmarshal(r.body, &e) == nil && holds(e.Data, wanted) {
				return r.body
			}
		}
		if time.Now().After(deadline) {
			var bodies bytes.Buffer
			for _, r := range log {
				fmt.Fprintf(&bodies, "  %s\n", r.body)
			}
			t.Fatalf("no %s with %s arrived; what did:\n%s", kind, s.fill(want), bodies.Bytes())
		}
	}
}

// holds tells whether got has everything that want names: objects may have
// more keys, "*" stands for anything but null, and "<absent>" for no key.
func holds(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for key, value := range want {
			part, has := object[key]
			if value == "<absent>" {
				ok = ok && !has
				continue
			}
			ok = ok && has && holds(part, value)
		}
		return ok
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			if !holds(list[i], want[i]) {
				return false
			}
		}
		return true
	default:
		return want == "*" && got != nil || reflect.DeepEqual(got, want)
	}
}

// TestEveryTrigger provokes each trigger of the catalogue in the sandbox,
// through the unchanged client library, and looks at the webhook that arrives
// over HTTP: its fields, and its whole shape against the schema.
func TestEveryTrigger(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	s := newScene(t)
	for _, row := range triggerTable() {
		t.Run(row.name(), func(t *testing.T) {
			if !row.unpaired {
				s.online(t)
			}
			for _, st := range row.before {
				s.do(t, st)
			}
			s.mu.Lock()
			from := len(s.log)
			s.mu.Unlock()
			for _, st := range row.steps {
				s.do(t, st)
			}
			body := s.awaitEvent(t, from, row.kind, row.want)
			if err := event.Validate(row.kind, body); err != nil {
				t.Errorf("the payload breaks its schema: %v\n%s", err, body)
			}
			if row.then != nil {
				row.then(t, s)
			}
		})
	}
	s.stop()
}

// TestNoTriggerOfTheCatalogueIsMissingFromTheTable also holds docs/events.md
// to the table.
func TestNoTriggerOfTheCatalogueIsMissingFromTheTable(t *testing.T) {
	rows := triggerTable()
	for _, kind := range instanceKinds() {
		for _, trigger := range event.Triggers(kind) {
			if !slices.ContainsFunc(rows, func(r triggerRow) bool { return r.kind == kind && r.trigger == trigger }) {
				t.Errorf("%s by %s is provoked by no row", kind, trigger)
			}
		}
		for _, value := range typesOf(kind) {
			if !slices.ContainsFunc(rows, func(r triggerRow) bool { return r.kind == kind && r.typ == value }) {
				t.Errorf("%s of type %q is provoked by no row", kind, value)
			}
		}
	}
	page := eventsPage(rows)
	file := filepath.Join("docs", "events.md")
	if *update {
		if err := os.WriteFile(file, page, 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, page) {
		t.Errorf("%s is not what the table says (%v); make docs writes it anew", file, err)
	}
}
