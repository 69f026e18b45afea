package mcp

import (
	"sync"
	"time"
)

// sessions are the open HTTP sessions, with their owners and times of last use. The SDK ends one that is idle; here it is forgotten when the next one opens.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

type session struct {
	owner string // id of the key
	used  time.Time
	calls int // running requests
}

// idle reports whether the session has ended without requests.
func (one *session) idle() bool { return one.calls == 0 && time.Since(one.used) > sessionIdle }

func newSessions() *sessions { return &sessions{all: map[string]*session{}} }

// use notes a request in a session, until done is called. It is false when the key has no
// such session.
func (s *sessions) use(id, owner string) (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[id]
	if one == nil || one.owner != owner {
		return nil, false
	}
	if one.idle() {
		delete(s.all, id)
		return nil, false
	}
	return s.begin(one), true
}

// begin is called with the lock held.
func (s *sessions) begin(one *session) (done func()) {
	one.calls++
	one.used = time.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		one.calls--
		one.used = time.Now()
	}
}

// add notes a new session.
func (s *sessions) add(id, owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id] = &session{owner: owner, used: time.Now()}
}

// drop forgets a session.
func (s *sessions) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
}

// room makes room for one more session of a key: it removes sessions and returns their
// ids, which the caller ends. It is false when all candidates have running requests.
func (s *sessions) room(owner string) (end []string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	for id, one := range s.all {
		switch {
		case one.idle():
			delete(s.all, id)
			end = append(end, id)
		case one.owner == owner:
			own++
		}
	}
	switch {
	case own >= maxSessionsOfKey:
		return s.endOldest(end, func(one *session) bool { return one.owner == owner })
	case len(s.all) >= maxSessions:
		return s.endOldest(end, func(*session) bool { return true })
	}
	return end, true
}

func (s *sessions) endOldest(end []string, which func(*session) bool) ([]string, bool) {
	oldest := ""
	for id, one := range s.all {
		if one.calls == 0 && which(one) && (oldest == "" || one.used.Before(s.all[oldest].used)) {
			oldest = id
		}
	}
	if oldest == "" {
		return end, false
	}
	delete(s.all, oldest)
	return append(end, oldest), true
}
