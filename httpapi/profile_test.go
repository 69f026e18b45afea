package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// unpacked returns the protocol buffer of a profile.
func unpacked(t *testing.T, res *http.Response) []byte {
	t.Helper()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/octet-stream" {
		t.Fatalf("%s, %s", res.Status, res.Header.Get("Content-Type"))
	}
	packed, err := gzip.NewReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestProfilesNameUnitsAndFunctions(t *testing.T) {
	r := newRig(t)
	for path, words := range map[string][]string{
		"/admin/profile/heap":          {"inuse_space", "alloc_objects", "bytes"},
		"/admin/profile/goroutine":     {"goroutine", "postern/store.(*Store).write", "postern/httpapi/rest.(*Server).ServeHTTP"},
		"/admin/profile/cpu?seconds=1": {"samples", "cpu", "nanoseconds"},
	} {
		raw := unpacked(t, r.admin("GET", path, ""))
		for _, word := range words {
			if !bytes.Contains(raw, []byte(word)) {
				t.Errorf("%s does not tell %s", path, word)
			}
		}
	}
}

func TestAProfileRefusesWhatItDoesNotKnow(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{
		"cpu?seconds=0", "cpu?seconds=121", "cpu?seconds=-1", "cpu?seconds=1.5", "cpu?seconds=", "cpu?seconds=1&seconds=1", "cpu?second=1", "heap?seconds=1", "goroutine?debug=2", "heap?debug=", "cpu?debug=1",
	} {
		wantError(t, r.admin("GET", "/admin/profile/"+path, ""), 400, "INVALID_QUERY")
	}
	wantError(t, r.admin("GET", "/admin/profile/block", ""), 404, "NOT_FOUND")
	wantError(t, do(r.h, httptest.NewRequest("GET", "/admin/profile/heap", nil)), 401, "UNAUTHORIZED")
	wantError(t, r.do("GET", "/admin/profile/heap", ""), 401, "UNAUTHORIZED") // a user's token
}

// TestOneProfileIsMadeAtATime requests others, of each kind, during one of two minutes, which ends at
// once when it is no longer needed.
func TestOneProfileIsMadeAtATime(t *testing.T) {
	for name, want := range map[string]int{"the program stops": http.StatusOK, "the client goes away": http.StatusInternalServerError} {
		t.Run(name, func(t *testing.T) {
			stopping := make(chan struct{})
			h := newAPI(Config{})
			a := bare(io.Discard, h.routes()...)
			a.Stopping = stopping
			ask := func(ctx context.Context, path string) *http.Response {
				req := httptest.NewRequest("GET", path, nil).WithContext(ctx)
				req.Header.Set("apikey", testKey)
				return do(a, req)
			}
			begun := time.Now()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			long := make(chan *http.Response)
			go func() { long <- ask(ctx, "/admin/profile/cpu?seconds=120") }()
			for h.operator.Profiling.TryLock() {
				h.operator.Profiling.Unlock()
				time.Sleep(time.Millisecond) // until it has begun
			}
			for _, other := range []string{"heap", "goroutine", "cpu"} {
				wantError(t, ask(t.Context(), "/admin/profile/"+other), 409, "PROFILE_RUNNING")
			}
			if name == "the program stops" {
				close(stopping)
			} else {
				leave()
			}
			if got := (<-long).StatusCode; got != want || time.Since(begun) > time.Minute {
				t.Errorf("%d after %v", got, time.Since(begun))
			}
			if got := ask(t.Context(), "/admin/profile/heap").StatusCode; got != http.StatusOK {
				t.Errorf("afterwards: %d", got)
			}
		})
	}
}
