package httpapi

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/httpapi/rest"
	"postern/httpapi/sockets"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// talker is an HTTP/2 connection to the program's server, frame by frame.
type talker struct {
	net.Conn
	*http2.Framer
	frames chan http2.Frame // what the server sent; closed at the end
}

// talking is connected for an HTTP/2 client. It calls begin in the bubble.
func talking(t *testing.T, settings []http2.Setting, begin func() (h http.Handler, script func(k *talker))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h, script := begin()
		srv := NewServer(h, slog.New(slog.DiscardHandler))
		srv.Protocols = &http.Protocols{}
		srv.Protocols.SetUnencryptedHTTP2(true)
		l := pipes{make(chan net.Conn), make(chan struct{})}
		done := make(chan error)
		go func() { done <- srv.Serve(l) }()
		client, server := net.Pipe()
		l.conns <- server
		k := &talker{client, http2.NewFramer(client, client), make(chan http2.Frame)}
		go k.hear()
		_, err := io.WriteString(client, http2.ClientPreface)
		if err = errors.Join(err, k.WriteSettings(settings...)); err != nil {
			t.Fatal(err)
		}
		script(k)
		_ = client.Close()
		for range k.frames { // let go of the reader
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// hear reads everything that arrives: a pipe has no buffer, and a peer that does not read blocks the server.
func (k *talker) hear() {
	defer close(k.frames)
	for {
		f, err := k.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			k.frames <- headersFrame{f, bytes.Clone(f.HeaderBlockFragment())}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame, *http2.DataFrame:
			k.frames <- f
		}
	}
}

// headersFrame outlives the next read.
type headersFrame struct {
	http2.Frame
	block []byte
}

// post begins a request whose body follows.
func (k *talker) post(t *testing.T, path string) {
	t.Helper()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", path}, {"content-length", "10"}, {"apikey", testKey}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	if err := k.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
		t.Error(err)
	}
}

// status returns the status in the next header frame.
func statusOfFrame(t *testing.T, f http2.Frame) (status string) {
	t.Helper()
	h, ok := f.(headersFrame)
	if !ok {
		t.Fatalf("it is %v", f)
	}
	d := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == ":status" {
			status = f.Value
		}
	})
	_, _ = d.Write(h.block)
	return status
}

// TestStalledHTTP2BodyIs408After60Seconds and the connection continues.
func TestStalledHTTP2BodyIs408After60Seconds(t *testing.T) {
	h := bare(io.Discard, rest.Route{Method: "POST", Path: "/x", Auth: rest.GlobalKey, Right: rest.Never, Handle: func(c *rest.Call) error { return c.NoBody() }})
	talking(t, nil, func() (http.Handler, func(*talker)) {
		return h, func(k *talker) {
			begin := time.Now()
			k.post(t, "/x")
			_ = k.WriteData(1, false, []byte("{"))
			if got := statusOfFrame(t, <-k.frames); got != "408" {
				t.Errorf("status %s", got)
			}
			if after := time.Since(begin); after < rest.BodyTimeout || after > rest.BodyTimeout+10*time.Second {
				t.Errorf("after %v", after)
			}
		}
	})
}

// TestUnreadHTTP2AnswerIsCutOff: the client's window is closed, or opens by one byte a second.
func TestUnreadHTTP2AnswerIsCutOff(t *testing.T) {
	for _, c := range []struct {
		window uint32
		drips  bool
	}{{0, false}, {1, false}, {0, true}} {
		talking(t, []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: c.window}}, func() (http.Handler, func(*talker)) {
			wrote := make(chan error, 1)
			h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, err := (&rest.Response{ResponseWriter: w}).Write(bytes.Repeat([]byte("x"), 64<<10))
				wrote <- err
			})
			return h, func(k *talker) {
				begin := time.Now()
				k.post(t, "/x")
				go func() {
					for range k.frames { // they are taken
					}
				}()
				for ended := false; !ended; {
					select {
					case err := <-wrote:
						if err == nil || time.Since(begin) > rest.WriteTimeout+10*time.Second {
							t.Errorf("%+v: after %v: %v", c, time.Since(begin), err)
						}
						ended = true
					case <-time.After(time.Second):
						if c.drips {
							_ = k.WriteWindowUpdate(1, 1)
						}
					}
				}
			}
		})
	}
}

// TestHTTP2ClientThatReadsNothingEnds although its windows are open.
func TestHTTP2ClientThatReadsNothingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrote := make(chan error, 1)
		srv := NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, err := (&rest.Response{ResponseWriter: w}).Write(bytes.Repeat([]byte("x"), 1<<20))
			wrote <- err
		}), slog.New(slog.DiscardHandler))
		srv.Protocols = &http.Protocols{}
		srv.Protocols.SetUnencryptedHTTP2(true)
		l := pipes{make(chan net.Conn), make(chan struct{})}
		done := make(chan error)
		go func() { done <- srv.Serve(l) }()
		client, server := net.Pipe()
		l.conns <- server
		k := &talker{client, http2.NewFramer(client, client), make(chan http2.Frame)}
		_, _ = io.WriteString(client, http2.ClientPreface)
		_ = k.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
		k.post(t, "/x")
		begin := time.Now()
		if err := <-wrote; err == nil || time.Since(begin) > rest.WriteTimeout+10*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		_ = client.Close()
		_ = srv.Close()
		<-done
	})
}

// TestSilentHTTP2ClientIsDisconnected, also one whose headers never end.
func TestSilentHTTP2ClientIsDisconnected(t *testing.T) {
	for name, drip := range map[string]bool{"silent": false, "dripping": true} {
		talking(t, nil, func() (http.Handler, func(*talker)) {
			return bare(io.Discard), func(k *talker) {
				begin := time.Now()
				over := make(chan struct{})
				go func() {
					defer close(over)
					for range k.frames { // they are taken
					}
				}()
				if drip {
					_ = k.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
					for k.WriteContinuation(1, false, []byte{0x82}) == nil && time.Since(begin) < time.Hour {
						time.Sleep(time.Second)
					}
				}
				<-over
				if after := time.Since(begin); after > idleTimeout+10*time.Second {
					t.Errorf("%s: after %v", name, after)
				}
			}
		})
	}
}

// TestWebSocketNeedsHTTP1 and the answer has no header that HTTP/2
// forbids.
func TestWebSocketNeedsHTTP1(t *testing.T) {
	for _, version := range []int{1, 2} {
		h := bare(io.Discard, rest.Route{Method: "POST", Path: "/x", Auth: rest.Public, Right: rest.Never, Handle: func(c *rest.Call) error {
			c.Request.ProtoMajor = version
			return sockets.WantsUpgrade(c)
		}})
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/x", nil))
		if rec.Code != http.StatusUpgradeRequired || (rec.Header().Get("Upgrade") == "") != (version == 2) || !strings.Contains(rec.Body.String(), "UPGRADE_REQUIRED") {
			t.Errorf("HTTP/%d: %d %v %s", version, rec.Code, rec.Header(), rec.Body.String())
		}
	}
}
