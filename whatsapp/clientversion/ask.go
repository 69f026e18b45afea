package clientversion

import (
	"fmt"
	"time"

	"postern/whatsapp"
)

// storeAgain is the pause before a failed write of the state is repeated.
const storeAgain = time.Minute

// run makes the requests, one at a time.
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

// forever is longer than any wait here.
const forever = 24 * time.Hour

// wait returns how long there is nothing to do.
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

// turn reports whether to make a request now, and through which instance's proxy. A due
// request is dropped if no instance is rejected any more.
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
		return refused[r.state.Failures%len(refused)], true // another one each time
	}
}

// ask makes one request and applies the result.
func (r *Refresher) ask(instance int64) {
	current := r.cfg.Client.Version()
	r.log.Info("WhatsApp rejected our client version as outdated; asking for the current one", "version", current.String(), "instance_id", instance)
	r.change(func(st *state) { st.begin(time.Now(), current.String()) })
	r.keep() // so that a crash does not shorten the interval
	found, err := r.cfg.Client.AskVersion(r.life, instance)
	if err == nil {
		err = r.judge(found, current)
	}
	if r.life.Err() != nil {
		return // stopping: the next start continues
	}
	if err == nil {
		r.change(func(st *state) { st.found(found.String()) })
		r.keep()
	}
	r.answered(found, err)
	r.cfg.Renew(err == nil)
}

// judge returns an error if an answer is unusable.
func (r *Refresher) judge(found, current whatsapp.Version) error {
	r.mu.Lock()
	known := r.state.known(current)
	r.mu.Unlock()
	switch {
	case !found.SameKind(current):
		return fmt.Errorf("WhatsApp returned %s, which is another kind of client than %s", found, current)
	case found.Less(known):
		return fmt.Errorf("WhatsApp returned %s, which is older than %s", found, known)
	case found == known, found == current:
		return fmt.Errorf("WhatsApp returned %s, which it rejects", found)
	}
	return nil
}

// answered ends a request. A version that was found is used from now on.
func (r *Refresher) answered(found whatsapp.Version, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking, r.through = false, 0
	if err != nil {
		r.log.Error("no newer client version found; rejected instances stay offline, asking again later; set whatsapp.version to an accepted one, or install a newer release",
			"error", err, "next", r.state.Due.UTC().Format(time.RFC3339), "count", r.state.Failures)
		return
	}
	r.log.Info("newer client version found; rejected instances dial again", "version", found.String(), "former", r.cfg.Client.Version().String())
	r.cfg.Client.SetVersion(found)
	r.source = Fetched
}

func (r *Refresher) change(how func(*state)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	how(&r.state)
}

// keep stores the state if it changed. Only run calls it. A full disk keeps no instance
// offline: an unstored state is in effect, and stored later.
func (r *Refresher) keep() {
	r.mu.Lock()
	now, was, file := r.state, r.stored, r.cfg.Store
	r.mu.Unlock()
	if now == was {
		return
	}
	if err := now.save(file); err != nil {
		r.log.Warn("client version not stored", "error", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored = now
}
