package dispatch

import "time"

// Which places a destination may take while other destinations answer. A
// receiver that stops answering is known to hang only after patience; until then
// its deliveries hold their places. So a destination holds many places only while
// its answers keep coming.

const (
	// companyFor is how long an answer of one destination restricts the others.
	companyFor = 10 * time.Second
	// promptness is the silence that is normal for every destination.
	promptness = 20 * time.Millisecond
)

// doubtfulPlaces is how many places destinations in doubt may hold together, whether
// or not they hold one already.
func (p *plan) doubtfulPlaces() int { return max(1, p.workers/2) }

// doubtfulSeconds is up to how many places held in doubt a destination in doubt
// gets a second one.
func (p *plan) doubtfulSeconds() int { return max(1, p.workers/4) }

// kept is how many places are left to destinations that need no more than their
// share, while those have many answers.
func (p *plan) kept() int { return p.workers * 3 / 10 }

// may reports whether the host may have one more in flight, as far as the
// destinations that answer are concerned.
func (p *plan) may(l *host, now time.Time) bool {
	switch {
	case !p.company(l, now):
		return true
	case l.flying == 0:
		return l.standing != untried || p.doubts(now) < p.doubtfulPlaces()
	case l.doubtful(now):
		return l.flying < p.share && p.doubts(now) < p.doubtfulSeconds()
	case l.flying < p.share:
		return true
	default:
		answers := !l.spoke.Before(l.since) || l.flying < p.share+l.usualFlights(now)
		return answers && (p.wide(l) < p.workers-p.kept() || !p.crowded(l, now))
	}
}

// company reports whether another destination answered lately.
func (p *plan) company(l *host, now time.Time) bool {
	at := p.spoke
	if p.speaker == l {
		at = p.spokeBefore
	}
	return !at.IsZero() && now.Sub(at) < companyFor
}

// crowded reports whether the other destinations have as many answers a second
// as there are workers.
func (p *plan) crowded(l *host, now time.Time) bool {
	return p.answers.lately(now)-l.answers.lately(now) >= p.workers
}

// doubtful reports whether the host has something in flight and is silent for
// longer than its answers usually take.
func (l *host) doubtful(now time.Time) bool {
	since := l.since
	if l.spoke.After(since) {
		since = l.spoke
	}
	return l.flying > 0 && now.Sub(since) > min(patience, max(promptness, 2*l.pace.most()))
}

// usualFlights is how many were in flight lately at most, by Little's law: as
// many as were answered in the time that an answer takes.
func (l *host) usualFlights(now time.Time) int {
	return int(l.answers.rate(now) * l.pace.most().Seconds())
}

// doubts is how many places doubtful hosts hold that are not lent.
func (p *plan) doubts(now time.Time) (n int) {
	for _, l := range p.busy {
		if l.doubtful(now) {
			n += l.flying - l.late
		}
	}
	return n
}

// wide is how many places hosts hold that have at least their share, and l,
// without those that are lent.
func (p *plan) wide(l *host) (n int) {
	for _, one := range p.busy {
		if one == l || one.flying >= p.share {
			n += one.flying - one.late
		}
	}
	return n
}

// heard notes an answer of the host, of whatever status.
func (p *plan) heard(l *host, took time.Duration, now time.Time) {
	l.spoke, l.mute = now, false
	l.pace.add(took, now)
	l.answers.add(now)
	p.answers.add(now)
	if p.speaker != l {
		p.spokeBefore, p.speaker = p.spoke, l
	}
	p.spoke = now
}

// began notes that the host has something in flight, or one more.
func (p *plan) began(l *host, now time.Time) {
	if l.flying == 0 {
		l.since, l.seat = now, len(p.busy)
		p.busy = append(p.busy, l)
	}
	l.flying++
	p.flying++
}

// rests notes that the host has nothing in flight any more.
func (p *plan) rests(l *host) {
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

// lately is the count of the last one to two seconds.
func (t *tally) lately(at time.Time) int {
	t.turn(at)
	return t.now + t.before
}

// rate is the count in a second, of the same time.
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
