package dispatch

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"postern/event"
)

// TestNothingLeavesOnceTheLeaseIsLost, although it was valid when the connection was dialled.
func TestNothingLeavesOnceTheLeaseIsLost(t *testing.T) {
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		for kind, kept := range map[string]bool{"new connection": false, "kept connection": true} {
			t.Run(name+", "+kind, func(t *testing.T) {
				var got, dials atomic.Int64
				srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
				if secure {
					srv.StartTLS()
				} else {
					srv.Start()
				}
				defer srv.Close()
				left := 1 // checks that succeed
				if kept {
					left = 3 // two of the first request
				}
				s := NewSender(SenderConfig{Valid: func() bool {
					left--
					return left >= 0
				}})
				defer s.Close()
				wire := s.wire.(*http.Transport)
				if secure {
					wire.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig
				}
				dial := wire.DialContext
				wire.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					dials.Add(1)
					return dial(ctx, network, address)
				}
				want := int64(0)
				if kept {
					want = 1
					if o := s.Post(t.Context(), srv.URL, batchHeaders(event.BatchCreated), []byte("{}")); !o.Delivered() {
						t.Fatalf("%+v", o)
					}
				}
				o := s.Post(t.Context(), srv.URL, batchHeaders(event.BatchCreated), []byte("{}"))
				if !errors.Is(o.Err, errNotOwner) || got.Load() != want || dials.Load() != 1 {
					t.Errorf("%+v; the receiver got %d requests over %d connections", o, got.Load(), dials.Load())
				}
			})
		}
	}
}

// TestASenderAloneWrapsNoConnection: the check costs nothing without a cluster.
func TestASenderAloneWrapsNoConnection(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	conn, err := NewSender(SenderConfig{}).wire.(*http.Transport).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, plain := conn.(*net.TCPConn); !plain {
		t.Errorf("the connection is a %T", conn)
	}
}
