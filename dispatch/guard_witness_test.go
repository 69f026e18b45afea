package dispatch

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"postern/event"
)

// names is a DNS server. It answers each question for a name with the next of its
// addresses, and then repeats the last one. Unknown names do not exist.
type names struct {
	mu      sync.Mutex
	answers map[string][]netip.Addr
	asked   map[string]int
}

func newNames() *names {
	return &names{answers: map[string][]netip.Addr{}, asked: map[string]int{}}
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serve(server) // ends with the question, or when the resolver hangs up
		return client, nil
	}}
}

// serve answers one question, framed as over TCP.
func (n *names) serve(conn net.Conn) {
	defer conn.Close()
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return
	}
	question := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, question); err != nil {
		return
	}
	answer := n.answer(question)
	_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
}

// answer builds the message: the header, the question again, one record or none.
func (n *names) answer(question []byte) []byte {
	var labels []string
	at := 12
	for question[at] != 0 {
		size := int(question[at])
		labels = append(labels, string(question[at+1:at+1+size]))
		at += 1 + size
	}
	kind := binary.BigEndian.Uint16(question[at+1:])
	end := at + 5
	a, known := n.next(strings.ToLower(strings.Join(labels, ".")), kind)
	out := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question[12:end]...)
	switch {
	case !known:
		out[3] |= 3 // no such name
	case a.IsValid():
		out[7] = 1
		out = append(out, 0xc0, 12, byte(kind>>8), byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(a.BitLen()/8))
		out = append(out, a.AsSlice()...)
	}
	return out
}

// next returns the address of a name of the requested kind, A or AAAA, if it has one.
func (n *names) next(name string, kind uint16) (a netip.Addr, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all, known := n.answers[name]
	if !known {
		return netip.Addr{}, false
	}
	a = all[min(n.asked[name], len(all)-1)]
	if a.Is4() != (kind == 1) {
		return netip.Addr{}, true
	}
	n.asked[name]++
	return a, true
}

// witness listens on both loopback addresses and counts connections.
type witness struct {
	port  string
	calls atomic.Int32
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	w := &witness{}
	accept := func(l net.Listener) {
		t.Cleanup(func() { l.Close() })
		srv := &httptest.Server{Listener: l, Config: &http.Server{
			Handler:   http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
			ConnState: func(_ net.Conn, s http.ConnState) { w.count(s) },
		}}
		srv.Start()
		t.Cleanup(srv.Close)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, w.port, _ = net.SplitHostPort(l.Addr().String())
	accept(l)
	if l6, err := net.Listen("tcp6", "[::1]:"+w.port); err == nil { // a machine may lack IPv6
		accept(l6)
	}
	return w
}

func (w *witness) count(s http.ConnState) {
	if s == http.StateNew {
		w.calls.Add(1)
	}
}

func hostOf(s string) string {
	if strings.Contains(s, ":") {
		return "[" + strings.ReplaceAll(s, "%", "%25") + "]"
	}
	return s
}

func postTo(t *testing.T, s *Sender, target string) Outcome {
	t.Helper()
	return s.Post(t.Context(), target, batchHeaders(event.BatchCreated), nil)
}

// neverLookedUp reports whether a name without a letter was not looked up: Go's resolver
// sends no query for it, where C's reads an address.
func neverLookedUp(host string, err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound && strings.Trim(host, "0123456789.") == ""
}

// fullwidth writes a dotted address as an input method for Chinese would;
// the transport turns it back before it dials.
func fullwidth(v4 string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' {
			return '。'
		}
		return r - '0' + '０'
	}, v4)
}

// TestNoSpellingReachesTheWitness sends to each spelling as a host, with a
// resolver that reads the old forms of IPv4 as C libraries do, and to a name
// that resolves to it.
func TestNoSpellingReachesTheWitness(t *testing.T) {
	w, dns := newWitness(t), newNames()
	s := NewSender(SenderConfig{Guard: Guard{DenyPrivate: true}, Resolver: dns.resolver()})
	defer s.Close()
	tried := 0
	try := func(host string) {
		tried++
		o := postTo(t, s, "http://"+host+":"+w.port+"/")
		if !errors.Is(o.Err, ErrAddress) && !neverLookedUp(host, o.Err) {
			t.Errorf("%s: %+v, not refused by the guard", host, o)
		}
	}
	for _, v4 := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "198.18.0.1", "192.0.2.1", "198.51.100.1",
		"203.0.113.1", "192.88.99.1", "240.0.0.1", "255.255.255.255", "224.0.0.1", "169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16",
	} {
		for _, spelling := range spellings(v4) {
			if a, ok := literal(spelling); ok {
				dns.answers[strings.ToLower(strings.TrimSuffix(spelling, "."))] = []netip.Addr{a}
			}
			try(hostOf(spelling))
		}
		try(fullwidth(v4))
		try("user:password@" + v4)
		try("example.org%40@" + v4)
		try(hostOf(strings.ToUpper("::ffff:" + v4)))
		dns.answers["name-of-"+v4+".test"] = []netip.Addr{netip.MustParseAddr(v4)}
		try("name-of-" + v4 + ".test")
		try("Name-Of-" + v4 + ".TEST.")
	}
	for _, v6 := range []string{
		"::1", "0000:0000:0000:0000:0000:0000:0000:0001", "::", "fc00::1", "FDFF::1", "fe80::1", "fe80::1%lo", "FEBF::1", "ff02::1", "fec0::1", "fd00:ec2::254",
		"FD00:0EC2:0:0:0:0:0:0254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "2001:db8::1", "3fff::1", "100::1", "2001:2::1", "5f00::1", "64:ff9b:1::808:808",
	} {
		try(hostOf(v6))
		if !strings.Contains(v6, "%") {
			dns.answers["six.test"] = []netip.Addr{netip.MustParseAddr(v6)}
			try("six.test")
		}
	}
	if tried < 300 {
		t.Errorf("only %d spellings", tried)
	}
	if n := w.calls.Load(); n != 0 {
		t.Errorf("%d connections reached the witness", n)
	}
	t.Logf("%d spellings", tried)
}

func TestDNSAnswerIsJudgedWhenDialled(t *testing.T) {
	w, dns := newWitness(t), newNames()
	guard := Guard{DenyPrivate: true}
	s := NewSender(SenderConfig{Guard: guard, Resolver: dns.resolver()})
	defer s.Close()
	dns.answers["rebind.test"] = []netip.Addr{netip.MustParseAddr("203.0.114.1"), netip.MustParseAddr("127.0.0.1")}
	target := "http://rebind.test:" + w.port + "/"
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	first, err := dns.resolver().LookupNetIP(t.Context(), "ip4", "rebind.test")
	if err != nil || guard.CheckURL(u) != nil || guard.Check(first[0]) != nil {
		t.Fatalf("the first look should be harmless: %v %v", first, err)
	}
	if o := postTo(t, s, target); !errors.Is(o.Err, ErrAddress) || w.calls.Load() != 0 {
		t.Errorf("%+v, %d connections", o, w.calls.Load())
	}
}

func TestAllowedLoopbackIsReachedByEveryName(t *testing.T) {
	w, dns := newWitness(t), newNames()
	dns.answers["hook.test"] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	dns.answers["cloud.test"] = []netip.Addr{netip.MustParseAddr("169.254.169.254")}
	s := NewSender(SenderConfig{Resolver: dns.resolver()})
	defer s.Close()
	for _, host := range []string{"127.0.0.1", "hook.test", fullwidth("127.0.0.1"), "[::ffff:127.0.0.1]"} {
		if o := postTo(t, s, "http://"+host+":"+w.port+"/"); !o.Delivered() {
			t.Errorf("%s: %s", host, o.Reason())
		}
	}
	if w.calls.Load() == 0 {
		t.Error("the witness sees nothing")
	}
	if o := postTo(t, s, "http://cloud.test:"+w.port+"/"); !errors.Is(o.Err, ErrAddress) {
		t.Errorf("metadata by name: %+v", o)
	}
}

func TestRedirectToForbiddenAddressIsNotFollowed(t *testing.T) {
	w := newWitness(t)
	s := NewSender(SenderConfig{})
	defer s.Close()
	for _, code := range []string{"301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"} {
		from, _ := rawReceiver(t, "HTTP/1.1 "+code+"\r\nLocation: http://127.0.0.1:"+w.port+"/\r\nContent-Length: 0\r\n\r\n")
		if o := postTo(t, s, from); o.Delivered() || o.Status/100 != 3 {
			t.Errorf("%s: %+v", code, o)
		}
	}
	if n := w.calls.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestForbiddenLiteralIsRefusedBeforeStorage(t *testing.T) {
	for _, host := range []string{
		"169.254.169.254", "0xA9FEA9FE", "0XA9.0xfe.0xA9FE", "2852039166", "0251.0376.0251.0376", "000000251.0000376.00251.0376", "169.254.169.254.",
		fullwidth("169.254.169.254"), "①⑥⑨.254.169.254", "169。254．169｡254", "%EF%BC%91%EF%BC%96%EF%BC%99.254.169.254", "user:pw@169.254.169.254",
		"[::ffff:169.254.169.254]", "[::FFFF:A9FE:A9FE]", "[64:ff9b::a9fe:a9fe]", "[fe80::1%25eth0]", "[fd00:ec2::254]", "[0000:0000:0000:0000:0000:ffff:a9fe:a9fe]",
	} {
		u, err := url.Parse("http://" + host + "/")
		if err != nil {
			t.Errorf("%s: %v", host, err)
		} else if !errors.Is((Guard{}).CheckURL(u), ErrAddress) {
			t.Errorf("%s is allowed", host)
		}
	}
	for _, host := range []string{"%31%36%39.254.169.254", "169.254.169.254%00.example", "[169.254.169.254", "[::1]x"} {
		if _, err := url.Parse("http://" + host + "/"); err == nil {
			t.Errorf("%s is a URL", host)
		}
	}
}
