package proxies

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"nhooyr.io/websocket"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// appliances are two programs behind one proxy: a has the instances shop-a-1 and bakery,
// b has shop-b-1.
type appliances struct {
	t      *testing.T
	a, b   *rig.World
	port   string
	client *http.Client
	tokens map[string]string // by instance
}

// TestAppliancesBehindOneProxy: the configurations of docs/cluster.md, with no more
// changed than addresses and files.
func TestAppliancesBehindOneProxy(t *testing.T) {
	if testing.Short() {
		t.Skip("starts programs and proxies")
	}
	for _, f := range fronts {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.skipWithout(t)
			s := &appliances{t: t, a: rig.NewWorld(t), b: rig.NewWorld(t), tokens: map[string]string{}}
			config := block(t, "docs/cluster.md", f.kind)
			for name, w := range map[string]*rig.World{"a": s.a, "b": s.b} {
				w.Env = []string{"SERVER_BASE_URL=https://" + name + ".example.org", "SERVER_TRUSTED_PROXIES=127.0.0.1"}
				w.Start()
				config = strings.ReplaceAll(config, map[string]string{"a": "10.0.0.11:8084", "b": "10.0.0.12:8084"}[name], strings.TrimPrefix(w.API.Base, "http://"))
			}
			at := rig.FreeAddress(t)
			run(t, f.command(t, config, at, "api.example.org", "a.example.org", "b.example.org"))
			s.port, s.client = at[strings.LastIndexByte(at, ':'):], through(at)
			s.a.Await("the proxy", func() bool {
				res, err := s.client.Get(s.host("a") + "/ready")
				return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
			})
			// From here on everything goes through the proxy.
			s.a.API, s.b.API = s.api("a"), s.api("b")
			s.tokens["shop-a-1"], s.tokens["bakery"], s.tokens["shop-b-1"] = s.a.Pair("shop-a-1"), s.a.Pair("bakery"), s.b.Pair("shop-b-1")

			s.everyPath()
			s.byName()
			s.batches()
			s.aStops()
		})
	}
}

func (s *appliances) host(name string) string { return "https://" + name + ".example.org" + s.port }

func (s *appliances) api(name string) *consumer.Client {
	return &consumer.Client{Base: s.host(name), HTTP: *s.client}
}

// ask returns what answers a request without a credential, or with one.
func (s *appliances) ask(cred consumer.Credential, method, url string) (status int, answer refusal) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if cred.Name != "" {
		req.Header.Set(cred.Name, cred.Value)
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, url, err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode >= 300 {
		if err := json.Unmarshal(raw, &answer); err != nil {
			s.t.Fatalf("%s %s: %s %s", method, url, res.Status, raw)
		}
		if answer.StatusCode != res.StatusCode || answer.RequestID == "" || len(res.Header.Values("x-request-id")) != 1 || answer.RequestID != res.Header.Get("x-request-id") || len(answer.Message) == 0 {
			s.t.Errorf("%s %s: %s %v %s", method, url, res.Status, res.Header, raw)
		}
	}
	return res.StatusCode, answer
}

// refusal is the body of every refusal.
type refusal struct {
	StatusCode        int
	Error, Code       string
	Messages, Message []string
	RequestID         string
}

// isTheProxys reports whether the proxy itself knows no appliance for a path.
func (r refusal) isTheProxys() bool {
	return r.Code == "NOT_FOUND" && strings.HasPrefix(r.Messages[0], "no appliance")
}

// everyPath holds the paths of the documents of the API, today's and older ones, against
// the choice: those with the name of an instance lead to an appliance, the others do not.
func (s *appliances) everyPath() {
	s.t.Helper()
	named, others := 0, 0
	for _, document := range []string{"/openapi.json", "/openapi-aliases.json"} {
		var api struct {
			Paths map[string]map[string]json.RawMessage
		}
		s.a.Call(consumer.Credential{}, http.MethodGet, document, nil, &api)
		for path := range api.Paths {
			for _, name := range []string{"shop-a-9", "bakery", "shop-b-9", "shop-c-9", "Shop-a-9"} {
				at := strings.ReplaceAll(path, "{instanceName}", name)
				_, answer := s.ask(consumer.Credential{}, "BREW", s.host("api")+strings.NewReplacer("{", "", "}", "").Replace(at))
				want := at != path && (name == "bakery" || !strings.Contains(strings.ToLower(name), "-c-") && name[0] == 's')
				if answer.isTheProxys() == want {
					s.t.Errorf("%s of %s: %+v", path, name, answer)
				}
				if at == path {
					others++
					break
				}
				named++
			}
		}
	}
	if named < 500 || others < 50 {
		s.t.Errorf("only %d paths with a name and %d without were asked", named, others)
	}
}

// byName sends to each instance by its name, by paths of today and older ones.
func (s *appliances) byName() {
	s.t.Helper()
	for name, token := range s.tokens {
		w := s.a
		if name == "shop-b-1" {
			w = s.b
		}
		w.API = s.api("api")
		body := map[string]any{"number": "4915155500009", "textMessage": map[string]any{"text": "hello"}}
		w.Call(consumer.Bearer(token), http.MethodPost, "/instance/"+name+"/send/text", body, nil)
		w.Call(consumer.Bearer(token), http.MethodPost, "/message/sendText/"+name, body, nil)
		w.Call(consumer.Bearer(token), http.MethodGet, "/instance/%"+fmt.Sprintf("%x", name[0])+name[1:]+"/limits", nil, nil)
	}
	key := consumer.Key(s.a.Sec.GlobalAuthToken)
	for path, want := range map[string]int{
		"/instance/shop-a-9": http.StatusUnauthorized, "/instance/shop-b-1": http.StatusUnauthorized, "/instance/shop-c-1": http.StatusNotFound, "/instance": http.StatusNotFound,
	} {
		status, answer := s.ask(key, http.MethodGet, s.host("api")+path)
		if status != want || answer.isTheProxys() != (path == "/instance" || path == "/instance/shop-c-1") {
			s.t.Errorf("%s with the key of a: %d %+v", path, status, answer)
		}
	}
	if status, answer := s.ask(key, http.MethodGet, s.host("b")+"/instance"); status != http.StatusUnauthorized || answer.isTheProxys() {
		s.t.Errorf("the key of a at b: %d %+v", status, answer)
	}
}

// batches belong to the appliance of their instances.
func (s *appliances) batches() {
	s.t.Helper()
	s.a.API = s.api("a")
	batch := map[string]any{
		"name": "one", "instances": []string{"shop-a-1", "bakery"}, "recipients": []string{"4915155500009"},
		"message": map[string]any{"type": "text", "payload": map[string]any{"text": "hello"}},
	}
	id := s.a.CreateBatchOf(batch).ID
	s.a.Await("the batch", func() bool { return s.a.Batch(id).Counts.Success == 1 })
	batch["instances"] = []string{"shop-a-1", "shop-b-1"}
	err := s.a.API.Call(s.t.Context(), consumer.Bearer(s.a.User), http.MethodPost, "/message/batches", batch, nil)
	if err == nil || !strings.Contains(err.Error(), "422") {
		s.t.Errorf("a batch by an instance that is elsewhere: %v", err)
	}
	for host, want := range map[string]int{"b": http.StatusUnauthorized, "api": http.StatusNotFound} {
		if status, answer := s.ask(consumer.Bearer(s.a.User), http.MethodGet, s.host(host)+"/message/batches/"+id.String()); status != want {
			s.t.Errorf("the batch of a at %s: %d %+v", host, status, answer)
		}
	}
}

// aStops: b's WebSocket stays, b sends, and a request for a is answered at once.
func (s *appliances) aStops() {
	s.t.Helper()
	t := s.t
	ws, _, err := websocket.Dial(t.Context(), "wss"+strings.TrimPrefix(s.host("b"), "https")+"/ws/instance/events?event=send.message&token="+s.tokens["shop-b-1"], &websocket.DialOptions{HTTPClient: s.client})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	s.a.Stop()
	for _, url := range []string{s.host("api") + "/instance/shop-a-1", s.host("a") + "/instance"} {
		if status, answer := s.ask(consumer.Key(s.a.Sec.GlobalAuthToken), http.MethodGet, url); status != http.StatusBadGateway || answer.Code != "APPLIANCE_UNREACHABLE" {
			t.Errorf("%s without a: %d %+v", url, status, answer)
		}
	}
	s.b.Call(consumer.Bearer(s.tokens["shop-b-1"]), http.MethodPost, "/instance/shop-b-1/send/text", map[string]any{"number": "4915155500009", "textMessage": map[string]any{"text": "still here"}}, nil)
	if _, event, err := ws.Read(t.Context()); err != nil || !strings.Contains(string(event), "still here") {
		t.Errorf("b's WebSocket: %v %s", err, event)
	}
	s.b.Stop()
}
