package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/batch"
	"postern/httpapi/batches"
	"postern/httpapi/rest"
	"postern/httpapi/strict"
)

// upload gives script a connection to a rig's server in a bubble, on which the header of a creation of size bytes was sent.
// Afterwards there must be no batch.
func upload(t *testing.T, size int, script func(t *testing.T, r *rig, c net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.instance("a")
		srv := NewServer(r.h, slog.New(slog.DiscardHandler))
		l := pipes{make(chan net.Conn), make(chan struct{})}
		done := make(chan error)
		go func() { done <- srv.Serve(l) }()
		client, server := net.Pipe()
		l.conns <- server
		fmt.Fprintf(client, "POST /message/batches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", r.token, size)
		script(t, r, client)
		client.Close()
		if err := srv.Shutdown(context.Background()); err != nil { // waits for the handler
			t.Error(err)
		}
		<-done
		if l, err := r.engine.Batches(r.user, batch.Filter{}, batch.Page{}); err != nil || l.TotalRecords != 0 {
			t.Errorf("%d batches of half a body, %v", l.TotalRecords, err)
		}
	})
}

func TestClientLeavingMidBatchLeavesNothing(t *testing.T) {
	body := batchBody("recipients", `["4915112345678"`+strings.Repeat(`,"4915112345679"`, 50_000)+`]`)
	upload(t, len(body), func(_ *testing.T, _ *rig, c net.Conn) {
		_, _ = io.WriteString(c, body[:len(body)-1])
	})
}

func TestSlowRecipientsAreCutOffWithTheBody(t *testing.T) {
	upload(t, 1<<20, func(t *testing.T, _ *rig, c net.Conn) {
		_, _ = io.WriteString(c, `{"recipients":["4915112345678"`)
		dripped := make(chan struct{})
		go func() {
			defer close(dripped)
			for {
				time.Sleep(time.Second) // costs nothing in a bubble
				if _, err := io.WriteString(c, `,"4915112345678"`); err != nil {
					return
				}
			}
		}()
		answer, after := cut(t, c)
		c.Close()
		<-dripped
		if !strings.HasPrefix(answer, "HTTP/1.1 408 ") || after > rest.BodyTimeout+10*time.Second {
			t.Errorf("after %v: %q", after, answer)
		}
	})
}

func TestBodyTooLargeIs413AndTooManyRecipients422(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	many := `["4915112345678"` + strings.Repeat(`,"4915112345678"`, defaultMaxRecipients) + `]`
	wantError(t, r.do("POST", "/message/batches", batchBody("recipients", many)), 422, "TOO_MANY_RECIPIENTS")
	huge := `["` + strings.Repeat(" ", batches.BatchBodyBase+batches.BatchBodyRecipient*defaultMaxRecipients) + `"]`
	wantError(t, r.do("POST", "/message/batches", batchBody("recipients", huge)), 413, "BODY_TOO_LARGE")
}

// TestDiscardedEntriesAreValidatedToo keeps two entries of four.
func TestDiscardedEntriesAreValidatedToo(t *testing.T) {
	var in batches.BatchRequest
	body := batchBody("recipients", `["1","2","3","4"]`)
	if err := strict.Decode(strings.NewReader(body), &in, strict.Options{MaxEntries: 2}); err != nil || in.Recipients.Len() != 2 || in.Recipients.At(0)+in.Recipients.At(1) != "12" {
		t.Errorf("%d are kept, %v", in.Recipients.Len(), err)
	}
	err := strict.Decode(strings.NewReader(strings.Replace(body, `"4"`, "4", 1)), &in, strict.Options{MaxEntries: 2})
	if err == nil || !strings.Contains(err.Error(), "recipients[3]") {
		t.Errorf("a number among those dropped: %v", err)
	}
}

func TestMoreInstancesThanAnyBatchHasAre422(t *testing.T) {
	r := newRig(t)
	r.instance("a")
	names := `["a"` + strings.Repeat(`,"a"`, batches.MaxInstances) + `]`
	wantError(t, r.do("POST", "/message/batches", batchBody("instances", names)), 422, "INVALID_INSTANCES")
}
