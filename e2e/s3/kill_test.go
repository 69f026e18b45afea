package s3

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"

	"postern/cli/consumer"
)

// TestKillLeavesObjectsAsRecorded kills the program at each step of a put and of a removal.
// After the next start each record that says STORED has its whole object, and no object is
// without one.
func TestKillLeavesObjectsAsRecorded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.receive(t, "FIRST", bytes.Repeat([]byte("first "), 1000))
	s.await("FIRST", "STORED", "")
	for i, c := range []struct {
		method, step string
		delete       bool // the message's file goes while it is being put
	}{
		{http.MethodPut, "before", false},
		{http.MethodPut, "after", false},
		{http.MethodPut, "before", true},
		{http.MethodPut, "after", true},
		{http.MethodDelete, "before", false},
		{http.MethodDelete, "after", false},
	} {
		name := fmt.Sprintf("%s %s", c.step, c.method)
		if c.delete {
			name += " of a deleted file"
		}
		t.Run(name, func(t *testing.T) {
			key := fmt.Sprintf("KILL%d", i)
			content := bytes.Repeat(fmt.Appendf(nil, "kill %d ", i), 1000)
			if c.method == http.MethodDelete {
				s.receive(t, key, content)
				s.await(key, "STORED", "")
			}
			reached, killed := make(chan struct{}, 16), make(chan struct{})
			stop := func(r *http.Request) {
				if r.Method == c.method {
					reached <- struct{}{}
					<-killed
				}
			}
			s.s3.set(func(s *server) {
				if c.step == "before" {
					s.before = stop
				} else {
					s.after = stop
				}
			})
			remove := func() {
				_ = s.API.Call(t.Context(), consumer.Bearer(s.Token), http.MethodDelete, fmt.Sprintf("/instance/shop/messages/%d/media", s.record(key).MessageID), nil, nil)
			}
			if c.method == http.MethodPut {
				s.receive(t, key, content)
			} else {
				go remove()
			}
			s.within(reached)
			if c.delete {
				remove()
				s.await(key, "REMOVED", "DELETED")
			}
			s.Kill()
			s.s3.set(func(s *server) { s.before, s.after = nil, nil })
			close(killed)
			s.Start()
			s.AwaitOnline("shop", s.Token)
			s.AwaitFor(time.Minute, "objects and records agree", func() bool { return s.agree(t) })
			want := "STORED"
			if c.delete || c.method == http.MethodDelete {
				want = "REMOVED"
			}
			if r := s.record(key); r.State != want {
				t.Errorf("%+v, want %s", r, want)
			}
		})
	}
}

// agree reports whether all records are decided, and the objects are those of the ones that
// say STORED. A STORED one without its whole object is an error at any time.
func (s *scene) agree(t *testing.T) bool {
	t.Helper()
	records := s.records()
	objects, _ := s.s3.objects()
	stored := 0
	for _, r := range records {
		switch o := objects[keyOf(r.MessageID)]; {
		case r.State == "PENDING":
			return false
		case r.State == "STORED" && (o.SHA256 != r.SHA256 || o.Size != r.Size):
			t.Fatalf("%+v has %+v", r, o)
		case r.State == "STORED":
			stored++
		}
	}
	return stored == len(objects)
}

// TestDeletionDuringPutRemovesObject: the object that is being put goes once it is there.
func TestDeletionDuringPutRemovesObject(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	reached, released := make(chan struct{}, 16), make(chan struct{})
	s.s3.set(func(s *server) {
		s.before = func(r *http.Request) {
			if r.Method == http.MethodPut {
				reached <- struct{}{}
				<-released
			}
		}
	})
	s.receive(t, "LATE", bytes.Repeat([]byte("late "), 1000))
	s.within(reached)
	id := s.record("LATE").MessageID
	s.Call(consumer.Bearer(s.Token), http.MethodDelete, fmt.Sprintf("/instance/shop/messages/%d/media", id), nil, nil)
	s.await("LATE", "REMOVED", "DELETED")
	s.s3.set(func(s *server) { s.log = nil })
	close(released)
	s.Await("a removal after the put", func() bool { return s.s3.seen("DELETE /files/" + keyOf(id)) })
	s.Await("no object", func() bool { return s.agree(t) })
}

// within waits for a request at the gate.
func (s *scene) within(reached <-chan struct{}) {
	s.T.Helper()
	select {
	case <-reached:
	case <-time.After(time.Minute):
		s.T.Fatal("no request came within a minute")
	}
}
