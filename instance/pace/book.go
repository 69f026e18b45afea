package pace

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"postern/event"
	"postern/internal/plural"
)

// moment is the current time on two clocks: the wall clock, which may be set, and the
// awake clock, which counts the time since the start and cannot be set.
type moment struct {
	wall  time.Time
	awake time.Duration
}

// back returns the time on the awake clock at which the wall clock, as currently set,
// showed t.
func (m moment) back(t time.Time) time.Duration { return m.awake - m.wall.Sub(t) }

// departure is a message that was sent.
type departure struct {
	at     time.Duration // on the awake clock
	person uint64        // the recipient, if a new contact; else 0
}

// somebody is the lowest mark of a possible new contact that a crash left unidentified.
const somebody = 1 << 63

// kept is how long departures are remembered: no local day is longer.
const kept = 26 * time.Hour

// book holds one instance's departures, oldest first, and those about to happen. It is
// not safe for concurrent use.
type book struct {
	limits   Limits
	zone     *time.Location
	sent     []departure
	places   map[string]uint64 // reserved by sender: its new contact, or 0
	spaced   time.Duration     // earliest next departure, on the awake clock
	today    today             // last result of newContacts
	calendar calendar          // last result of day; zero: none
}

// window limits the departures in any span of that length.
type window struct {
	name  string
	unit  string
	span  time.Duration
	limit *int64
}

func (b *book) windows() [2]window {
	return [2]window{
		{"perMinute", "minute", time.Minute, b.limits.PerMinute},
		{"perHour", "hour", time.Hour, b.limits.PerHour},
	}
}

// Code is the error code of every refusal.
const Code = "INSTANCE_LIMIT"

// ErrLimit matches every refusal of a send with errors.Is.
var ErrLimit = &event.NotNowError{Code: Code}

// Refusal is the reason why a message must not be sent now.
type Refusal struct {
	Limit string    // the name in Limits
	Rule  string    // the rule that must hold
	Until time.Time // earliest time to send, unless other messages are sent before
	// Strangers reports that only new contacts are affected.
	Strangers bool
}

// Text returns the limit and its rule.
func (r *Refusal) Text() string { return r.Limit + ": " + r.Rule }

// error returns the refusal as a send error.
func (r *Refusal) error() error {
	return &event.NotNowError{Code: Code, Text: r.Text(), Until: r.Until}
}

// longer returns the refusal that lasts longer; nil means none.
func (r *Refusal) longer(other *Refusal) *Refusal {
	if r == nil || other != nil && other.Until.After(r.Until) {
		return other
	}
	return r
}

// refusal returns why a message must not be sent at now, nil if it may; of several
// reasons the one that lasts longest. person is its new contact, or 0; sender is the
// caller, whose own place does not count.
func (b *book) refusal(now moment, person uint64, sender string) *Refusal {
	return b.closed(now, sender).longer(b.stranger(now, person, sender))
}

// closed returns the refusal of a message to anyone.
func (b *book) closed(now moment, sender string) (worst *Refusal) {
	held := len(b.places)
	if _, own := b.places[sender]; own {
		held--
	}
	for _, w := range b.windows() {
		if w.limit == nil {
			continue
		}
		if left := b.full(now, w, held); left > 0 {
			rule := fmt.Sprintf("at most %s in any %s", plural.Of(*w.limit, "message leaves", "messages leave"), w.unit)
			worst = worst.longer(&Refusal{Limit: w.name, Rule: rule, Until: now.wall.Add(left)})
		}
	}
	today := b.day(now)
	if most, until := b.dayLimit(now, today); most >= 0 && int64(len(b.since(now.back(today.began)))+held) >= most {
		rule := fmt.Sprintf("at most %s on this day", plural.Of(most, "message leaves", "messages leave"))
		worst = worst.longer(&Refusal{Limit: "perDay", Rule: rule, Until: until})
	}
	if until := today.quietUntil(now.wall); !until.IsZero() {
		rule := fmt.Sprintf("nothing is sent from %s to %s", b.limits.QuietHours.From, b.limits.QuietHours.To)
		worst = worst.longer(&Refusal{Limit: "quietHours", Rule: rule, Until: until})
	}
	return worst
}

// stranger returns the refusal of a message to a new contact.
func (b *book) stranger(now moment, person uint64, sender string) *Refusal {
	most := b.limits.NewContactsPerDay
	if most == nil || person == 0 {
		return nil
	}
	day := b.day(now)
	counted := b.newContacts(now.back(day.began))
	n := int64(len(counted.people))
	if counted.people[person] > 0 && (!counted.inDoubt || n <= *most) {
		return nil // counted once a day, except those that a crash left in doubt
	}
	about := map[uint64]bool{person: true}
	for who, other := range b.places {
		if other != 0 && who != sender && counted.people[other] == 0 {
			about[other] = true
		}
	}
	if n+int64(len(about)) <= *most {
		return nil
	}
	rule := fmt.Sprintf("at most %s written to on one day who never wrote themselves", plural.Of(*most, "person is", "people are"))
	return &Refusal{Limit: "newContactsPerDay", Rule: rule, Until: day.ends, Strangers: true}
}

// full returns how long a window is full, 0 if it is not. A reserved place becomes a
// departure at now or later.
func (b *book) full(now moment, w window, held int) time.Duration {
	first := int64(len(b.sent)+held) - *w.limit // the departure whose expiry makes room
	switch {
	case first < 0:
		return 0
	case first >= int64(len(b.sent)):
		return w.span
	}
	return b.sent[first].at + w.span - now.awake
}

// dayLimit returns the current limit of the day, -1 if none, and when it changes.
func (b *book) dayLimit(now moment, day *calendar) (most int64, until time.Time) {
	most, until = -1, day.ends
	if b.limits.PerDay != nil {
		most = *b.limits.PerDay
	}
	if b.limits.WarmUp == nil {
		return most, until
	}
	if young, rises := b.limits.WarmUp.limitAt(now.wall, day.born); most < 0 || young < most {
		most = young
		if !rises.IsZero() && rises.Before(until) {
			until = rises
		}
	}
	return most, until
}

// since returns the departures from that time on.
func (b *book) since(at time.Duration) []departure {
	i := sort.Search(len(b.sent), func(i int) bool { return b.sent[i].at >= at })
	return b.sent[i:]
}

// today holds the new contacts of the day that began then, with the messages sent to
// each.
type today struct {
	began   time.Duration // on the awake clock
	seen    int           // departures included, from the oldest on
	people  map[uint64]int
	inDoubt bool // a crash left some of them
}

// newContacts returns those of the day that began then.
func (b *book) newContacts(began time.Duration) *today {
	t := &b.today
	if t.people == nil || (t.began-began).Abs() > drift {
		*t = today{began: began, people: map[uint64]int{}}
	}
	from := max(t.seen, len(b.sent)-len(b.since(began)))
	for _, d := range b.sent[from:] {
		if d.person != 0 {
			t.people[d.person]++
			t.inDoubt = t.inDoubt || d.person >= somebody
		}
	}
	t.seen = len(b.sent)
	return t
}

// forget drops departures that no limit needs any more and returns their number.
func (b *book) forget(now moment) int {
	n := sort.Search(len(b.sent), func(i int) bool { return b.sent[i].at > now.awake-kept })
	if n < chunk {
		return 0 // in batches
	}
	b.sent, b.today = slices.Delete(b.sent, 0, n), today{}
	return n
}
