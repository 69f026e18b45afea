package pace

import (
	"context"
	"hash/fnv"
	"slices"
	"time"

	"postern/store"
)

// Pass takes one message through the limits of its instance: Begin, Space, Leave, Left,
// End. A nil Pass, of an instance without limits, permits everything.
type Pass struct {
	l      *ledger
	to     string
	person uint64 // the recipient, if a new contact; else 0
	sender string
	left   bool
	is     departure     // once it left
	space  time.Duration // minimum time to the next message
}

// Begin is called before a message is prepared. A non-empty sender may hold a place; see
// Pacer.Hold. The error is an *event.NotNowError. If it is nil, the caller must call End.
func (p *Pacer) Begin(instance int64, to, sender string) (*Pass, error) {
	l := p.ledger(instance)
	if l == nil {
		return nil, nil //nolint:nilnil // a nil Pass permits everything
	}
	person := l.contact(to)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := p.cfg.now()
	if refused := l.refuse(now, person, sender); refused != nil {
		return nil, refused.error()
	}
	l.about++
	l.peak = max(l.peak, l.about)
	l.settle()
	if l.asked <= l.end() { // request the grant early, while the message is prepared
		_ = l.note(now, l.reserve(), true)
	}
	return &Pass{l: l, to: to, person: person, sender: sender}, nil
}

// contact returns the mark of the person at a JID if that is a new contact and new
// contacts are limited, else 0. It does not look up contacts counted today.
func (l *ledger) contact(jid string) uint64 {
	l.mu.Lock()
	limited := l.limits.NewContactsPerDay != nil
	l.mu.Unlock()
	if !limited {
		return 0
	}
	person := l.p.cfg.Person(jid)
	if person == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(person))
	mark := max(h.Sum64()%somebody, 1)
	if l.counted(mark) || l.p.cfg.IsNew(l.id, jid) {
		return mark
	}
	return 0
}

// counted reports whether a new contact is counted today.
func (l *ledger) counted(mark uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.p.cfg.now()
	return l.newContacts(now.back(l.day(now).began)).people[mark] > 0
}

// Space waits until enough time has passed since the last message left. It is called when
// no other message of the instance can leave before this one. It returns the cause of
// ctx's end.
func (s *Pass) Space(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.l.mu.Lock()
	wait := s.l.spaced - s.l.p.cfg.now().awake
	s.l.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Leave counts the message, which leaves if the error is nil. It is called immediately
// before, when no byte of the message has left. The error is an *event.NotNowError or one
// of the store.
func (s *Pass) Leave() error {
	if s == nil {
		return nil
	}
	l := s.l
	if s.person != 0 {
		s.person = l.contact(s.to) // no longer new if they wrote in the meantime
	}
	l.mu.Lock()
	now := l.p.cfg.now()
	if refused := l.refuse(now, s.person, s.sender); refused != nil {
		l.mu.Unlock()
		return refused.error()
	}
	number := l.end()
	l.first += uint64(l.forget(now))
	l.filed, l.noted = max(l.filed, l.first), max(l.noted, l.first)
	s.left, s.is = true, departure{now.awake, s.person}
	l.sent = append(l.sent, s.is)
	delete(l.places, s.sender)
	s.space = l.limits.JitterMs.draw()
	l.spaced = now.awake + s.space // until Left is called
	granting, err := l.grant(now, number)
	l.mu.Unlock()
	if err == nil && granting != nil {
		err = granting.Wait()
	}
	if err != nil {
		s.takeBack()
	}
	return err
}

// Left is called when the bytes of the message have left, between Leave and End, and
// again if they were repeated. The time to the next message counts from here, since the
// network delay between Leave and Left is unbounded.
func (s *Pass) Left() {
	if s == nil {
		return
	}
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	if s.left {
		s.l.spaced = max(s.l.spaced, s.l.p.cfg.now().awake+s.space)
	}
}

// grant records the newest departure, which has that number, and returns the write to
// wait for; nil if it may leave at once.
func (l *ledger) grant(now moment, number uint64) (*store.Submitted, error) {
	l.settle()
	l.follow(now)
	var granting *store.Submitted
	if number >= l.granted {
		i := slices.IndexFunc(l.writes, func(w write) bool { return w.atOnce && number < w.granted })
		if i >= 0 {
			granting = l.writes[i].Submitted
		}
	}
	mustWait := number >= l.granted && granting == nil
	if err := l.note(now, l.reserve(), mustWait); err != nil {
		return nil, err
	}
	if mustWait {
		granting = l.writes[len(l.writes)-1].Submitted
	}
	return granting, nil
}

// takeBack uncounts a message that did not leave.
func (s *Pass) takeBack() {
	l := s.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if !s.left {
		return
	}
	s.left = false
	i := slices.Index(l.sent, s.is)
	if i < 0 {
		return
	}
	l.sent, l.today = slices.Delete(l.sent, i, i+1), today{}
	number := l.first + uint64(i)
	l.filed, l.noted = min(l.filed, number), min(l.noted, number)
	l.unsure()
}

// End is called when the send has ended, and reports whether the message may have left. A
// message that never left is uncounted, and waiting senders are notified.
func (s *Pass) End(left bool) {
	if s == nil {
		return
	}
	freed := s.left && !left
	if freed {
		s.takeBack()
	}
	l := s.l
	l.mu.Lock()
	freed = l.release(s.sender) || freed
	l.about--
	if freed {
		_ = l.note(l.p.cfg.now(), l.reserve(), false)
	}
	if l.pause == nil {
		l.pause = time.AfterFunc(quiet, l.withdraw)
	} else {
		l.pause.Reset(quiet)
	}
	l.mu.Unlock()
	if freed {
		l.p.cfg.Changed(l.id)
	}
}
