package trouble

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/delivery/receivers"
	"postern/event"
)

const (
	// every is how often the parts are looked at, and often while somebody looks at the result. seenFor is how long
	// somebody counts as looking.
	every   = 10 * time.Second
	often   = time.Second
	seenFor = 15 * time.Second
	// countsEvery is how often Changed is called when only the number of waiting events changes.
	countsEvery = 5 * time.Second
	// part is the part of the time that looking at receivers may take.
	part = 100
)

// Account is an instance as it is now.
type Account struct {
	ID         int64
	Name       string
	State      event.State
	StateSince time.Time // zero: not known
	Paired     bool      // it has an account
	Dials      bool      // it connects by itself
	ByCall     bool      // it was logged out by a call
	Moved      bool
	Elsewhere  bool      // of another network
	Restricted time.Time // since then; zero: it is not
	PhoneSeen  time.Time // the phone's last sign; zero: none yet
	PairedAt   time.Time // no sign can be older
	Unanswered bool      // too many messages have no receipt
}

// Job is an open batch as it is now.
type Job struct {
	ID        uuid.UUID
	Owner     uuid.UUID
	Name      string
	Status    event.BatchStatus
	UpdatedAt time.Time
	Instances []int64
	Ended     int // items that ended
	Failed    int // of these, failed or in doubt
}

// Condition is something that is wrong with the program.
type Condition struct {
	Kind     Kind
	Severity Severity
	Text     string    // the reason; the same as long as it is the same condition
	Since    time.Time // zero: since it was seen first
}

// Config configures a Watch. All fields are required.
type Config struct {
	Accounts  func() []Account
	Receivers func() ([]receivers.Row, error)
	Jobs      func() []Job
	Program   func() []Condition
	// Changed is called after the list has changed, from the goroutine of Start.
	Changed func()
	// Touched is called with each instance whose kinds of trouble changed.
	Touched func(instance int64)
	// Watched reports whether a console is open, so that the list is at most a second old.
	Watched func() bool
	Now     func() time.Time

	PhoneAttention, PhoneBroken time.Duration // without a sign of a phone; 0: never

	Logger *slog.Logger
}

// Watch keeps the list of what is wrong. It is safe for concurrent use.
type Watch struct {
	cfg Config
	log *slog.Logger

	end  chan struct{}
	done sync.WaitGroup
	poke chan struct{} // somebody looks

	// Of the goroutine of Start, and of look.
	looking  sync.Mutex
	accounts map[int64]*line
	waiting  map[uuid.UUID]time.Time // batches that wait for an instance, since
	first    map[mark]time.Time      // conditions without a beginning of their own
	rows     []receivers.Row
	rowsNext time.Time
	told     []Finding // what Changed was called for
	toldAt   time.Time

	mu     sync.RWMutex
	all    []Finding
	seen   time.Time
	looked bool
}

// line is how the connection of an account has been.
type line struct {
	offline time.Time // since then without a break of ten seconds; zero: it is online
	online  time.Time
}

// mark names a condition of a subject.
type mark struct {
	kind Kind
	id   string
}

// New returns a watch that has not looked yet.
func New(cfg Config) *Watch {
	return &Watch{
		cfg: cfg, log: cfg.Logger.With("component", "trouble"), end: make(chan struct{}), poke: make(chan struct{}, 1),
		accounts: map[int64]*line{}, waiting: map[uuid.UUID]time.Time{}, first: map[mark]time.Time{},
	}
}

// Start looks at the parts until Stop.
func (w *Watch) Start() {
	w.done.Go(func() {
		for {
			w.Look()
			pause := time.NewTimer(w.pause())
			select {
			case <-pause.C:
			case <-w.poke:
				pause.Stop()
			case <-w.end:
				pause.Stop()
				return
			}
		}
	})
}

// Stop ends what Start began.
func (w *Watch) Stop(context.Context) error {
	close(w.end)
	w.done.Wait()
	return nil
}

func (w *Watch) pause() time.Duration {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.cfg.Watched() || w.cfg.Now().Sub(w.seen) < seenFor {
		return often
	}
	return every
}

// Seen notes that somebody looks at the list, so that it is at most a second old from now on.
func (w *Watch) Seen() {
	w.mu.Lock()
	now := w.cfg.Now()
	fresh := w.looked && now.Sub(w.seen) < seenFor
	w.seen = now
	w.mu.Unlock()
	if !fresh {
		select {
		case w.poke <- struct{}{}:
		default:
		}
	}
}

// Items returns what a viewer may see.
func (w *Watch) Items(v Viewer) []Item {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return itemsOf(w.all, v)
}

// Of returns the kinds of trouble of each instance.
func (w *Watch) Of() map[int64][]Kind {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return byInstance(w.all)
}

func byInstance(all []Finding) map[int64][]Kind {
	by := map[int64][]Kind{}
	for i := range all {
		f := &all[i]
		if f.Instance != 0 && !slices.Contains(by[f.Instance], f.Kind) {
			by[f.Instance] = append(by[f.Instance], f.Kind)
		}
	}
	return by
}

// Counts returns the number of subjects by kind and severity, of all kinds.
func (w *Watch) Counts() map[Kind]map[Severity]int {
	counts := map[Kind]map[Severity]int{}
	for _, k := range Kinds() {
		counts[k] = map[Severity]int{Attention: 0, Broken: 0}
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	for i := range w.all {
		counts[w.all[i].Kind][w.all[i].Severity]++
	}
	return counts
}

// Look looks at all parts once.
func (w *Watch) Look() {
	w.looking.Lock()
	defer w.looking.Unlock()
	p := &pass{w: w, now: w.cfg.Now(), marks: map[mark]bool{}}
	p.look()
	for m := range w.first {
		if !p.marks[m] {
			delete(w.first, m)
		}
	}
	w.mu.Lock()
	before := w.all
	w.all, w.looked = p.found, true
	w.mu.Unlock()
	if !slices.Equal(before, p.found) {
		w.tell(before, p.found)
		was, is := byInstance(before), byInstance(p.found)
		for id := range union(was, is) {
			if !slices.Equal(was[id], is[id]) {
				w.cfg.Touched(id)
			}
		}
	}
	if age := p.now.Sub(w.toldAt); !slices.EqualFunc(w.told, p.found, sameButWaiting) || (age < 0 || age >= countsEvery) && !slices.Equal(w.told, p.found) {
		w.told, w.toldAt = p.found, p.now
		w.cfg.Changed()
	}
}

// union returns the keys of both maps.
func union(a, b map[int64][]Kind) map[int64]bool {
	all := map[int64]bool{}
	for id := range a {
		all[id] = true
	}
	for id := range b {
		all[id] = true
	}
	return all
}

// sameButWaiting reports whether two findings differ at most in how many events wait.
func sameButWaiting(a, b Finding) bool {
	a.Waiting = b.Waiting
	return a == b
}

// tell logs each item that came or went.
func (w *Watch) tell(before, now []Finding) {
	was, is := itemsOf(before, Everything()), itemsOf(now, Everything())
	has := func(all []Item, id string) bool {
		return slices.ContainsFunc(all, func(i Item) bool { return i.ID == id })
	}
	for _, i := range is {
		if !has(was, i.ID) {
			w.log.Warn("trouble began; look at GET /troubles or the console for where it is and what to do", attrs(i)...)
		}
	}
	for _, i := range was {
		if !has(is, i.ID) {
			w.log.Info("trouble ended", attrs(i)...)
		}
	}
}

func attrs(i Item) []any {
	all := []any{"kind", string(i.Kind), "count", i.Count}
	if i.Origin != nil {
		all = append(all, "origin", *i.Origin)
	}
	return all
}
