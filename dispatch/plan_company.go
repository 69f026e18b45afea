package dispatch

import "time"

// This file decides which slots a destination may take while other destinations answer. A
// receiver that stops answering is known to hang only after patience; until then its
// deliveries hold their slots. A destination therefore holds many slots only while its
// answers keep coming.

const (
	// companyFor is how long an answer of one destination restricts the others.
	companyFor = 10 * time.Second
	// promptness is the silence that is normal for every destination.
	promptness = 20 * time.Millisecond
)

// doubtfulSlots bounds the slots that destinations in doubt hold together, whether or not
// they already hold one.
func (p *plan[T]) doubtfulSlots() int { return max(1, p.slots/2) }

// doubtfulSeconds is the number of slots held in doubt up to which a destination in
// doubt gets a second one.
func (p *plan[T]) doubtfulSeconds() int { return max(1, p.slots/4) }

// kept is the number of slots reserved for destinations that need no more than their
// share, while those have many answers.
func (p *plan[T]) kept() int { return p.slots * 3 / 10 }

// may reports whether the destinations that answer allow the host one more in flight.
func (p *plan[T]) may(l *host[T], now time.Time) bool {
	switch {
	case !p.company(l, now):
		return true
	case l.flying == 0:
		return l.standing != untried || p.doubts(now) < p.doubtfulSlots()
	case l.doubtful(now):
		return l.flying < p.share && p.doubts(now) < p.doubtfulSeconds()
	case l.flying < p.share:
		return true
	default:
		answers := !l.spoke.Before(l.since) || l.flying < p.share+l.usualFlights(now)
		return answers && (p.wide(now) < p.slots-p.kept() || !p.crowded(l, now))
	}
}

// company reports whether another destination answered lately.
func (p *plan[T]) company(l *host[T], now time.Time) bool {
	at := p.spoke
	if p.speaker == l {
		at = p.spokeBefore
	}
	return !at.IsZero() && now.Sub(at) < companyFor
}

// crowded reports whether the other destinations have as many answers a second
// as there are slots.
func (p *plan[T]) crowded(l *host[T], now time.Time) bool {
	return p.answers.lately(now)-l.answers.lately(now) >= p.slots
}

// doubtful reports whether the host has a flight and is silent for longer than its
// answers usually take.
func (l *host[T]) doubtful(now time.Time) bool {
	since := l.since
	if l.spoke.After(since) {
		since = l.spoke
	}
	return l.flying > 0 && now.Sub(since) > min(patience, max(promptness, 2*l.pace.most()))
}

// usualFlights returns the highest recent number of flights by Little's law: as many as
// were answered in the time that an answer takes.
func (l *host[T]) usualFlights(now time.Time) int {
	return int(l.answers.rate(now) * l.pace.most().Seconds())
}

// doubts returns the number of slots of doubtful hosts that are not lent.
func (p *plan[T]) doubts(now time.Time) int { return p.count(now).doubtful }

// wide returns the number of slots of hosts that have at least their share, without lent
// ones.
func (p *plan[T]) wide(now time.Time) int { return p.count(now).wide }

// count counts once for each search, since there may be many hosts.
func (p *plan[T]) count(now time.Time) *counts {
	if p.counts != nil {
		return p.counts
	}
	p.counts = &counts{}
	for _, l := range p.busy {
		if l.doubtful(now) {
			p.counts.doubtful += l.flying - l.late
		}
		if l.flying >= p.share {
			p.counts.wide += l.flying - l.late
		}
	}
	return p.counts
}

type counts struct{ doubtful, wide int }

// heard notes an answer of the host, of whatever status.
func (p *plan[T]) heard(l *host[T], took time.Duration, now time.Time) {
	l.spoke, l.mute = now, false
	l.pace.add(took, now)
	l.answers.add(now)
	p.answers.add(now)
	if p.speaker != l {
		p.spokeBefore, p.speaker = p.spoke, l
	}
	p.spoke = now
}

// began notes one more flight of the host.
func (p *plan[T]) began(l *host[T], now time.Time) {
	if l.flying == 0 {
		l.since, l.seat = now, len(p.busy)
		p.busy = append(p.busy, l)
	}
	l.flying++
	p.flying++
}

// rests notes that the host has no flight any more.
func (p *plan[T]) rests(l *host[T]) {
	last := len(p.busy) - 1
	p.busy[l.seat] = p.busy[last]
	p.busy[l.seat].seat = l.seat
	p.busy[last] = nil
	p.busy = p.busy[:last]
}

// tally counts what happened in this second and the one before.
type tally struct {
	since       time.Time
	now, before int
}

func (t *tally) add(at time.Time) {
	t.turn(at)
	t.now++
}

// lately returns the count of the last one to two seconds.
func (t *tally) lately(at time.Time) int {
	t.turn(at)
	return t.now + t.before
}

// rate returns the count per second over the same time.
func (t *tally) rate(at time.Time) float64 {
	n := t.lately(at)
	return float64(n) / (time.Second + at.Sub(t.since)).Seconds()
}

func (t *tally) turn(at time.Time) {
	switch age := at.Sub(t.since); {
	case age >= 2*time.Second:
		t.since, t.now, t.before = at, 0, 0
	case age >= time.Second:
		t.since, t.now, t.before = t.since.Add(time.Second), 0, t.now
	}
}

// usual is the longest of the times of the last half to whole minute.
type usual struct {
	since       time.Time
	now, before time.Duration
}

func (u *usual) add(took time.Duration, at time.Time) {
	const window = 30 * time.Second
	switch age := at.Sub(u.since); {
	case age >= 2*window:
		u.since, u.now, u.before = at, 0, 0
	case age >= window:
		u.since, u.now, u.before = u.since.Add(window), 0, u.now
	}
	u.now = max(u.now, took)
}

func (u *usual) most() time.Duration { return max(u.now, u.before) }
