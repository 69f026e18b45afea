package httpapi

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"postern/store"
)

// stalled is a client that takes nothing of a file until it is released. Errors it takes at once.
type stalled struct {
	*httptest.ResponseRecorder
	begun   chan<- struct{} // one for each file
	release <-chan struct{}
}

// Write implements http.ResponseWriter.
func (s *stalled) Write(b []byte) (int, error) {
	if s.Code == http.StatusOK {
		s.begun <- struct{}{}
		<-s.release
	}
	return s.ResponseRecorder.Write(b)
}

// TestConcurrentAnswersOfFilesAreBounded: 16 of one instance and 64 in all. A further one waits 5 s and is 429, one for
// which a place becomes free in that time is served. Answers without bytes need no place.
func TestConcurrentAnswersOfFilesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	t.Parallel() // it waits
	r, token, d := doing(t)
	tokens, paths, links := map[string]string{"a": token}, map[string]string{}, map[string]string{}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		if tokens[name] == "" {
			tokens[name] = r.instance(name)
		}
		id := r.keepFile(t, d, "P"+name, "imageMessage", aPNG, `{}`)
		if i > 0 { // keepFile knows the first instance only
			m, err := r.messages.Message(1, id)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.store.Update(t.Context(), func(tx *store.Tx) (err error) {
				id, err = r.messages.StoreMessage(tx, int64(i+1), &m)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		paths[name] = fmt.Sprintf("/instance/%s/messages/%d/media", name, id)
		if name == "a" {
			links[name], _ = r.mediaLink(t, token, id, ``)
		}
		if res := r.ask(tokens[name], "GET", paths[name]); res.StatusCode != 200 { // fetched once
			t.Fatalf("%s: %d %s", name, res.StatusCode, bodyOf(t, res))
		}
	}
	begun, release := make(chan struct{}), make(chan struct{})
	var clients, waiting sync.WaitGroup
	hold := func(name string, n int) {
		for range n {
			clients.Go(func() {
				w := &stalled{httptest.NewRecorder(), begun, release}
				req := httptest.NewRequest(http.MethodGet, paths[name], nil)
				req.Header.Set("Authorization", "Bearer "+tokens[name])
				r.h.ServeHTTP(w, req)
				if w.Code != 200 || w.Body.String() != aPNG {
					t.Errorf("of %s: %d %s", name, w.Code, w.Body)
				}
			})
		}
		for range n {
			<-begun
		}
	}
	refused := func(token, path string) {
		waiting.Go(func() {
			before := time.Now()
			res := r.ask(token, "GET", path)
			if took := time.Since(before); took < 5*time.Second || res.Header.Get("Retry-After") != "5" || res.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%.40s: after %v: %v", path, took, res.Header)
			}
			wantError(t, res, 429, "LIMIT_REACHED")
		})
	}
	hold("a", 16)
	refused(token, paths["a"])
	refused("", links["a"])
	for _, name := range []string{"b", "c"} {
		hold(name, 16)
	}
	hold("d", 15)
	if res := r.ask(tokens["e"], "GET", paths["e"]); res.StatusCode != 200 {
		t.Errorf("the last place: %d", res.StatusCode)
	}
	hold("d", 1)
	refused(tokens["e"], paths["e"])
	etag := fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256([]byte(aPNG))))
	if res := r.ask(token, "GET", paths["a"], "If-None-Match", etag); res.StatusCode != http.StatusNotModified {
		t.Errorf("not modified: %d", res.StatusCode)
	}
	waiting.Wait()
	waiting.Go(func() {
		if res := r.ask(tokens["e"], "GET", paths["e"]); res.StatusCode != 200 {
			t.Errorf("after others have ended: %d", res.StatusCode)
		}
	})
	close(release)
	waiting.Wait()
	clients.Wait()
}
