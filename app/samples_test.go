package app

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"postern/event"
)

// minute is the part of a sample that this test looks at.
type minute struct {
	Instances          map[event.State]int
	Deliveries, Failed uint64
	OldestPending      int64 `json:"oldestPendingSeconds"`
	FileBytes          int64
	MemoryBytes        int64
}

// minutes asks for the samples and adds up what happened.
func (s *socketRig) minutes() (all minute) {
	s.t.Helper()
	var out struct{ Samples []minute }
	if err := s.api.Call(s.t.Context(), s.key, http.MethodGet, "/admin/samples", nil, &out); err != nil {
		s.t.Fatal(err)
	}
	if len(out.Samples) == 0 {
		s.t.Fatal("there is not even the running minute")
	}
	all = out.Samples[len(out.Samples)-1]
	for _, m := range out.Samples[:len(out.Samples)-1] {
		all.Deliveries, all.Failed = all.Deliveries+m.Deliveries, all.Failed+m.Failed
	}
	return all
}

func TestCurrentSampleCountsDeliveriesAndPendingAge(t *testing.T) {
	var refuses atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuses.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(receiver.Close)
	s := newSocketsFor(t, receiver.URL)
	s.instance("a")
	s.emit(event.BatchCreated, event.BatchStarted)
	comes(t, "two deliveries", func() bool { return s.minutes().Deliveries == 2 })
	refuses.Store(true)
	s.emit(event.BatchStopped)
	comes(t, "a failure that waits", func() bool { is := s.minutes(); return is.Failed >= 1 && is.OldestPending >= 1 })
	is := s.minutes()
	if is.Instances[event.Offline] != 1 || len(is.Instances) != len(event.States()) || is.FileBytes == 0 || is.MemoryBytes == 0 {
		t.Errorf("the minute is %+v", is)
	}
}
