package pace

import "time"

// Hold asks whether the next message of a sender may leave now. If so it returns nil and
// reserves a place until the message leaves, its Pass ends, or Release: of a hundred
// senders waiting for the same time only one is admitted. A sender has at most one place;
// the empty sender has none.
func (p *Pacer) Hold(instance int64, to, sender string) *Refusal {
	l := p.ledger(instance)
	if sender != "" {
		p.moveTo(instance, sender, l != nil)
	}
	if l == nil {
		return nil
	}
	person := l.contact(to)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := p.cfg.now()
	if refused := l.refuse(now, person, sender); refused != nil {
		if everybody := l.closed(now, sender); everybody != nil {
			return everybody
		}
		return refused
	}
	if sender == "" {
		return nil
	}
	if l.places == nil {
		l.places = map[string]uint64{}
	}
	l.places[sender] = person
	return nil
}

// HoldAll reserves a place for each sender, or none: the error is an *event.NotNowError. Release releases each.
func (p *Pacer) HoldAll(instance int64, to string, senders []string) error {
	for i, sender := range senders {
		if refused := p.Hold(instance, to, sender); refused != nil {
			for _, held := range senders[:i+1] {
				p.Release(held)
			}
			return refused.error()
		}
	}
	return nil
}

// Ask returns why a message must not leave now: an *event.NotNowError, or nil.
func (p *Pacer) Ask(instance int64, to string) error {
	l := p.ledger(instance)
	if l == nil {
		return nil
	}
	person := l.contact(to)
	l.mu.Lock()
	defer l.mu.Unlock()
	if refused := l.refusal(p.cfg.now(), person, ""); refused != nil {
		return refused.error()
	}
	return nil
}

// moveTo releases the sender's place at another instance.
func (p *Pacer) moveTo(instance int64, sender string, limited bool) {
	p.mu.Lock()
	before, held := p.holders[sender]
	if limited {
		p.holders[sender] = instance
	} else if held {
		delete(p.holders, sender)
	}
	p.mu.Unlock()
	if held && before != instance {
		p.release(before, sender)
	}
}

// Release releases the place of a sender, and notifies those waiting for it.
func (p *Pacer) Release(sender string) {
	p.mu.Lock()
	instance, held := p.holders[sender]
	delete(p.holders, sender)
	p.mu.Unlock()
	if held {
		p.release(instance, sender)
	}
}

func (p *Pacer) release(instance int64, sender string) {
	l := p.ledger(instance)
	if l == nil {
		return
	}
	l.mu.Lock()
	waits := l.release(sender)
	l.mu.Unlock()
	if waits {
		p.cfg.Changed(instance)
	}
}

// refuse is refusal, and records that reserved places caused it.
func (l *ledger) refuse(now moment, person uint64, sender string) *Refusal {
	refused := l.refusal(now, person, sender)
	l.crowded = l.crowded || refused != nil && len(l.places) > 0
	return refused
}

// release releases a place and reports whether another sender may be waiting for it.
func (l *ledger) release(sender string) bool {
	_, held := l.places[sender]
	delete(l.places, sender)
	waits := held && l.crowded
	if waits {
		l.crowded = false
	}
	return waits
}

// Spaced returns the earliest time of the next message of an instance, given the minimum
// time between two; zero if none applies.
func (p *Pacer) Spaced(instance int64) time.Time {
	l := p.ledger(instance)
	if l == nil {
		return time.Time{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limits.JitterMs == nil {
		return time.Time{}
	}
	now := p.cfg.now()
	return now.wall.Add(l.spaced - now.awake)
}

// KeepsStrangers reports whether an instance has reached its limit of new contacts for
// now.
func (p *Pacer) KeepsStrangers(instance int64) bool {
	l := p.ledger(instance)
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stranger(p.cfg.now(), somebody, "") != nil
}
