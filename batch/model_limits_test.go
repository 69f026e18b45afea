package batch

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"postern/instance/pace"
)

// modelBook is what left an instance and what its limits are, in their plainest
// form: it counts what is in a window, and knows nothing of files or grants.
type modelBook struct {
	limits pace.Limits
	zone   time.Duration // by how much its clock is ahead of UTC
	left   []modelLeft   // oldest first
	back   []modelLeft   // did not leave after all, and the file may not know

	about int           // sends that have begun and not ended
	ended time.Time     // when the last one did
	start time.Duration // by how much the clock was set when the process began
	set   bool          // the clock was since something left last: the file has times by the former one
	lost  bool          // the process was killed then, and ages are what the file makes of them
	kept  bool          // limits were set, and it counts from then on

	setting func() (now pace.Limits, set bool) // while limits are being set: whether they are yet
}

// modelLeft is a message that left.
type modelLeft struct {
	at     time.Time // by the time awake
	person uint64    // to whom, when that was a new contact
}

// modelDoubt marks unknown new contacts.
const modelDoubt = 1 << 63

// mark returns how the file tells new contacts apart.
func mark(number string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(number))
	return max(h.Sum64()%modelDoubt, 1)
}

// put takes over limits that were set.
func (b *modelBook) put(limits pace.Limits, skew time.Duration) {
	if b.limits, b.zone = limits, simZones[limits.Timezone]; !b.kept {
		b.kept, b.start = true, skew
	}
}

// limited reports whether the number of messages has a limit.
func (b *modelBook) limited() bool {
	l := b.limits
	return l.PerMinute != nil || l.PerHour != nil || l.PerDay != nil || l.WarmUp != nil || l.NewContactsPerDay != nil
}

// day numbers the local day of a moment by the wall clock.
func (b *modelBook) day(wall time.Time) int64 {
	return wall.Add(b.zone).Unix() / int64(modelDay/time.Second)
}

func (b *modelBook) midnight(wall time.Time) time.Time {
	return time.Unix((b.day(wall)+1)*int64(modelDay/time.Second), 0).Add(-b.zone)
}

func (b *modelBook) count(in func(modelLeft) bool) (n int64) {
	for _, m := range b.left {
		if in(m) {
			n++
		}
	}
	return n
}

// forbids is why a message to a number must not leave at a time awake, when the
// wall clock is ahead of that by skew; empty: it may.
func (b *modelBook) forbids(at time.Time, skew time.Duration, person uint64, stranger bool) string {
	wall := at.Add(skew)
	within := func(span time.Duration) func(modelLeft) bool {
		return func(m modelLeft) bool { return at.Sub(m.at) < span }
	}
	today := func(m modelLeft) bool { return b.day(m.at.Add(skew)) == b.day(wall) }
	l := b.limits
	switch {
	case l.PerMinute != nil && b.count(within(time.Minute)) >= *l.PerMinute:
		return "the minute is full"
	case l.PerHour != nil && b.count(within(time.Hour)) >= *l.PerHour:
		return "the hour is full"
	case l.PerDay != nil && b.count(today) >= *l.PerDay:
		return "the day is full"
	case l.WarmUp != nil && b.count(today) >= b.warm(wall):
		return "the account is too young"
	case b.quiet(wall):
		return "it is quiet"
	case l.NewContactsPerDay != nil && b.tooNew(person, stranger, today):
		return "there are too many new contacts"
	}
	return ""
}

func (b *modelBook) began() time.Time {
	at, _ := time.Parse(time.RFC3339, b.limits.WarmUp.StartedAt)
	return at
}

// warm is from + (to − from) · min(d, days) / days, d whole days since the
// beginning.
func (b *modelBook) warm(wall time.Time) int64 {
	w := b.limits.WarmUp
	d := max(0, int64(wall.Sub(b.began())/modelDay))
	return w.From + (w.To-w.From)*min(d, w.Days)/w.Days
}

// hours returns the quiet ones, as what has passed of the day.
func (b *modelBook) hours() (from, to time.Duration) {
	read := func(hhmm string) time.Duration {
		var h, m time.Duration
		_, _ = fmt.Sscanf(hhmm, "%d:%d", &h, &m)
		return h*time.Hour + m*time.Minute
	}
	return read(b.limits.QuietHours.From), read(b.limits.QuietHours.To)
}

func (b *modelBook) quiet(wall time.Time) bool {
	if b.limits.QuietHours == nil {
		return false
	}
	passed := modelDay - b.midnight(wall).Sub(wall)
	from, to := b.hours()
	if from < to {
		return passed >= from && passed < to
	}
	return passed >= from || passed < to
}

// people returns the new contacts of the messages in a window.
func (b *modelBook) people(in func(modelLeft) bool) (all map[uint64]bool, doubt bool) {
	all = map[uint64]bool{}
	for _, m := range b.left {
		if m.person != 0 && in(m) {
			all[m.person] = true
			doubt = doubt || m.person >= modelDoubt
		}
	}
	return all, doubt
}

func (b *modelBook) tooNew(person uint64, stranger bool, today func(modelLeft) bool) bool {
	people, doubt := b.people(today)
	n := int64(len(people))
	if people[person] {
		return doubt && n > *b.limits.NewContactsPerDay // one of them may be another
	}
	return stranger && n >= *b.limits.NewContactsPerDay
}

// turns returns the moments after a time awake at which more may be allowed than
// then.
func (b *modelBook) turns(after time.Time, skew time.Duration) (all []time.Time) {
	for _, m := range b.left {
		all = append(all, m.at.Add(time.Minute), m.at.Add(time.Hour))
	}
	wall := after.Add(skew)
	if b.count(func(m modelLeft) bool { return b.day(m.at.Add(skew)) == b.day(wall) }) > 0 {
		all = append(all, b.midnight(wall).Add(-skew))
	}
	if w := b.limits.WarmUp; w != nil {
		if d := max(0, int64(wall.Sub(b.began())/modelDay)) + 1; d <= w.Days {
			all = append(all, b.began().Add(time.Duration(d)*modelDay).Add(-skew))
		}
	}
	if b.quiet(wall) {
		_, to := b.hours()
		ends := b.midnight(wall).Add(to - modelDay).Add(-skew)
		all = append(all, ends, ends.Add(modelDay))
	}
	return slices.DeleteFunc(all, func(t time.Time) bool { return !t.After(after) })
}

// leaves counts a message, which must be allowed now.
func (e *modelEnv) leaves(id int64, number string, now time.Time) (m modelLeft, err error) {
	b := e.instances[id].book
	why := b.forbids(now, e.skew, mark(number), !e.knows(number))
	if b.setting != nil { // what leaves meanwhile goes by the new ones, or by those of a moment ago
		if limits, set := b.setting(); set {
			if b.put(limits, e.skew); why != "" {
				why = b.forbids(now, e.skew, mark(number), !e.knows(number))
			}
		}
	}
	if !b.kept {
		return m, nil
	}
	m.at = now.UTC()
	if b.limits.NewContactsPerDay != nil {
		people, _ := b.people(func(m modelLeft) bool { return b.day(m.at.Add(e.skew)) == b.day(now.Add(e.skew)) })
		if people[mark(number)] || !e.knows(number) {
			m.person = mark(number)
		}
	}
	b.left, b.set = append(b.left, m), false
	b.lost = b.lost && e.skew == b.start // else all of them were noted again
	b.left = slices.DeleteFunc(b.left, func(m modelLeft) bool { return now.Sub(m.at) > 26*time.Hour })
	if why != "" {
		err = fmt.Errorf("a message left instance %d although %s", id, why)
	}
	return m, err
}

// takesBack notes that a message did not leave after all.
func (b *modelBook) takesBack(m modelLeft) {
	if i := slices.Index(b.left, m); i >= 0 {
		b.back, b.left = append(b.back, m), slices.Delete(b.left, i, i+1)
	}
}

// room reports whether the limits of an instance let a message to a number leave
// at a time awake.
func (e *modelEnv) room(id int64, number string, at time.Time) bool {
	return e.instances[id].book.forbids(at, e.skew, mark(number), !e.knows(number)) == ""
}
