package s3

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// TestFilesAreKeptInS3: a file is one whole object, and served from it, until it is deleted.
// What is not of the program stays.
func TestFilesAreKeptInS3(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	others := []string{"elsewhere/1/2", "postern/1/2/3", "postern/1/x", "postern/notes.txt"}
	for _, key := range others {
		s.s3.post("/-/put?age=2h&key="+key, "not Postern's")
	}
	content := bytes.Repeat([]byte("kept "), 50_000)
	s.receive(t, "KEPT1", content)
	r := s.await("KEPT1", "STORED", "")
	kept, _ := s.s3.objects()
	if o := kept[keyOf(r.MessageID)]; o.SHA256 != hashOf(content) || r.Size != int64(len(content)) {
		t.Fatalf("%+v, record %+v", o, r)
	}
	path := fmt.Sprintf("/instance/shop/messages/%d/media", r.MessageID)
	t.Run("served whole", func(t *testing.T) {
		if a := s.get(t, r.MessageID); a.Status != http.StatusOK || !bytes.Equal(a.Body, content) {
			t.Errorf("%d, %d bytes", a.Status, len(a.Body))
		}
	})
	t.Run("a range is asked as a range", func(t *testing.T) {
		for _, c := range []struct{ asked, passed string }{{"bytes=5-9", "bytes=5-9"}, {"bytes=100000-", "bytes=100000-249999"}, {"bytes=-7", "bytes=249993-249999"}} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.API.Base+path, nil)
			req.Header.Set("Authorization", "Bearer "+s.Token)
			req.Header.Set("Range", c.asked)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			_, err = got.ReadFrom(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusPartialContent || !bytes.Contains(content, got.Bytes()) || got.Len() == 0 {
				t.Errorf("%s: %d, %d bytes, %v", c.asked, resp.StatusCode, got.Len(), err)
			}
			if !s.s3.seen("GET /files/" + keyOf(r.MessageID) + " " + c.passed) {
				t.Errorf("%s: no request of %s", c.asked, c.passed)
			}
		}
	})
	t.Run("a cut answer is not taken for whole", func(t *testing.T) {
		s.s3.set(func(s *server) { s.short = true })
		defer s.s3.set(func(s *server) { s.short = false })
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.API.Base+path, nil)
		req.Header.Set("Authorization", "Bearer "+s.Token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err == nil || n == 0 || n >= int64(len(content)) {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	t.Run("another length counts as lost", func(t *testing.T) {
		s.s3.post("/-/put?key="+keyOf(r.MessageID), "short")
		if a := s.get(t, r.MessageID); a.Status != http.StatusOK || !bytes.Equal(a.Body, content) {
			t.Errorf("%d, %d bytes", a.Status, len(a.Body))
		}
		if n := s.Metric("postern_media_lost_total"); n != 1 {
			t.Errorf("%v lost", n)
		}
	})
	t.Run("deleted on request", func(t *testing.T) {
		if a := s.Request(t, http.MethodDelete, path, "", nil); a.Status != http.StatusNoContent {
			t.Fatalf("%d", a.Status)
		}
		if kept, _ := s.s3.objects(); kept[keyOf(r.MessageID)].Key != "" {
			t.Error("the object is there", s.Output)
		}
	})
	t.Run("statistics by instance", func(t *testing.T) {
		s.receive(t, "KEPT2", content)
		s.await("KEPT2", "STORED", "")
		rig.Beside(t, s.World).Says(0, "shop", "stats")
		s.Stop()
		out := rig.Beside(t, s.World).Says(0, "kept files", "stats")
		if !strings.Contains(out, "244 KiB") {
			t.Error(out)
		}
		s.Start()
		s.AwaitOnline("shop", s.Token)
	})
	t.Run("all go with the instance", func(t *testing.T) {
		s.Call(consumer.Bearer(s.Token), http.MethodDelete, "/instance/shop?force=true", nil, nil)
		s.AwaitFor(15*time.Second, "no object", func() bool {
			_, keys := s.s3.objects()
			return slices.Equal(keys, append(slices.Clone(others[:1]), append([]string{"postern/.postern"}, others[1:]...)...))
		})
	})
}

// TestObjectsWithoutRecordGo, after an hour: until then another owner of the data may be
// about to store their records.
func TestObjectsWithoutRecordGo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.await("", "", "")
	s.Kill()
	for id := range int64(1100) { // more than a page of the list
		s.s3.post("/-/put?age=2h&key="+keyOf(4800+id), "old")
	}
	s.s3.post("/-/put?age=50m&key="+keyOf(4712), "young")
	s.s3.post("/-/put?age=2h&key=postern/0/1", "no instance")
	s.Start()
	s.Await("the old objects are gone", func() bool {
		kept, _ := s.s3.objects()
		return len(kept) <= 2
	})
	if kept, _ := s.s3.objects(); kept[keyOf(4712)].Key == "" || kept["postern/0/1"].Key == "" {
		t.Errorf("%v", kept)
	}
}
