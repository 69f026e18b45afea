package clientversion

import (
	"fmt"
	"time"

	"postern/whatsapp"
)

// storeAgain is when a state that could not be stored is tried again.
const storeAgain = time.Minute

// run asks what is to be asked, one question at a time.
func (r *Refresher) run() {
	for {
		alarm := time.NewTimer(r.wait())
		select {
		case <-alarm.C:
		case <-r.wake:
		case <-r.life.Done():
			alarm.Stop()
			return
		}
		alarm.Stop()
		if instance, ok := r.turn(); ok {
			r.ask(instance)
		}
		r.keep()
	}
}

// forever is longer than anything waits here.
const forever = 24 * time.Hour

// wait is how long nothing is to be done.
func (r *Refresher) wait() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, wait := time.Now(), forever
	if r.state.bound(now); !r.state.Due.IsZero() {
		wait = r.state.Due.Sub(now)
	}
	if r.state != r.stored {
		wait = min(wait, storeAgain)
	}
	return max(wait, 0)
}

// turn reports whether a question is to be asked now, and on whose way. One
// that is due is dropped when nobody is refused any more.
func (r *Refresher) turn() (instance int64, ok bool) {
	r.mu.Lock()
	asking, through := r.asking, r.through
	due := !r.state.Due.IsZero() && !time.Now().Before(r.state.Due)
	r.mu.Unlock()
	if asking || !due {
		return through, asking
	}
	refused := r.cfg.Refused()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.asking:
		return r.through, true
	case len(refused) == 0:
		r.state.Due = time.Time{}
		return 0, false
	default:
		r.asking = true
		return refused[r.state.Failures%len(refused)], true // each time another way
	}
}

// ask asks once and draws the consequences.
func (r *Refresher) ask(instance int64) {
	current := r.cfg.Client.Version()
	r.log.Info("WhatsApp refuses this version of the client; asking for the current one", "version", current.String(), "instance_id", instance)
	r.change(func(st *state) { st.begin(time.Now(), current.String()) })
	r.keep() // no crash brings the next question earlier
	found, err := r.cfg.Client.AskVersion(r.life, instance)
	if err == nil {
		err = r.judge(found, current)
	}
	if r.life.Err() != nil {
		return // stopping: the next start goes on
	}
	if err == nil {
		r.change(func(st *state) { st.found(found.String()) })
		r.keep()
	}
	r.answered(found, err)
	r.cfg.Renew(err == nil)
}

// judge returns an error when an answer is of no use.
func (r *Refresher) judge(found, current whatsapp.Version) error {
	r.mu.Lock()
	known := r.state.known(current)
	r.mu.Unlock()
	switch {
	case !found.SameKind(current):
		return fmt.Errorf("WhatsApp names %s, which is another kind of client than %s", found, current)
	case found.Less(known):
		return fmt.Errorf("WhatsApp names %s, which is older than %s", found, known)
	case found == known, found == current:
		return fmt.Errorf("WhatsApp names %s, which it refuses", found)
	}
	return nil
}

// answered ends a question. A version that was found is used from here on.
func (r *Refresher) answered(found whatsapp.Version, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking, r.through = false, 0
	if err != nil {
		r.log.Error("no newer version of the client was found; the refused instances stay away, asking again later; set whatsapp.version to one that WhatsApp takes, or install a newer release",
			"error", err, "next", r.state.Due.UTC().Format(time.RFC3339), "count", r.state.Failures)
		return
	}
	r.log.Info("WhatsApp takes a newer version of the client; the refused instances dial again", "version", found.String(), "former", r.cfg.Client.Version().String())
	r.cfg.Client.SetVersion(found)
	r.source = Fetched
}

func (r *Refresher) change(how func(*state)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	how(&r.state)
}

// keep stores the state when it is another than is stored. Only run calls it. A
// full disk keeps nobody offline: what could not be stored counts all the same,
// and is tried again.
func (r *Refresher) keep() {
	r.mu.Lock()
	now, was, file := r.state, r.stored, r.cfg.Store
	r.mu.Unlock()
	if now == was {
		return
	}
	if err := now.save(file); err != nil {
		r.log.Warn("the version of the client could not be stored", "error", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored = now
}
