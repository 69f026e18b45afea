package peers

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// talker is one connection of HTTP/2, frame by frame.
type talker struct {
	t *testing.T
	net.Conn
	*http2.Framer
	next uint32 // stream
}

// talk connects from an address of the loopback network.
func (h *hall) talk(from string) *talker {
	h.t.Helper()
	c := h.come(from).Conn
	k := &talker{h.t, c, http2.NewFramer(c, c), 1}
	_, err := io.WriteString(c, http2.ClientPreface)
	if err = errors.Join(err, k.WriteSettings()); err != nil {
		h.t.Fatal(err)
	}
	return k
}

// open begins a request and returns its stream.
func (k *talker) open(path string) uint32 {
	k.t.Helper()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", path}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	id := k.next
	k.next += 2
	if err := k.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
		k.t.Fatal(err)
	}
	return id
}

// ends waits for the end of a stream and reports whether it was answered.
func (k *talker) ends(stream uint32) (answered bool) {
	k.t.Helper()
	_ = k.SetReadDeadline(time.Now().Add(patience))
	for {
		f, err := k.ReadFrame()
		if err != nil {
			k.t.Fatalf("stream %d: %v", stream, err)
		}
		if f.Header().StreamID != stream {
			continue
		}
		switch f := f.(type) {
		case *http2.RSTStreamFrame:
			return false
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				return true
			}
		case *http2.DataFrame:
			if f.StreamEnded() {
				return true
			}
		}
	}
}

// TestConcurrentRequestsCountForTheAddress: each request beside another
// counts, and one too many is reset while the others continue.
func TestConcurrentRequestsCountForTheAddress(t *testing.T) {
	h := newHall(t, Limits{Total: 10, PerAddress: 3, spare: long})
	k := h.talk("127.0.0.1")
	inside := []uint32{k.open("/stay"), k.open("/stay"), k.open("/stay")}
	h.await("three are inside", func(s ListenerStats) bool { return s.Open == 3 && h.stays.Load() == 3 })
	if k.ends(k.open("/")) {
		t.Error("a fourth was answered")
	}
	if other := h.talk("127.0.0.2"); !other.ends(other.open("/")) {
		t.Error("another address was not answered")
	}
	if s := h.Stats(); s.Refused != 1 || h.logs.count("are reset") != 1 {
		t.Errorf("%+v, logged %d times", s, h.logs.count("are reset"))
	}
	// A connection of the same address has no place either.
	if _, err := h.come("127.0.0.1").ask("/").answer(patience); err == nil {
		t.Error("a connection over the limit was answered")
	}
	for range inside {
		h.leave <- struct{}{}
	}
	h.await("the places are given back", func(s ListenerStats) bool { return s.Open == 2 }) // the two connections
	if !k.ends(k.open("/")) {
		t.Error("after that a request was not answered")
	}
}

// TestAllRequestsTogetherAreBoundedToo whatever their addresses, and those of an exempt
// one are not bounded alone.
func TestAllRequestsTogetherAreBoundedToo(t *testing.T) {
	exempt, err := ParseProxies([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	h := newHall(t, Limits{Total: 4, PerAddress: 1, Exempt: exempt, spare: long})
	k := h.talk("127.0.0.1")
	for range 4 {
		k.open("/stay")
	}
	h.await("four are inside", func(s ListenerStats) bool { return s.Open == 4 && h.stays.Load() == 4 })
	if k.ends(k.open("/")) {
		t.Error("a fifth was answered")
	}
}

// TestRapidResetsHoldNothing: requests that are taken back at once, by the ten thousand,
// leave no places taken, no goroutines, and the others served.
func TestRapidResetsHoldNothing(t *testing.T) {
	h := newHall(t, Limits{Total: 20, PerAddress: 10, spare: short})
	before := runtime.NumGoroutine()
	for range 5 {
		h.await("the address holds nothing", func(ListenerStats) bool { return h.held("127.0.0.1") == 0 })
		k := h.talk("127.0.0.1")
		go func() { _, _ = io.Copy(io.Discard, k.Conn) }()
		for i := range 2000 {
			var block bytes.Buffer
			e := hpack.NewEncoder(&block)
			for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/stay"}} {
				_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
			}
			id := uint32(2*i + 1)
			err := k.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
			if err = errors.Join(err, k.WriteRSTStream(id, http2.ErrCodeCancel)); err != nil {
				break // it was thrown out
			}
			if i%500 == 0 {
				other := h.come("127.0.0.2")
				h.mustAnswer("another address", other.ask("/"))
				_ = other.Close() // else its address comes to its limit
			}
		}
		_ = k.Close()
	}
	h.await("nothing is held", func(s ListenerStats) bool { return s.Open <= 25 && h.held("127.0.0.1") == 0 })
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before+30; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, there were %d", runtime.NumGoroutine(), before)
		}
	}
}

// held returns how much an address holds.
func (h *hall) held(from string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if is := h.table.holders[network(addressOf(from))]; is != nil {
		return is.open
	}
	return 0
}

// TestIdleMultiplexedConnectionIsEvicted, and one with a request keeps its place.
func TestIdleMultiplexedConnectionIsEvicted(t *testing.T) {
	h := newHall(t, Limits{Total: 2, spare: short})
	busy, idle := h.talk("127.0.0.1"), h.talk("127.0.0.1")
	stays := busy.open("/stay")
	if !idle.ends(idle.open("/")) {
		t.Fatal("not answered")
	}
	h.await("both are inside", func(s ListenerStats) bool { return s.Open == 2 && h.stays.Load() == 1 })
	h.mustAnswer("a newcomer", h.come("127.0.0.2").ask("/"))
	if s := h.Stats(); s.Evicted != 1 {
		t.Errorf("%+v", s)
	}
	_ = idle.SetReadDeadline(time.Now().Add(patience))
	for {
		if _, err := idle.ReadFrame(); err != nil {
			if strings.Contains(err.Error(), "timeout") {
				t.Error("the one without a request was kept")
			}
			break
		}
	}
	h.leave <- struct{}{}
	if !busy.ends(stays) {
		t.Error("the one with a request was not answered")
	}
}

// TestClosedConnectionReleasesAllPlaces.
func TestClosedConnectionReleasesAllPlaces(t *testing.T) {
	h := newHall(t, Limits{Total: 10, spare: short})
	k := h.talk("127.0.0.1")
	for range 5 {
		k.open("/stay")
	}
	h.await("five are inside", func(s ListenerStats) bool { return s.Open == 5 && h.stays.Load() == 5 })
	_ = k.Close()
	h.await("none is", func(s ListenerStats) bool { return s.Open == 0 })
}
