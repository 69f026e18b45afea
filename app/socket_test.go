//go:build unix

package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"nhooyr.io/websocket"

	"postern/app/certificate/certificatetest"
	"postern/cli/consumer"
	"postern/config"
)

// over returns a client through a Unix socket.
func over(path string) *http.Client {
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
}

func statusOf(t *testing.T, c *http.Client, url string) int {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func TestUnixSocketServesTheAPI(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s := configured(t, func(c *config.Config) { c.Server.Socket = path })
	if got := statusOf(t, over(path), "http://postern/ready"); got != http.StatusOK {
		t.Errorf("at the socket: %d", got)
	}
	if got := statusOf(t, http.DefaultClient, s.url+"/ready"); got != http.StatusOK {
		t.Errorf("at the address: %d", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v", info, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("after the stop the socket is there: %v", err)
	}
}

func TestWithoutAnAddressOnlyTheSocketIsServed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s := configured(t, func(c *config.Config) { c.Server.Socket, c.Server.SocketMode, c.Server.Listen = path, "0600", "" })
	if s.URL() != "unix:"+path || s.Socket() != path || s.Dashboard() != "" || s.certFiles != nil {
		t.Errorf("%q %q %q", s.URL(), s.Socket(), s.Dashboard())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	s.user = s.mint(time.Hour)
	ws, _, err := websocket.Dial(t.Context(), "ws://postern/ws/global/events?event=*&token="+s.user, &websocket.DialOptions{HTTPClient: over(path)})
	if err != nil {
		t.Fatal(err)
	}
	_ = ws.CloseNow()
}

// TestUnixSocketHasNoTLS: both serve the same program.
func TestUnixSocketHasNoTLS(t *testing.T) {
	a := certificatetest.New(t)
	serial := a.Issue(time.Now().Add(time.Hour))
	path := filepath.Join(t.TempDir(), "s")
	s := configured(t, func(c *config.Config) {
		useFiles(c, a)
		c.Server.Socket = path
	})
	if got := serialOf(t, a.Client(false), s.url); got != serial {
		t.Errorf("certificate %d, want %d", got, serial)
	}
	if got := statusOf(t, over(path), "http://postern/ready"); got != http.StatusOK {
		t.Errorf("at the socket: %d", got)
	}
}

func TestUsedSocketIsReportedByItsSetting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	cfg := config.Default()
	cfg.Server.Listen, cfg.Server.Socket = "127.0.0.1:0", path
	if _, err := Listen(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "server.socket: another program listens at") {
		t.Error(err)
	}
}

// TestSocketForwardedForNeedsTrust: else all who connect there
// are one client, whatever they write.
func TestSocketForwardedForNeedsTrust(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "s")
		s := configured(t, func(c *config.Config) {
			c.Server.Socket, c.Authentication.FailuresPerMinute = path, 2
			if trusted {
				c.Server.TrustedProxies = []string{"unix"}
			}
		})
		guess := func(from string) int {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://postern/instance", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("apikey", uuid.NewString())
			req.Header.Set("X-Forwarded-For", from)
			resp, err := over(path).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return resp.StatusCode
		}
		var got []int
		for i := range 4 {
			got = append(got, guess(fmt.Sprintf("198.51.100.%d", i)))
		}
		want := "[401 401 429 429]"
		if trusted {
			want = "[401 401 401 401]"
		}
		if fmt.Sprint(got) != want {
			t.Errorf("trusted %t: %v, want %s", trusted, got, want)
		}
		address := "address=unix"
		if trusted {
			address = "address=198.51.100.3"
		}
		if !strings.Contains(s.log.String(), address) {
			t.Errorf("trusted %t: the log has no %s", trusted, address)
		}
		// A right credential is served all the same.
		api := consumer.NewClient("http://postern")
		api.HTTP = *over(path)
		if err := api.Call(t.Context(), s.key, http.MethodGet, "/instance", nil, nil); err != nil {
			t.Error(err)
		}
	}
}
