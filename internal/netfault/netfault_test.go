package netfault_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"postern/internal/netfault"
)

// silent is a resolver without an answer, at an address that no error may
// show.
func resolver(t *testing.T, answer func(query []byte) []byte) (*net.Resolver, string) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		b := make([]byte, 512)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			if reply := answer(b[:n]); reply != nil {
				_, _ = c.WriteTo(reply, from)
			}
		}
	}()
	at := c.LocalAddr().String()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", at)
	}}, at
}

// code answers a DNS query with a code and no record.
func code(n byte) func([]byte) []byte {
	return func(q []byte) []byte {
		reply := append([]byte{}, q...)
		reply[2], reply[3] = 0x81, 0x80|n
		return reply
	}
}

// port returns a listener that does something with each connection.
func port(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			do(c)
		}
	}()
	return l.Addr().String()
}

func TestFailuresAreNamedWithoutAddresses(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = nil
	secure.StartTLS()
	defer secure.Close()
	trusting := secure.Client().Transport.(*http.Transport).TLSClientConfig
	refused := port(t, func(net.Conn) {})
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := free.Addr().String()
	_ = free.Close()
	missing, missingAt := resolver(t, code(3))
	failing, failingAt := resolver(t, code(2))
	mute := port(t, func(c net.Conn) { t.Cleanup(func() { _ = c.Close() }) })
	for want, c := range map[string]struct {
		url      string
		resolver *net.Resolver
		tls      *tls.Config
		control  func(string, string, syscall.RawConn) error
		hide     []string
	}{
		"the connection was refused":                                {url: "http://" + closed},
		"its host was not found":                                    {url: "http://internal.example./", resolver: missing, hide: []string{missingAt}},
		"its host could not be looked up":                           {url: "http://intern.example./", resolver: failing, hide: []string{failingAt, "misbehaving"}},
		"no answer in time":                                         {url: "http://" + mute},
		"TLS: its certificate is not signed by a trusted authority": {url: secure.URL},
		"TLS: its certificate is for another name":                  {url: "https://localhost:" + portOf(secure.URL), tls: trusting, hide: []string{"example.com"}},
		"TLS: it does not speak TLS there":                          {url: "https://" + strings.TrimPrefix(plain.URL, "http://")},
		"what answers there is not HTTP": {url: "http://" + port(t, func(c net.Conn) {
			_, _ = bufio.NewReader(c).ReadString('\n')
			_, _ = fmt.Fprint(c, "SSH-2.0-OpenSSH_9.2p1 secret-banner\r\n")
			_ = c.Close()
		}), hide: []string{"SSH", "banner"}},
		"the connection was closed before an answer": {url: "http://" + port(t, func(c net.Conn) {
			_, _ = bufio.NewReader(c).ReadString('\n')
			_ = c.(*net.TCPConn).CloseWrite()
		})},
		"the connection was reset": {url: "http://" + port(t, func(c net.Conn) {
			_, _ = bufio.NewReader(c).ReadString('\n')
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		})},
		"its address is not allowed": {url: "http://" + refused, control: func(_, address string, _ syscall.RawConn) error {
			return fmt.Errorf("%w: %s is private", netfault.ErrAddress, address)
		}, hide: []string{refused}},
	} {
		dialer := &net.Dialer{Resolver: c.resolver, Control: c.control}
		client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: c.tls, ResponseHeaderTimeout: 100 * time.Millisecond, DisableKeepAlives: true}}
		resp, err := client.Get(c.url)
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s: no error", want)
			continue
		}
		got := netfault.Plain(err)
		if got.Error() != want {
			t.Errorf("%q for %v, want %q", got, err, want)
		}
		if !errors.Is(got, errors.Unwrap(got)) || netfault.Plain(fmt.Errorf("again: %w", got)).Error() != "again: "+want {
			t.Errorf("%q does not wrap, or is put into words twice", got)
		}
		for _, hidden := range append(c.hide, "127.0.0.1", "://") {
			if strings.Contains(got.Error(), hidden) {
				t.Errorf("%q shows %s", got, hidden)
			}
		}
		if cause := netfault.Cause(got); cause == "" || cause == want || strings.Contains(cause, "http://") {
			t.Errorf("the log would tell %q", cause)
		}
		client.CloseIdleConnections()
	}
}

// TestInvalidAnswersAreNotQuoted: neither its header nor what its body is
// framed by, however far it was read.
func TestInvalidAnswersAreNotQuoted(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, answer := range []string{
		ok + "Content-Length: 1234\r\nContent-Length: 5678\r\n\r\n",
		ok + "Content-Length: 5678x\r\n\r\n",
		ok + "Content-Length:\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n5678x\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n56785678567856785678\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n1\na\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na5678",
		ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;5678\r\na\r\n", 1) + "0;" + strings.Repeat("5678", 2000) + "\r\n",
		ok + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n0\r\n\r\n",
		ok + "Transfer-Encoding: 5678\r\n\r\n",
		ok + "Bad5678 x\r\n\r\n",
		"HTTP/1.1 5678 OK\r\n\r\n",
		"HTTP/5678 200 OK\r\n\r\n",
	} {
		at := port(t, func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = fmt.Fprint(c, answer)
			_ = c.(*net.TCPConn).CloseWrite()
		})
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get("http://" + at)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if got := netfault.Plain(err); got == nil || got.Error() != "what answers there is not HTTP" {
			t.Errorf("%.60q: %q for %v", answer, got, err)
		}
	}
}

func portOf(url string) string { return url[strings.LastIndexByte(url, ':')+1:] }

func TestFileErrorsShowNoPath(t *testing.T) {
	_, err := os.Open("/nowhere/at/all")
	if got := netfault.Plain(err); got.Error() != "a file of this program could not be used" || !errors.Is(got, fs.ErrNotExist) {
		t.Error(got)
	}
}

func TestOtherErrorsStayAsTheyAre(t *testing.T) {
	if netfault.Plain(nil) != nil {
		t.Error("nil became an error")
	}
	for _, err := range []error{errors.New("the message is too long"), errors.New("at 12:30:00 it was late"), errors.New("no LID found for 4915155500001@s.whatsapp.net to look up"), context.Canceled, fmt.Errorf("item 5: %w", errors.New("no"))} {
		if got := netfault.Plain(err); !errors.Is(got, err) || got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, text := range []string{
		"failed: dial tcp 10.0.0.7:443: connect: no route", "Post \"https://mmg.whatsapp.net/mms/image/x?auth=secret\": odd",
		"asked 10.0.0.53:53 in vain", "peer fd00::1 is odd", "lookup internal.example on resolver: no", "no route to [fd00::1]:443:",
	} {
		if got := netfault.Plain(errors.New(text)); got.Error() != "the connection failed" || netfault.Cause(got) != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
