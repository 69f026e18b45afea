package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"postern/batch"
	"postern/batch/record"
	"postern/event"
	"postern/store"
)

// drafted stores a draft with n recipients.
func (r *rig) drafted(n int) batch.View {
	r.t.Helper()
	draft := false
	req := batch.CreateRequest{
		Name: "large", AutoStart: &draft, Instances: []record.InstanceRef{{ID: 1, Name: "a"}},
		Message: event.BatchMessage{Type: "text", Payload: json.RawMessage(`{"text":"hi"}`)},
	}
	for i := range n {
		req.Recipients = append(req.Recipients, fmt.Sprintf("49151%08d", i))
	}
	v, err := r.engine.Create(context.Background(), r.user, req)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func TestProcessingIsTheBatchWithEveryRecipient(t *testing.T) {
	r := newRig(t)
	for _, n := range []int{1, 1200} {
		path := "/message/batches/" + r.drafted(n).ID.String()
		whole := decoded[map[string]json.RawMessage](t, r.do("GET", path+"/processing", ""))
		alone := decoded[map[string]json.RawMessage](t, r.do("GET", path, ""))
		for field, want := range alone {
			if string(whole[field]) != string(want) {
				t.Errorf("%s is %s, want %s", field, whole[field], want)
			}
		}
		var items []batch.ItemWithAttempts
		if err := json.Unmarshal(whole["recipients"], &items); err != nil || len(items) != n || len(whole) != len(alone)+2 {
			t.Fatalf("%d recipients of %d, %d fields, %v", len(items), n, len(whole), err)
		}
		for i, item := range items {
			if item.Position != i || item.Attempts == nil || item.RecipientInput != fmt.Sprintf("49151%08d", i) {
				t.Fatalf("recipient %d is %+v", i, item)
			}
		}
	}
}

func TestProcessingOfAnothersOrNoBatchIs404(t *testing.T) {
	r := newRig(t)
	path := "/message/batches/" + r.create("one").ID.String() + "/processing"
	_, other := r.newUser()
	wantError(t, r.as(other, "GET", path, ""), 404, "BATCH_NOT_FOUND")
	wantError(t, r.do("GET", "/message/batches/x/processing", ""), 404, "BATCH_NOT_FOUND")
}

// closingWriter closes the file once a part of the answer was written.
type closingWriter struct {
	http.ResponseWriter
	s *store.Store
}

// Write implements io.Writer.
func (w closingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	return n, errors.Join(err, w.s.Close())
}

func TestAbortedAnswerIsNotEndedOrderly(t *testing.T) {
	r := newRig(t)
	path := "/message/batches/" + r.drafted(1200).ID.String() + "/processing"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.h.ServeHTTP(closingWriter{w, r.store}, req)
	}))
	defer srv.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if raw, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d bytes and then %v", len(raw), err)
	}
}

func TestClientThatStopsReadingIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		v := r.drafted(1200)
		srv := NewServer(r.h, slog.New(slog.DiscardHandler))
		l := pipes{make(chan net.Conn), make(chan struct{})}
		done := make(chan error)
		go func() { done <- srv.Serve(l) }()
		client, server := net.Pipe()
		l.conns <- server
		fmt.Fprintf(client, "GET /message/batches/%s/processing HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", v.ID, r.token)
		if _, err := io.ReadFull(client, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		stuck := make(chan struct{})
		go func() { _ = srv.Shutdown(context.Background()); close(stuck) }() // waits for the answer
		<-stuck
		client.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}
