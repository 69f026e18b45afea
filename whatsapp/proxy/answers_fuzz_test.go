package proxy

import (
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// FuzzWhatAProxyAnswers lets a proxy answer anything: the dial ends in a tunnel or in a
// failed step.
func FuzzWhatAProxyAnswers(f *testing.F) {
	for _, scheme := range []string{"http", "socks5"} {
		for _, answer := range []string{
			"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n\r\n", "HTTP/1.0 200\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello",
			"\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", "\x05\x02\x01\x00\x05\x00\x00\x03\x00\x00\x00", "\x05\x02\x01\x01", "\x05\xff", "\x05\x00\x05\x04\x00\x04",
		} {
			f.Add(scheme == "http", answer)
		}
	}
	plain, err := Parse("http://u:p@h")
	if err != nil {
		f.Fatal(err)
	}
	socks, err := Parse("socks5://u:p@h")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, isHTTP bool, answer string) {
		near, far := net.Pipe()
		defer func() { _ = near.Close() }()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		go func() {
			_, _ = io.WriteString(far, answer)
			_ = far.Close()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		via, through := plain, connectHTTP
		if !isHTTP {
			via, through = socks, connectSOCKS
		}
		conn, err := through(ctx, near, via, "web.whatsapp.com:443")
		if (conn == nil) != (err != nil) {
			t.Fatalf("a connection %v and an error %v", conn, err)
		}
		if err != nil {
			if _, ok := err.(*Error); !ok { //nolint:errorlint // what Dial returns
				t.Errorf("no step: %v", err)
			}
		}
		if ctx.Err() != nil {
			t.Error("it waited for more")
		}
	})
}
