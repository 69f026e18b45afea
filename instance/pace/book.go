package pace

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"postern/event"
	"postern/internal/plural"
)

// moment is now by two clocks: the one on the wall, which somebody may set, and
// one that counts the time since the start and cannot be set.
type moment struct {
	wall  time.Time
	awake time.Duration
}

// back is the time on the awake clock at which the wall clock, as it is set now,
// showed t.
func (m moment) back(t time.Time) time.Duration { return m.awake - m.wall.Sub(t) }

// departure is a message that left.
type departure struct {
	at     time.Duration // on the awake clock
	person uint64        // whom it went to, when that was a new contact; else 0
}

// somebody is the least mark of a new contact of whom a crash left nothing but
// that there may be one.
const somebody = 1 << 63

// kept is how long departures are remembered: no local day is longer.
const kept = 26 * time.Hour

// book is what is known of one instance's departures, oldest first, and of those
// that somebody is about to cause. It is not safe for concurrent use.
type book struct {
	limits   Limits
	zone     *time.Location
	sent     []departure
	places   map[string]uint64 // held for a sender: its new contact, or 0
	spaced   time.Duration     // nothing leaves before, on the awake clock
	today    today             // what newContacts found last
	calendar calendar          // what day found last; zero: nothing
}

// window counts what left in any span of that length.
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

// Code is the machine code of every refusal.
const Code = "INSTANCE_LIMIT"

// ErrLimit is what every refusal of a send is, by errors.Is.
var ErrLimit = &event.NotNowError{Code: Code}

// Refusal is why a message must not leave now.
type Refusal struct {
	Limit string    // its name, as in Limits
	Rule  string    // what must hold
	Until time.Time // the first moment at which it may leave, unless others do before
	// Strangers says that only new contacts are kept back.
	Strangers bool
}

// Text names the limit and its rule.
func (r *Refusal) Text() string { return r.Limit + ": " + r.Rule }

// error is the refusal as the error of a send.
func (r *Refusal) error() error {
	return &event.NotNowError{Code: Code, Text: r.Text(), Until: r.Until}
}

// longer is the one of two refusals that lasts longer; nil is none.
func (r *Refusal) longer(other *Refusal) *Refusal {
	if r == nil || other != nil && other.Until.After(r.Until) {
		return other
	}
	return r
}

// refusal returns why a message must not leave at now, nil when it may; of
// several reasons the one that lasts longest. person is its new contact, or 0;
// sender is who asks, whose place is its own.
func (b *book) refusal(now moment, person uint64, sender string) *Refusal {
	return b.closed(now, sender).longer(b.stranger(now, person, sender))
}

// closed is the refusal of a message to anybody.
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
		rule := fmt.Sprintf("nothing leaves from %s to %s", b.limits.QuietHours.From, b.limits.QuietHours.To)
		worst = worst.longer(&Refusal{Limit: "quietHours", Rule: rule, Until: until})
	}
	return worst
}

// stranger is the refusal of a message to a new contact.
func (b *book) stranger(now moment, person uint64, sender string) *Refusal {
	most := b.limits.NewContactsPerDay
	if most == nil || person == 0 {
		return nil
	}
	day := b.day(now)
	counted := b.newContacts(now.back(day.began))
	n := int64(len(counted.people))
	if counted.people[person] > 0 && (!counted.inDoubt || n <= *most) {
		return nil // once a day, unless it is one of those that a crash put in doubt
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

// full tells how long a window is full; 0: it is not. A place that is held
// becomes a departure, at now or later.
func (b *book) full(now moment, w window, held int) time.Duration {
	first := int64(len(b.sent)+held) - *w.limit // whose leaving the window makes room
	switch {
	case first < 0:
		return 0
	case first >= int64(len(b.sent)):
		return w.span
	}
	return b.sent[first].at + w.span - now.awake
}

// dayLimit is the most that leaves today, -1 when nothing says so, and when
// more will.
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

// today are the new contacts of the day that began then, and how often a message
// went to each.
type today struct {
	began   time.Duration // on the awake clock
	seen    int           // departures that are in it, from the oldest on
	people  map[uint64]int
	inDoubt bool // a crash left some of them
}

// newContacts are those of the day that began then.
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

// forget drops what no limit asks for any more, and says how much.
func (b *book) forget(now moment) int {
	n := sort.Search(len(b.sent), func(i int) bool { return b.sent[i].at > now.awake-kept })
	if n < chunk {
		return 0 // some at a time
	}
	b.sent, b.today = slices.Delete(b.sent, 0, n), today{}
	return n
}
