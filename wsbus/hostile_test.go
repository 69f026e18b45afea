package wsbus

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"postern/event"
)

// rawClient speaks the frames of RFC 6455 by hand, the wrong ones too.
type rawClient struct {
	net.Conn
	in *bufio.Reader
}

func (w *world) raw(t *testing.T) *rawClient {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", w.srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(15 * time.Second))
	_, _ = io.WriteString(conn, "GET /instance HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	c := &rawClient{conn, bufio.NewReader(conn)}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("no upgrade: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
	return c
}

// frame returns a masked frame of a client: its first byte, then the payload.
func frame(first byte, payload string) string {
	mask := "\x11\x22\x33\x44"
	head := []byte{first}
	switch n := len(payload); {
	case n < 126:
		head = append(head, 0x80|byte(n))
	default:
		head = binary.BigEndian.AppendUint16(append(head, 0x80|126), uint16(n))
	}
	body := []byte(payload)
	for i := range body {
		body[i] ^= mask[i%4]
	}
	return string(head) + mask + string(body)
}

// next reads a frame of the server, which are short here. It returns the opcode
// 0 at the end of the connection.
func (c *rawClient) next() (opcode byte, payload string) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(c.in, head); err != nil {
		return 0, ""
	}
	body := make([]byte, head[1])
	if _, err := io.ReadFull(c.in, body); err != nil {
		return 0, ""
	}
	return head[0] & 0x0f, string(body)
}

// end reads up to the close frame and returns its code, 0 when the connection
// ended without one.
func (c *rawClient) end(t *testing.T) int {
	t.Helper()
	for {
		switch opcode, payload := c.next(); opcode {
		case 0:
			return 0
		case 8:
			return int(binary.BigEndian.Uint16([]byte(payload)))
		}
	}
}

const (
	text, ping, pong = 0x81, 0x89, 0x8a
	fin              = 0x80
)

type hostileFrames struct {
	bytes string
	want  []int // close codes; 0: cut off without one
}

// hostile returns what a client may send that ends its connection.
func hostile() map[string]hostileFrames {
	return map[string]hostileFrames{
		"a text":                              {frame(text, "hello"), []int{1008}},
		"an empty binary":                     {frame(0x82, ""), []int{1008}},
		"the first part of a message":         {frame(0x01, "hel"), []int{1008}},
		"parts without end":                   {frame(0x01, "a") + strings.Repeat(frame(0x00, "b"), 5000), []int{1008, 0}},
		"a text of which nothing comes":       {"\x81\xff\x00\x00\x00\xff\xff\xff\xff\xff\x11\x22\x33\x44", []int{1008}},
		"a length with the highest bit":       {"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x11\x22\x33\x44", []int{1008, 1002, 0}},
		"a continuation of nothing":           {frame(fin, "x"), []int{1002, 0}},
		"an unknown opcode":                   {frame(0x83, "x"), []int{1002, 0}},
		"an unknown control opcode":           {frame(0x8b, "x"), []int{1002, 0}},
		"a reserved bit":                      {frame(0xc1, "x"), []int{1002, 0}},
		"a frame that is not masked":          {"\x81\x05hello", []int{1002, 0}},
		"a ping that is not masked":           {"\x89\x00", []int{1002, 0}},
		"a ping in parts":                     {frame(0x09, "x"), []int{1002, 0}},
		"an oversized ping":                   {frame(ping, strings.Repeat("x", 126)), []int{1002, 0}},
		"an oversized close":                  {frame(0x88, strings.Repeat("x", 1000)), []int{1002, 0}},
		"a close of one byte":                 {frame(0x88, "x"), []int{1002, 0}},
		"a close with a code that is not one": {frame(0x88, "\x03\xed"), []int{1002, 0}},
		"no frames at all":                    {"GET / HTTP/1.1\r\n\r\n", []int{1002, 0}},
	}
}

func TestHostileFramesEndTheirOwnConnectionOnly(t *testing.T) {
	for name, c := range hostile() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Config{})
			good, bad := w.dial(t, "/instance"), w.raw(t)
			_, _ = io.WriteString(bad, c.bytes)
			got := bad.end(t)
			_ = bad.Close()
			found := false
			for _, want := range c.want {
				found = found || got == want
			}
			if !found {
				t.Errorf("closed with %d, want one of %v", got, c.want)
			}
			w.waitForClients(t, 1)
			w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: []byte("still here")})
			if got := read(t, good); got != "still here" {
				t.Error(got)
			}
		})
	}
}

func TestPingClosesAnEndlessFrame(t *testing.T) {
	w := newWorld(t, Config{PingInterval: 20 * time.Millisecond, PongTimeout: 50 * time.Millisecond})
	_, _ = io.WriteString(w.raw(t), "\x89") // half a header
	w.waitForClients(t, 0)
}

func TestAClientThatAnswersPingsStays(t *testing.T) {
	w := newWorld(t, Config{PingInterval: time.Millisecond, PongTimeout: 5 * time.Second})
	c := w.raw(t)
	for range 50 {
		opcode, payload := c.next()
		if opcode != 9 {
			t.Fatalf("opcode %d", opcode)
		}
		_, _ = io.WriteString(c, frame(pong, payload))
	}
	if n, _ := w.hub.Stats(); n != 1 {
		t.Errorf("%d clients", n)
	}
}

func TestAWrongPongIsNoAnswer(t *testing.T) {
	w := newWorld(t, Config{PingInterval: time.Millisecond, PongTimeout: 100 * time.Millisecond})
	_, _ = io.WriteString(w.raw(t), strings.Repeat(frame(pong, "unasked"), 100))
	w.waitForClients(t, 0)
}

func TestAPingOfTheClientIsAnswered(t *testing.T) {
	w := newWorld(t, Config{})
	c := w.raw(t)
	_, _ = io.WriteString(c, frame(ping, "are you there"))
	if opcode, payload := c.next(); opcode != 10 || payload != "are you there" {
		t.Errorf("opcode %d, %q", opcode, payload)
	}
}

// Each ping costs an answer, and a client that reads none of them fills its
// connection.
func TestPingFloodDoesNotBlockOthers(t *testing.T) {
	w := newWorld(t, Config{WriteTimeout: 100 * time.Millisecond})
	good, bad := w.dial(t, "/instance"), w.raw(t)
	flood := strings.Repeat(frame(ping, strings.Repeat("x", 125)), 1000)
	for range 300 {
		if _, err := io.WriteString(bad, flood); err != nil {
			break // closed
		}
	}
	w.hub.PublishInstance(event.Notice{Kind: event.MessagesUpsert, InstanceID: 7, Body: []byte("still here")})
	if got := read(t, good); got != "still here" {
		t.Error(got)
	}
	w.waitForClients(t, 1)
}

// TestPingFloodIsLimited: a client that reads all its answers
// would keep the program busy for nothing.
func TestPingFloodIsLimited(t *testing.T) {
	for _, opcode := range []byte{ping, pong} {
		w := newWorld(t, Config{})
		bad := w.raw(t)
		go func() {
			for flood := strings.Repeat(frame(opcode, ""), 1000); ; {
				if _, err := io.WriteString(bad, flood); err != nil {
					return // closed
				}
			}
		}()
		answered, code := 0, 0
		for code == 0 {
			got, payload := bad.next()
			if got == 0 {
				break // the end of the connection
			}
			if got == 10 {
				answered++
			}
			if got == 8 {
				code = int(binary.BigEndian.Uint16([]byte(payload)))
			}
		}
		if code != 1008 || answered > 5000 {
			t.Errorf("opcode %x: closed with %d after %d answers", opcode, code, answered)
		}
		_ = bad.Close()
		w.waitForClients(t, 0)
	}
}

// TestReasonablePingRateIsAllowed: each half second for an hour.
func TestReasonablePingRateIsAllowed(t *testing.T) {
	m := meter{}
	now := time.Now()
	for range 7200 {
		now = now.Add(500 * time.Millisecond)
		if m.over(len(frame(ping, strings.Repeat("x", 125))), now) {
			t.Fatal("it counts as a flood")
		}
	}
	if m.over(controlBurst-1000, now) || !m.over(controlBurst, now) {
		t.Error("a burst is taken for a flood, or a flood for a burst")
	}
}

// Whatever a client sends, the hub gets rid of it.
func FuzzWhatAClientSends(f *testing.F) {
	for _, h := range hostile() {
		f.Add([]byte(h.bytes))
	}
	w := newWorld(f, Config{})
	f.Fuzz(func(t *testing.T, sent []byte) {
		c := w.raw(t)
		_, _ = c.Write(sent)
		_ = c.Close()
		w.waitForClients(t, 0)
	})
}
