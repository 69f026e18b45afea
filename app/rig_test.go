package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"nhooyr.io/websocket"

	"postern/cli/consumer"
	"postern/config"
	"postern/delivery/outbox"
	"postern/e2e/capture"
	"postern/event"
	"postern/httpapi/tokens"
	"postern/store"
)

// sockets is the program in this process, without WhatsApp: batch events are
// put into its outbox by hand.
type sockets struct {
	*App
	t     *testing.T
	api   *consumer.Client
	key   consumer.Credential
	owner uuid.UUID
	user  string // the owner's token
	log   capture.Buffer
}

func newSockets(t *testing.T) *sockets {
	t.Helper()
	return newSocketsFor(t, "")
}

// newSocketsFor is newSockets with a global webhook, unless its URL is empty.
func newSocketsFor(t *testing.T, webhook string) *sockets {
	t.Helper()
	cfg := config.Default()
	cfg.Webhook.GlobalEnabled, cfg.Webhook.GlobalURL = webhook != "", webhook
	cfg.Server.Listen = "127.0.0.1:0"
	cfg.Store.Path = filepath.Join(t.TempDir(), "p.db")
	sec := config.NewSecrets()
	s := &sockets{t: t, key: consumer.Key(sec.GlobalAuthToken), owner: uuid.New()}
	s.run(cfg, sec)
	s.user = s.mint(time.Hour)
	return s
}

// run starts the program, again when it was stopped.
func (s *sockets) run(cfg *config.Config, sec config.Secrets) {
	s.t.Helper()
	a, err := Start(s.t.Context(), cfg, sec, slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = a.Stop(context.Background()) })
	s.App, s.api = a, consumer.NewClient(a.url)
}

// mint makes a token of the owner.
func (s *sockets) mint(ttl time.Duration) string {
	s.t.Helper()
	token, err := tokens.ForUser([]byte(s.sec.JWTSecret), s.owner, ttl, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

func (s *sockets) instance(name string) (token string) {
	s.t.Helper()
	var created struct{ Auth struct{ Token string } }
	if err := s.api.Call(s.t.Context(), s.key, http.MethodPost, "/instance", map[string]string{"instanceName": name}, &created); err != nil {
		s.t.Fatal(err)
	}
	return created.Auth.Token
}

// emit commits batch events of the owner.
func (s *sockets) emit(kinds ...event.Kind) {
	s.t.Helper()
	err := s.store.Update(context.Background(), func(tx *store.Tx) error {
		var err error
		for _, k := range kinds {
			err = errors.Join(err, s.outbox.Emit(tx, outbox.Emission{Kind: k, Owner: s.owner, Batch: s.owner, Data: map[string]string{"text": "<é&>"}}))
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// bodies returns the stored events of the owner.
func (s *sockets) bodies() (bodies []string) {
	s.t.Helper()
	err := s.store.View(func(tx *store.Tx) error {
		entries, err := outbox.Replay(tx, s.owner, 0, 1_000_000)
		for _, e := range entries {
			bodies = append(bodies, string(e.Body))
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return bodies
}

func (s *sockets) dial(path, token string) (*websocket.Conn, http.Header, error) {
	conn, resp, err := websocket.Dial(s.t.Context(), strings.Replace(s.url, "http", "ws", 1)+path, &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		return nil, nil, err
	}
	conn.SetReadLimit(1 << 20)
	return conn, resp.Header, nil
}

func (s *sockets) mustDial(path, token string) *websocket.Conn {
	s.t.Helper()
	conn, _, err := s.dial(path, token)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// closedWith reads up to the end of the connection.
func (s *sockets) closedWith(conn *websocket.Conn) websocket.StatusCode {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	for {
		if _, _, err := conn.Read(ctx); err != nil {
			if ctx.Err() != nil {
				s.t.Fatal("the connection was not closed")
			}
			code := websocket.CloseStatus(err)
			if code < 0 {
				s.t.Logf("the connection ended without a close: %v", err)
			}
			return code
		}
	}
}

// refused sends a handshake and wants an error body.
func (s *sockets) refused(path string, header http.Header, status int, code string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
	}
	maps.Copy(req.Header, header)
	resp, err := s.api.HTTP.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	var body struct {
		StatusCode        int
		Code, RequestID   string
		Messages, Message []string
	}
	if err := json.Unmarshal(raw, &body); err != nil || resp.StatusCode != status || body.StatusCode != status || body.Code != code ||
		len(body.Messages) == 0 || len(body.Message) == 0 || body.RequestID == "" {
		s.t.Errorf("%s: %d %s, want %d %s", path, resp.StatusCode, raw, status, code)
	}
}

func (s *sockets) prune(seqs ...uint64) {
	s.t.Helper()
	if err := s.store.Update(s.t.Context(), func(tx *store.Tx) error {
		_, err := s.outbox.Remove(tx, seqs)
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
}
