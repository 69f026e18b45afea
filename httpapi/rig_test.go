package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/instance"
	"postern/store"
)

// rig is the interface over a real registry, engine and file. Only the sockets
// and the hub are the test's own.
type rig struct {
	t        *testing.T
	h        http.Handler
	store    *store.Store
	registry *instance.Registry
	engine   *batch.Engine
	sockets  *scripted
	hub      *recordingHub
	user     uuid.UUID
	token    string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	st, err := store.Open(store.Options{
		Path: filepath.Join(t.TempDir(), "t.db"), Buckets: append(batch.Buckets(), instance.Buckets()...), NoSync: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	r := &rig{t: t, store: st, sockets: &scripted{}, hub: &recordingHub{}}
	r.registry, err = instance.Open(t.Context(), instance.Config{Store: st, Publish: func(event.Notice) {}})
	if err != nil {
		t.Fatal(err)
	}
	r.engine, err = batch.New(batch.Config{Store: st, Fleet: noFleet{}, NewMessageID: uuid.NewString})
	if err != nil {
		t.Fatal(err)
	}
	r.h, err = New(Config{
		Registry: r.registry, Connections: r.sockets, Engine: r.engine, Hub: r.hub, Store: st,
		APIKey: testKey, JWTSecret: testSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.user, r.token = r.newUser()
	return r
}

// admin sends a request with the global key.
func (r *rig) admin(method, path, body string) *http.Response {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("apikey", testKey)
	return do(r.h, req)
}

// instance creates an instance over the API and returns its token.
func (r *rig) instance(name string) (token string) {
	r.t.Helper()
	created := decoded[createdInstance](r.t, r.admin("POST", "/instance", `{"instanceName":"`+name+`"}`))
	return created.Auth.Token
}

// scripted answers for the sockets, with err when it is set, and remembers the
// last call.
type scripted struct {
	err       error
	connect   Connect
	status    Connection
	phone     string
	sent      Text
	requestID string
}

func (s *scripted) Connect(_ context.Context, _ int64, requestID string) (Connect, error) {
	s.requestID = requestID
	return s.connect, s.err
}

func (s *scripted) PairingCode(_ context.Context, _ int64, phone, _ string) (string, error) {
	s.phone = phone
	return "ABCD-EFGH", s.err
}

func (s *scripted) Status(int64) (Connection, error) { return s.status, s.err }

func (s *scripted) Logout(context.Context, int64, string) error { return s.err }

func (s *scripted) Restart(context.Context, int64, string) error { return s.err }

func (s *scripted) SendText(_ context.Context, id int64, m Text, requestID string) (*event.Message, error) {
	s.sent, s.requestID = m, requestID
	return &event.Message{ID: 7, KeyID: "K", InstanceID: id, ExternalAttributes: m.ExternalAttributes}, s.err
}

// recordingHub remembers whom it served.
type recordingHub struct {
	err      error
	user     uuid.UUID
	instance int64
	stream   Stream
}

func (h *recordingHub) ServeGlobal(w http.ResponseWriter, _ *http.Request, user uuid.UUID, s Stream) error {
	h.user, h.stream = user, s
	if h.err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return h.err
}

func (h *recordingHub) ServeInstance(w http.ResponseWriter, _ *http.Request, id int64, s Stream) error {
	h.instance, h.stream = id, s
	if h.err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return h.err
}
