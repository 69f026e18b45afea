package instance

import (
	"slices"
	"strings"
	"time"

	"postern/event"
)

// Acquainted is how long after their last message a person is known to an account.
const Acquainted = 28 * 24 * time.Hour

// isStranger reports whether a message is from a person not heard lately, if that matters
// now.
func (r *Registry) isStranger(instance int64, m *event.Message) bool {
	if m.KeyFromMe || m.IsGroup || m.KeyRemoteJID == nil {
		return false
	}
	rec, err := r.ByID(instance)
	if err != nil || !r.keepsStrangers(rec) {
		return false
	}
	if !strings.HasSuffix(*m.KeyRemoteJID, "@"+event.UserServer) {
		return false // messages are never sent to a bare LID; see MetSomewhere
	}
	heard, err := r.cfg.Messages.Heard(instance, []string{*m.KeyRemoteJID}, r.cfg.Store.Now().Add(-Acquainted))
	return err == nil && !heard
}

// Met reports that a person may no longer be a stranger to an instance, if that matters
// now.
func (r *Registry) Met(instance int64) {
	rec, err := r.ByID(instance)
	if err == nil && r.cfg.OnStatus != nil && r.keepsStrangers(rec) {
		r.cfg.OnStatus(instance, rec.Status)
	}
}

// MetSomewhere is Met for all affected instances: a number and a LID turned out to be one
// person, with messages stored under either.
func (r *Registry) MetSomewhere() {
	for _, rec := range r.List() {
		r.Met(rec.ID)
	}
}

// keepsStrangers reports whether a restriction or a limit currently prevents the instance
// from writing to strangers.
func (r *Registry) keepsStrangers(rec Record) bool {
	return slices.ContainsFunc(rec.InForce(r.cfg.Store.Now()), Restriction.Strangers) ||
		r.cfg.KeepsStrangers != nil && r.cfg.KeepsStrangers(rec.ID)
}
