package pace

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

var lives = flag.Int("pace.lives", 150, "random lives of the model test; make lives has more")

// life is one random life of an instance: a book of departures, separate from the program's, and the
// limits in their simplest form, without sliding windows, cached days, files or grants.
type life struct {
	t      *testing.T
	r      *rand.Rand
	seed   uint64
	store  *store.Store
	path   string
	p      *Pacer
	id     int64
	limits Limits
	zone   *time.Location

	wall   time.Time     // of the machine, that anybody may set
	awake  time.Duration // since the beginning of the life, true
	left   []left        // with their true age
	jumped bool          // the clock was set, and the file may not know it
	doubt  bool          // a crash may have counted more than left
	known  map[string]bool
	holds  map[string]bool // senders with a place
	woken  int
	wait   map[string]time.Time // when a sender that was refused is to ask again, by the awake clock as an offset from the beginning
}

type left struct {
	awake  time.Duration
	person string // when it was a new contact
}

var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Africa/Cairo", "America/Havana", "Australia/Lord_Howe", "Pacific/Auckland"}

func TestLimitsAreExactModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openStore(t, path)
	defer func() { _ = s.Close() }()
	var sends, refusals, restarts, jumps int
	for n := range *lives {
		seed := uint64(n)
		l := newLife(t, s, path, int64(n+1), seed)
		for range 40 + l.r.IntN(80) {
			switch l.step() {
			case "send":
				sends++
			case "refused":
				refusals++
			case "restart":
				restarts++
			case "jump":
				jumps++
			}
			if t.Failed() {
				t.Fatalf("life %d", seed)
			}
		}
		l.end()
	}
	t.Logf("%d lives: %d messages left, %d were refused, %d restarts and crashes, the clock was set %d times", *lives, sends, refusals, restarts, jumps)
	if sends < *lives || refusals < *lives || jumps == 0 || restarts == 0 {
		t.Error("the lives are too quiet to say anything")
	}
}

func openStore(t testing.TB, path string) *store.Store {
	t.Helper()
	s, err := store.Open(store.Options{Path: path, Buckets: Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newLife(t *testing.T, s *store.Store, path string, id int64, seed uint64) *life {
	t.Helper()
	l := &life{
		t: t, r: rand.New(rand.NewPCG(seed, 1)), seed: seed, store: s, path: path, id: id,
		known: map[string]bool{}, holds: map[string]bool{}, wait: map[string]time.Time{},
	}
	// In half of the cases, around a clock change of the zone.
	days := []string{"2026-03-28", "2026-03-08", "2026-10-24", "2026-11-01", "2026-04-24", "2026-10-30", "2026-07-15", "2026-04-04"}
	begin, _ := time.Parse("2006-01-02", days[l.r.IntN(len(days))])
	l.wall = begin.Add(time.Duration(l.r.Int64N(int64(48 * time.Hour))))
	l.open()
	l.set()
	return l
}

func (l *life) open() {
	l.t.Helper()
	started := l.awake
	p, err := Open(context.Background(), Config{
		Store:   l.store,
		now:     func() moment { return moment{l.wall, l.awake - started} }, // the clock of a process begins with it
		Person:  func(jid string) string { return jid },
		IsNew:   func(_ int64, jid string) bool { return !l.known[jid] },
		Changed: func(int64) { l.woken++ },
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.p, l.holds = p, map[string]bool{}
}

func (l *life) end() {
	l.must(l.p.Close())
	l.must(l.store.Update(context.Background(), func(tx *store.Tx) error { return Forget(tx, l.id) }))
	if l.path != l.original() {
		l.must(l.store.Close())
	}
}

func (l *life) original() string { return filepath.Join(filepath.Dir(l.path), "p.db") }

func (l *life) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatalf("life %d: %v", l.seed, err)
	}
}

// set draws limits that are reached within some steps.
func (l *life) set() {
	some := func(least, most int64) *int64 {
		if l.r.IntN(2) == 0 {
			return nil
		}
		n := least + l.r.Int64N(most-least+1)
		return &n
	}
	in := Limits{PerMinute: some(1, 4), PerHour: some(2, 9), PerDay: some(3, 20), NewContactsPerDay: some(0, 5), Timezone: zones[l.r.IntN(len(zones))]}
	if l.r.IntN(3) == 0 {
		in.WarmUp = &WarmUp{From: 2, To: 12, Days: 1 + l.r.Int64N(4), StartedAt: event.At(l.wall.Add(time.Duration(l.r.Int64N(int64(96*time.Hour))) - 72*time.Hour)).String()}
	}
	if l.r.IntN(3) == 0 {
		in.QuietHours = &QuietHours{From: fmt.Sprintf("%02d:%02d", l.r.IntN(24), l.r.IntN(60)), To: fmt.Sprintf("%02d:%02d", l.r.IntN(24), l.r.IntN(60))}
		if in.QuietHours.From == in.QuietHours.To {
			in.QuietHours = nil
		}
	}
	before := l.woken
	kept, err := l.p.Set(context.Background(), l.id, in, func(*store.Tx) bool { return true })
	l.must(err)
	if l.woken == before {
		l.t.Error("no notice of the changed limits")
	}
	l.limits, l.wait = kept, map[string]time.Time{}
	l.zone, err = time.LoadLocation(in.Timezone)
	l.must(err)
}

func (l *life) person() string { return fmt.Sprint("p", l.r.IntN(9)) }

func (l *life) step() string {
	switch n := l.r.IntN(100); {
	case n < 45:
		return l.send(l.person(), "")
	case n < 60:
		return l.hold(fmt.Sprint("batch", l.r.IntN(3)))
	case n < 70:
		l.pass(time.Duration(l.r.Int64N(int64(90 * time.Second))))
	case n < 82:
		l.pass(time.Duration(l.r.Int64N(int64(3 * time.Hour))))
	case n < 84:
		l.pass(time.Duration(l.r.Int64N(int64(30 * time.Hour))))
	case n < 88:
		jumps := []time.Duration{time.Second, time.Minute, time.Hour, 12 * time.Hour, 400 * 24 * time.Hour}
		by := drift + 1 + time.Duration(l.r.Int64N(int64(jumps[l.r.IntN(len(jumps))])))
		if l.r.IntN(2) == 0 {
			by = -by
		}
		l.wall, l.jumped = l.wall.Add(by), true
		return "jump"
	case n < 91:
		l.set()
	case n < 93:
		l.known[l.person()] = true
	case n < 97:
		l.must(l.p.Close())
		l.restarted()
		return "restart"
	case n < 98 && l.seed%20 == 0 && !l.jumped:
		l.crash()
		return "restart"
	}
	return ""
}

// restarted starts the process again. The file states past times by the wall clock, to the
// millisecond.
func (l *life) restarted() {
	l.jumped = false
	for i := range l.left {
		l.left[i].awake = min(l.left[i].awake.Truncate(time.Millisecond)+time.Millisecond, l.awake)
	}
	l.open()
}

// crash continues with the file that a kill leaves: without pending writes.
func (l *life) crash() {
	raw, err := os.ReadFile(l.path)
	l.must(err)
	after := filepath.Join(filepath.Dir(l.original()), fmt.Sprintf("crash%d-%d.db", l.seed, l.r.Uint64()))
	l.must(os.WriteFile(after, raw, 0o600))
	if l.path != l.original() {
		l.must(l.store.Close())
	} else {
		l.must(l.store.Update(context.Background(), func(tx *store.Tx) error { return Forget(tx, l.id) }))
	}
	l.store, l.path = openStore(l.t, after), after
	l.doubt = true
	l.restarted()
}

func (l *life) pass(d time.Duration) {
	l.wall, l.awake = l.wall.Add(d), l.awake+d
}

// send sends one message from the API, or of a sender that holds a place.
func (l *life) send(to, sender string) string {
	pass, err := l.p.Begin(l.id, to, sender)
	if err == nil {
		l.pass(time.Duration(l.r.Int64N(int64(3 * time.Second))))
		err = pass.Leave()
	}
	if err != nil {
		pass.End(false)
		l.refused(err, to, sender)
		return "refused"
	}
	gone := left{awake: l.awake}
	if l.limits.NewContactsPerDay != nil && (!l.known[to] || l.people(l.today)[to]) {
		gone.person = to // a new contact stays one for the day
	}
	delete(l.holds, sender)
	if why := l.forbids(to, 0); why != "" {
		l.t.Errorf("life %d: a message left although %s", l.seed, why)
	}
	if l.r.IntN(8) == 0 {
		pass.End(false) // it did not leave after all
		return "send"
	}
	pass.End(true)
	l.left = append(l.left, gone)
	l.jumped = false
	return "send"
}

// hold is a batch that asks for its turn, and sends once it has it.
func (l *life) hold(sender string) string {
	to := l.person()
	refused := l.p.Hold(l.id, to, sender)
	if refused != nil {
		l.refused(refused.error(), to, sender)
		return "refused"
	}
	l.holds[sender] = true
	switch l.r.IntN(4) {
	case 0:
		l.p.Release(sender)
		delete(l.holds, sender)
		return ""
	case 1:
		return "" // it prepares
	}
	return l.send(to, sender)
}

// refused checks a refusal against the rules: it must hold now, and until the last moment before
// the time that it names.
func (l *life) refused(err error, to, sender string) {
	e, ok := errors.AsType[*event.NotNowError](err)
	if !ok || e.Code != Code {
		l.t.Errorf("life %d: %v", l.seed, err)
		return
	}
	if l.doubt {
		return // what may have left in the crash counts, and is not in the model's book
	}
	held := len(l.holds)
	if l.holds[sender] {
		held--
	}
	wall, awake := l.wall, l.awake
	for _, later := range []time.Duration{0, e.Until.Sub(l.wall) / 2, e.Until.Sub(l.wall) - 2*time.Millisecond} {
		if later < 0 {
			continue
		}
		l.wall, l.awake = wall.Add(later), awake+later
		if l.forbids(to, held) == "" {
			l.t.Errorf("life %d: %q, yet nothing is against it %s later (%d places held)", l.seed, err, later, held)
		}
	}
	l.wall, l.awake = wall, awake
}

// forbids returns why a message must not leave now, "" if it may. Places that other senders hold may
// be needed by them.
func (l *life) forbids(to string, held int) string {
	count := func(in func(left) bool) (n int64) {
		for _, m := range l.left {
			if in(m) {
				n++
			}
		}
		return n + int64(held)
	}
	within := func(span time.Duration) func(left) bool {
		return func(m left) bool { return l.awake-m.awake < span }
	}
	switch {
	case l.limits.PerMinute != nil && count(within(time.Minute)) >= *l.limits.PerMinute:
		return "the minute is full"
	case l.limits.PerHour != nil && count(within(time.Hour)) >= *l.limits.PerHour:
		return "the hour is full"
	case l.limits.PerDay != nil && count(l.today) >= *l.limits.PerDay:
		return "the day is full"
	case l.limits.WarmUp != nil && count(l.today) >= l.warm():
		return "the account is too young"
	case l.limits.NewContactsPerDay != nil && !l.known[to] && l.tooNew(to, held):
		return "there are too many new contacts"
	case l.limits.QuietHours != nil && l.quiet():
		return "it is quiet"
	}
	return ""
}

// warm is the rule of the contract: from + (to − from) · min(d, days) / days.
func (l *life) warm() int64 {
	w := l.limits.WarmUp
	d := int64(max(0, l.wall.Sub(w.began()).Hours()) / 24)
	return w.From + (w.To-w.From)*min(d, w.Days)/w.Days
}

// today reports whether a message left on this day by the clock as it is set now.
func (l *life) today(m left) bool {
	date := func(t time.Time) string { return t.In(l.zone).Format("2006-01-02") }
	return date(l.wall.Add(m.awake-l.awake)) == date(l.wall)
}

// people returns the new contacts that messages were sent to.
func (l *life) people(in func(left) bool) map[string]bool {
	people := map[string]bool{}
	for _, m := range l.left {
		if m.person != "" && in(m) {
			people[m.person] = true
		}
	}
	return people
}

func (l *life) tooNew(to string, held int) bool {
	people := l.people(l.today)
	if held == 0 && people[to] {
		return false
	}
	return int64(len(people)+held) >= *l.limits.NewContactsPerDay
}

// quiet scans the minutes of the day: quiet hours begin when the clock first shows from, or a later
// time of that day, and end when it first shows to.
func (l *life) quiet() bool {
	at := func(hhmm string) time.Duration {
		var h, m int
		_, _ = fmt.Sscanf(hhmm, "%d:%d", &h, &m)
		return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	}
	from, to := at(l.limits.QuietHours.From), at(l.limits.QuietHours.To)
	if to < from {
		to += 24 * time.Hour
	}
	shows := func(t time.Time) time.Time { // what the clock shows
		t = t.In(l.zone)
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	}
	first := func(wall time.Time) bool { // has the clock ever shown it by now?
		for back := time.Duration(0); back <= 3*time.Hour; back += time.Minute / 2 {
			if !shows(l.wall.Add(-back)).Before(wall) {
				return true
			}
		}
		return false
	}
	today := shows(l.wall).Truncate(24 * time.Hour)
	for _, d := range []time.Time{today.Add(-24 * time.Hour), today} {
		if first(d.Add(from)) && !first(d.Add(to)) {
			return true
		}
	}
	return false
}
