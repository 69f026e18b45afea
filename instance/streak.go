package instance

import (
	"context"
	"errors"
	"strings"
	"time"

	"postern/event"
)

// Consequences of refusals in a row.
const (
	streakBench    = time.Hour // how long batches skip the instance
	streakRedial   = 3         // number of refusals that cause a reconnect
	redialInterval = time.Hour // minimum time between such reconnects
)

// streak counts refusals of one code in a row, to different people. The keeper's mutex
// guards it. A reconnect does not end it.
type streak struct {
	code     int
	count    int
	people   map[string]bool // people refused; bounded by the limit
	redialed bool            // in this streak
}

// refused counts a refusal and reports whether the streak grew.
func (s *streak) refused(code int, who string, limit int) bool {
	if s.code != code {
		*s = streak{code: code}
	}
	if s.people[who] {
		return false
	}
	if s.people == nil {
		s.people = map[string]bool{}
	}
	if len(s.people) <= max(limit, streakRedial) {
		s.people[who] = true
	}
	s.count++
	return true
}

// reconnects reports whether the streak requires a reconnect, once.
func (s *streak) reconnects() bool {
	if s.redialed || s.count < streakRedial || s.code < 400 || s.code > 499 {
		return false
	}
	s.redialed = true
	return true
}

// judge updates restrictions after a send, and adds the known end of a restriction to an
// error.
func (k *keeper) judge(ctx context.Context, to string, err error) error {
	number, person := strings.CutSuffix(to, "@"+event.UserServer)
	if err == nil {
		k.succeeded(ctx)
		return nil
	}
	if held, ok := errors.AsType[*event.NotNowError](err); ok && held.Code == event.ReachoutTimelocked {
		return k.timelocked(ctx, number, person, held)
	}
	if refused, ok := errors.AsType[*event.RefusedError](err); ok && event.IsPerson(to) {
		k.refused(ctx, k.sup.person(to), refused.Code)
	}
	return err
}

// timelocked records that the account may not write to strangers for now.
func (k *keeper) timelocked(ctx context.Context, number string, person bool, held *event.NotNowError) error {
	known := ""
	if person && k.sup.cfg.Knows != nil && k.sup.cfg.Knows(k.id, number) {
		known = number
	}
	found := event.Restriction{Type: event.StatusAccountReachoutTimelock, Code: event.ReachoutTimelockCode, Count: 1}
	if rec, err := k.sup.reg.ByID(k.id); err == nil {
		found.Until = rec.skewed(k.sup.reg.cfg.Store.Now())
	}
	one, err := k.sup.reg.infer(context.WithoutCancel(ctx), k.id, found, known)
	if err != nil {
		k.sup.log.Warn("restriction not stored", "instance_id", k.id, "error", err)
		return held
	}
	answer := *held
	answer.Until = one.Until.Time
	return &answer
}

// clockSkew is the assumed maximum difference to WhatsApp's clock.
const clockSkew = time.Minute

// skewed returns the end of a time lock that WhatsApp still enforces although the end it
// named has just passed: its clock is behind ours. It is zero if the refusal is about a
// new lock.
func (r Record) skewed(now time.Time) time.Time {
	one, ok := r.last(event.StatusAccountReachoutTimelock)
	if !ok || one.Inferred || !one.over(now) || now.Sub(one.Until.Time) > clockSkew {
		return time.Time{}
	}
	return now.Add(clockSkew)
}

// person returns a name of the person at a JID, the same for both of their addresses.
func (s *Supervisor) person(jid string) string {
	if s.cfg.Person != nil {
		if name := s.cfg.Person(jid); name != "" {
			return name
		}
	}
	return jid
}

// refused counts a refusal of a message to a person.
func (k *keeper) refused(ctx context.Context, who string, code int) {
	limit := k.sup.cfg.FailureStreak
	k.mu.Lock()
	longer := k.streak.refused(code, who, limit)
	count, redial := k.streak.count, longer && k.streak.reconnects()
	k.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	if longer && limit > 0 && count >= limit {
		_, err := k.sup.reg.infer(ctx, k.id, event.Restriction{
			Type: event.StatusAccountRestricted, Code: code, Count: count, Until: k.sup.reg.cfg.Store.Now().Add(streakBench),
		}, "")
		if err != nil {
			k.sup.log.Warn("restriction not stored", "instance_id", k.id, "error", err)
		}
	}
	if redial && k.sup.reg.redial(ctx, k.id) {
		k.sup.log.Warn("WhatsApp refuses consecutive messages; reconnecting; if it continues, look at what is sent and to whom", "instance_id", k.id, "code", code, "count", count)
		k.sup.spawn(k.reconnect)
	}
}

// succeeded ends a streak.
func (k *keeper) succeeded(ctx context.Context) {
	k.mu.Lock()
	k.streak = streak{}
	k.mu.Unlock()
	k.sup.reg.forgetStreak(context.WithoutCancel(ctx), k.id)
}

// reconnect drops the connection and dials again, between two messages.
func (k *keeper) reconnect() {
	resume, err := k.session.Hold(k.sup.life)
	if err != nil {
		return // stopping, or too busy: the next streak retries
	}
	defer resume()
	if err := k.sup.Restart(k.sup.life, k.id, ""); err != nil && k.sup.life.Err() == nil {
		k.sup.log.Warn("not reconnected", "instance_id", k.id, "error", err)
	}
}

// resumed returns the streak of the previous process.
func (r Record) resumed() streak {
	one, ok := r.last(event.StatusAccountRestricted)
	if !ok || one.Ended {
		return streak{}
	}
	return streak{code: one.Code, count: one.Count, redialed: true}
}

// forgetStreak records that a message succeeded after a streak, so that counting
// restarts. A bench in force remains.
func (r *Registry) forgetStreak(ctx context.Context, id int64) {
	e := r.entry(id)
	if e == nil {
		return
	}
	if one, ok := e.record.Load().last(event.StatusAccountRestricted); !ok || one.Ended && !one.over(r.cfg.Store.Now()) {
		return
	}
	_, _, err := r.change(ctx, id, func(rec *Record) bool {
		before, now := rec.Restrictions, r.cfg.Store.Now()
		rec.Restrictions = nil
		for _, one := range before {
			if one.Type == event.StatusAccountRestricted {
				if one.Ended = true; one.over(now) {
					continue
				}
			}
			rec.Restrictions = append(rec.Restrictions, one)
		}
		return true
	})
	if err != nil {
		r.log.Warn("end of a streak not stored", "instance_id", id, "error", err)
	}
}

// redial reports whether an instance may reconnect because of refusals, and records it.
func (r *Registry) redial(ctx context.Context, id int64) bool {
	_, due, err := r.change(ctx, id, func(rec *Record) bool {
		now := r.cfg.Store.Now()
		if now.Sub(rec.RedialedAt.Time) < redialInterval && !rec.RedialedAt.After(now) {
			return false
		}
		rec.RedialedAt = event.At(now)
		return true
	})
	return due && err == nil
}
