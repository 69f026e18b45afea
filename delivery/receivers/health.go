package receivers

import (
	"sync"
	"time"
)

const (
	// failingFrom is how many failed attempts in a row make a receiver FAILING.
	failingFrom = 3
	// recent is how long an attempt says something about a receiver.
	recent = 24 * time.Hour
	// lostFor is how long a lost event is reported.
	lostFor = time.Hour
	hours   = 24
)

// State is the state of a receiver.
type State string

// The states, the first that applies counts.
const (
	Paused  State = "PAUSED"
	Failing State = "FAILING"
	OK      State = "OK"
	Idle    State = "IDLE" // no attempt for 24 hours, or since the start
)

// States returns all states.
func States() []State { return []State{OK, Failing, Idle, Paused} }

// Attempt is one attempt to deliver to a receiver.
type Attempt struct {
	At       time.Time
	Took     time.Duration
	URL      string
	Status   int    // of the answer, 0 if there was none
	Error    string // why it failed
	Accepted bool
}

// Hour counts the attempts of one hour.
type Hour struct {
	At        time.Time
	Delivered int
	Failed    int
	took      time.Duration // of those that were delivered
}

// Standing is how a receiver answers.
type Standing struct {
	State     State     // OK, FAILING or IDLE
	Since     time.Time // when that began; zero: not known
	Failures  int       // attempts in a row that failed
	Success   time.Time // the last attempt that was accepted; zero: none since the start
	Last      time.Time // the last attempt
	Status    int       // its answer
	Error     string    // why it failed
	Lost      int       // events that were lost in the last hour
	LostSince time.Time // the first of them
}

// health is what is known of a receiver.
type health struct {
	url       string
	failures  int
	failing   time.Time // the first failed attempt of the row
	ok        time.Time // the first accepted attempt of the row
	success   time.Time
	last      time.Time
	status    int
	err       string
	by        [hours]Hour
	lost      int
	lostSince time.Time
	lostLast  time.Time
}

// Health counts the attempts at all receivers. It is safe for concurrent use.
type Health struct {
	now     func() time.Time
	started time.Time

	mu sync.Mutex
	of map[ID]*health
}

// NewHealth returns a Health without attempts, with a clock.
func NewHealth(now func() time.Time) *Health {
	return &Health{now: now, started: now(), of: map[ID]*health{}}
}

// known returns what is known of a receiver at a URL; another URL begins anew. The caller holds h.mu.
func (h *Health) known(id ID, url string) *health {
	s := h.of[id]
	if s == nil || s.url != url {
		s = s.another(url)
		h.of[id] = s
	}
	return s
}

// another returns what is known of a receiver at another URL: only what it lost.
func (s *health) another(url string) *health {
	if s == nil {
		return &health{url: url}
	}
	return &health{url: url, lost: s.lost, lostSince: s.lostSince, lostLast: s.lostLast}
}

// Note counts an attempt.
func (h *Health) Note(id ID, a Attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.known(id, a.URL)
	end := a.At.Add(a.Took)
	hour := s.hour(end)
	if !end.Before(s.last) {
		s.last, s.status, s.err = end, a.Status, a.Error
	}
	if a.Accepted {
		if s.failures > 0 || s.ok.IsZero() {
			s.ok = end
		}
		s.failures, s.failing, s.success = 0, time.Time{}, end
		hour.Delivered++
		hour.took += a.Took
		return
	}
	if s.failures == 0 {
		s.failing = end
	}
	s.failures++
	hour.Failed++
}

// hour returns the counters of the hour of a time.
func (s *health) hour(at time.Time) *Hour {
	began := at.Truncate(time.Hour)
	h := &s.by[began.Unix()/3600%hours]
	if !h.At.Equal(began) {
		*h = Hour{At: began}
	}
	return h
}

// Seed makes a receiver FAILING that has failed before the start, since a time.
func (h *Health) Seed(id ID, url string, failures int, since time.Time, status int, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.known(id, url)
	if s.failures == 0 && s.success.IsZero() {
		s.failures, s.failing, s.last, s.status, s.err = failures, since, since, status, why
	}
}

// Lose counts an event that will not be delivered to a receiver.
func (h *Health) Lose(id ID, n int) {
	if n == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of[id]
	if s == nil {
		s = &health{}
		h.of[id] = s
	}
	now := h.now()
	if now.Sub(s.lostLast) >= lostFor {
		s.lost, s.lostSince = 0, now
	}
	s.lost += n
	s.lostLast = now
}

// Reset forgets a receiver: it was removed, disabled, or has another URL.
func (h *Health) Reset(id ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.of[id]; s != nil {
		h.of[id] = s.another("")
	}
}

// Keep forgets all receivers but those for which keep returns true.
func (h *Health) Keep(keep func(ID) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.of {
		if !keep(id) {
			delete(h.of, id)
		}
	}
}

// Standing returns how a receiver at a URL answers. waits reports whether anything waits for it.
func (h *Health) Standing(id ID, url string, waits bool) (st Standing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	st.State = Idle
	s := h.of[id]
	if s == nil {
		return st
	}
	now := h.now()
	if s.lost > 0 && now.Sub(s.lostLast) < lostFor {
		st.Lost, st.LostSince = s.lost, s.lostSince
	}
	if s.url != url {
		return st
	}
	st.Failures, st.Success, st.Last, st.Status, st.Error = s.failures, s.success, s.last, s.status, s.err
	switch fresh := !s.last.IsZero() && now.Sub(s.last) < recent; {
	case s.failures >= failingFrom && (fresh || waits):
		st.State, st.Since = Failing, s.failing
	case fresh:
		st.State, st.Since = OK, s.ok
		if s.ok.IsZero() {
			st.Since = s.failing
		}
	}
	return st
}

// Day counts the attempts of the last 24 hours.
type Day struct {
	Since     time.Time
	Delivered int
	Failed    int
	Average   time.Duration // of those that were delivered; 0: there were none
}

// Day returns the attempts of the last 24 hours.
func (h *Health) Day(id ID, url string) (d Day) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	d.Since = now.Add(-recent)
	if h.started.After(d.Since) {
		d.Since = h.started
	}
	s := h.of[id]
	if s == nil || s.url != url {
		return d
	}
	oldest := now.Truncate(time.Hour).Add(-(hours - 1) * time.Hour)
	var took time.Duration
	for _, one := range s.by {
		if !one.At.Before(oldest) {
			d.Delivered, d.Failed, took = d.Delivered+one.Delivered, d.Failed+one.Failed, took+one.took
		}
	}
	if d.Delivered > 0 {
		d.Average = took / time.Duration(d.Delivered)
	}
	return d
}

// Hours returns the attempts of the last 24 hours by the hour, the running one last.
func (h *Health) Hours(id ID, url string) (by []Hour) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, s := h.now().Truncate(time.Hour), h.of[id]
	for i := hours - 1; i >= 0; i-- {
		one := Hour{At: now.Add(-time.Duration(i) * time.Hour)}
		if s != nil && s.url == url {
			if is := s.by[one.At.Unix()/3600%hours]; is.At.Equal(one.At) {
				one = is
			}
		}
		by = append(by, one)
	}
	return by
}

// wrong returns the receivers that fail or have lost events.
func (h *Health) wrong() (all []ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	for id, s := range h.of {
		if s.failures >= failingFrom || s.lost > 0 && now.Sub(s.lostLast) < lostFor {
			all = append(all, id)
		}
	}
	return all
}
