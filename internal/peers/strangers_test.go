package peers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestStrangersGiveWayToRightCredentials: whatever an address sends slowly, a request
// with a right credential from there is answered.
func TestStrangersGiveWayToRightCredentials(t *testing.T) {
	for name, sent := range map[string]string{
		"silent":        "",
		"kept":          "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"slow headers":  "GET / HTTP/1.1\r\nHost:",
		"TLS handshake": "\x16\x03\x01\x02\x00\x01",
		"slow body":     "POST /stay HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
		"upgrade":       "GET /stay HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, Limits{Total: 100, PerAddress: 8, Strangers: true, spare: long})
			for range 20 {
				_, _ = io.WriteString(h.come("127.0.0.1"), sent)
			}
			for range 50 {
				owner := h.come("127.0.0.1").prove("/")
				h.mustAnswer("the owner", owner)
				_ = owner.Close()
				_, _ = io.WriteString(h.come("127.0.0.1"), sent)
			}
		})
	}
}

// TestProvenRequestsKeepTheirPlace also when all others are strangers.
func TestProvenRequestsKeepTheirPlace(t *testing.T) {
	h := newHall(t, Limits{Total: 100, PerAddress: 4, Strangers: true, spare: short})
	owner := h.come("127.0.0.1").prove("/stay")
	h.await("the owner is proven", func(ListenerStats) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		of := h.table.holders[network(addressOf("127.0.0.1"))]
		return of != nil && of.open == 1 && of.idle.resting.Len() == 0 && of.idle.strangers.Len() == 0
	})
	var slow *guest
	for range 50 {
		slow = h.come("127.0.0.1").ask("/stay")
	}
	h.await("strangers are displaced", func(s ListenerStats) bool { return s.Evicted >= 40 })
	if _, err := owner.answer(short); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the owner: %v", err)
	}
	h.leave <- struct{}{}
	_ = slow
	for h.held("127.0.0.1") > 0 { // the strangers and the owner, in any order
		select {
		case h.leave <- struct{}{}:
		default:
			if status, err := owner.answer(patience); err != nil || status != http.StatusOK {
				t.Fatalf("the owner: %d, %v", status, err)
			}
			return
		}
	}
	t.Error("the owner's connection is gone")
}

// TestHTTP2StrangersGiveWay: a connection with many requests and no credential is closed
// as a whole, and the stream of an owner finds a place.
func TestHTTP2StrangersGiveWay(t *testing.T) {
	h := newHall(t, Limits{Total: 100, PerAddress: 4, Strangers: true, spare: long})
	owner := h.talk("127.0.0.1")
	owner.openAs("/stay", "right")
	h.await("the owner is inside", func(s ListenerStats) bool { return s.Open == 1 })
	stranger := h.talk("127.0.0.1")
	for range 3 {
		stranger.open("/stay")
	}
	h.await("all places are taken", func(s ListenerStats) bool { return s.Open == 4 })
	if !owner.ends(owner.openAs("/", "right")) {
		t.Error("the owner's second request was reset")
	}
	h.await("the stranger is closed", func(s ListenerStats) bool { return s.Evicted == 1 })
}

// openAs is open with a credential.
func (k *talker) openAs(path, key string) uint32 {
	k.t.Helper()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", path}, {"apikey", key}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	id := k.next
	k.next += 2
	if err := k.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
		k.t.Fatal(err)
	}
	return id
}

// TestUntrustedProxyIsReportedOnce: when most connections come from one address with
// forwarding headers.
func TestUntrustedProxyIsReportedOnce(t *testing.T) {
	for _, c := range []struct {
		name, header string
		exempt       bool
		every        int // connection has the header
		want         int
	}{
		{"proxy", "X-Forwarded-For: 203.0.113.5", false, 1, 1},
		{"other header", "Forwarded: for=203.0.113.5", false, 1, 1},
		{"trusted", "X-Forwarded-For: 203.0.113.5", true, 1, 0},
		{"few", "X-Forwarded-For: 203.0.113.5", false, 3, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var exempt Proxies
			if c.exempt {
				exempt = Proxies{netip.MustParsePrefix("127.0.0.0/8")}
			}
			h := newHall(t, Limits{Total: 100, Exempt: exempt, Strangers: true, spare: short})
			for i := range 3 * forwardedSample {
				header := "X: y"
				if i%c.every == 0 {
					header = c.header
				}
				g := h.come("127.0.0.1")
				_, _ = fmt.Fprintf(g, "GET / HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", header)
				h.mustAnswer("a client", g)
				_ = g.Close()
			}
			if n := h.logs.count("server.trusted_proxies"); n != c.want {
				t.Errorf("reported %d times, want %d", n, c.want)
			}
		})
	}
}
