package httpapi

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"postern/dispatch"
	"postern/media"
)

// names is a DNS server: it answers each query for a name with the next of its addresses, and repeats the
// last one. Unknown names do not exist.
type names struct {
	mu      sync.Mutex
	answers map[string][]netip.Addr
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serve(server) // ends with the question, or when the resolver hangs up
		return client, nil
	}}
}

// serve answers one query, framed as over TCP.
func (n *names) serve(conn net.Conn) {
	defer conn.Close()
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return
	}
	raw := make([]byte, binary.BigEndian.Uint16(size[:]))
	var m dnsmessage.Message
	if _, err := io.ReadFull(conn, raw); err != nil || m.Unpack(raw) != nil {
		return
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	n.answer(&m)
	if answer, err := m.Pack(); err == nil {
		_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	}
}

func (n *names) answer(m *dnsmessage.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	all := n.answers[name]
	if len(all) == 0 {
		m.RCode = dnsmessage.RCodeNameError
		return
	}
	head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
	switch a := all[0]; {
	case a.Is4() && q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: a.As4()}}}
	case a.Is6() && q.Type == dnsmessage.TypeAAAA:
		m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}}}
	default:
		return
	}
	if len(all) > 1 {
		n.answers[name] = all[1:]
	}
}

// inside is a server that no fetch may reach.
func inside(t *testing.T) (port string, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			calls.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, calls
}

// outside is a server that represents one on the internet: it has the example picture, and redirects to the
// query's u.
func outside(t *testing.T) *httptest.Server {
	t.Helper()
	photo, err := os.ReadFile(filepath.Join("..", "media", "testdata", "photo.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("u"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		_, _ = w.Write(photo)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// fetching is a rig that fetches files from any address except private ones; only the server outside is
// exempt.
func fetching(t *testing.T, dns *names, outside string) (*rig, string) {
	r, token, _ := doing(t)
	guard := dispatch.Guard{DenyPrivate: true}
	var err error
	r.media, err = media.New(media.Config{
		Store: r.store, Dir: r.spool, Timeout: 5 * time.Second, Resolver: dns.resolver(),
		Control: func(network, address string, c syscall.RawConn) error {
			if address == outside {
				return nil
			}
			return guard.Control(network, address, c)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.api.sends.Media, r.api.chats.Media = r.media, r.media
	return r, token
}

// TestNoURLLeadsToAPrivateAddress tries each directly and by a redirect.
func TestNoURLLeadsToAPrivateAddress(t *testing.T) {
	port, calls := inside(t)
	open := outside(t)
	dns := &names{answers: map[string][]netip.Addr{
		"inside.test": {netip.MustParseAddr("127.0.0.1")},
		"six.test":    {netip.MustParseAddr("::1")},
		"mapped.test": {netip.MustParseAddr("::ffff:127.0.0.1")},
	}}
	r, token := fetching(t, dns, open.Listener.Addr().String())
	picture := func(url string) *http.Response {
		return r.as(token, "PUT", "/instance/a/group/update-picture", `{"groupJid":"1-2@g.us","image":"`+url+`"}`)
	}
	if res := picture(open.URL); res.StatusCode != 200 {
		t.Fatalf("the server outside: %+v", read(t, res))
	}
	look := dns.resolver()
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "10.0.0.1", "192.168.0.1", "[fd00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"localhost", "inside.test", "six.test", "mapped.test", "rebind.test", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "unknown.test",
	} {
		for _, url := range []string{"http://" + host + ":" + port + "/x", open.URL + "?u=http://" + host + ":" + port + "/x"} {
			// The first lookup returns an allowed address, the second another.
			dns.mu.Lock()
			dns.answers["rebind.test"] = []netip.Addr{netip.MustParseAddr("203.0.114.1"), netip.MustParseAddr("127.0.0.1")}
			dns.mu.Unlock()
			if first, err := look.LookupNetIP(t.Context(), "ip4", "rebind.test"); err != nil || (dispatch.Guard{DenyPrivate: true}).Check(first[0]) != nil {
				t.Fatalf("%v, %v", first, err)
			}
			for _, res := range []*http.Response{
				picture(url), r.as(token, "POST", "/instance/a/media/uploads", `{"mediaType":"image","media":"`+url+`"}`),
			} {
				e := wantError(t, res, 422, "INVALID_MEDIA")
				if text := e.Messages[0]; !strings.Contains(text, "its address is not allowed") && !strings.Contains(text, "was not found") {
					t.Errorf("%s: %s", url, text)
				}
			}
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d connections came inside", n)
	}
	if left := r.spooled(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
