package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"postern/batch"
	"postern/event"
	"postern/instance"
	"postern/internal/plural"
)

// Gate answers from the restrictions of the account, and where those let pass,
// from the limits of the instance.
func (f fleet) Gate(q batch.Question) batch.Gate {
	rec, err := f.registry.ByID(q.Instance)
	if err != nil {
		return batch.Gate{}
	}
	var gate batch.Gate
	now := f.registry.Now()
	for _, one := range rec.InForce(now) {
		strangers := one.Strangers() && !q.Wait
		if strangers && q.Recipient != "" && !slices.Contains(one.Refused, q.Recipient) && f.knows(q.Instance, q.Recipient) {
			continue
		}
		gate = gate.Both(batch.Gate{
			Until: one.Until.Time, Strangers: strangers, Reason: reasonOf(one), Text: textOf(one),
		}, now)
	}
	if gate.Shut(now) {
		return gate
	}
	if gate = f.delivers(q.Instance, now); gate.Shut(now) {
		return gate
	}
	return limits(f.pacer, q)
}

// The share of undelivered messages above which, with that number of them, an instance delivers nothing any more.
const (
	fewUndelivered  = 20
	manyUndelivered = 0.3
)

// delivers holds an instance back while too many of its messages have no receipt, if the settings ask for that.
func (f fleet) delivers(id int64, now time.Time) batch.Gate {
	if !f.benches {
		return batch.Gate{}
	}
	lost, err := f.supervisor.Undelivered(id)
	if err != nil || lost.Share == nil || lost.Hour < fewUndelivered || *lost.Share < manyUndelivered {
		return batch.Gate{}
	}
	return batch.Gate{
		Until: now.Add(time.Minute), Reason: "UNDELIVERED",
		Text: fmt.Sprintf("%s that fell due in the last hour have no receipt", plural.Of(lost.Hour, "message")),
	}
}

// know reports whether a person wrote to the account recently, or gave it a
// privacy token. A failed lookup means a stranger.
func (c contacts) know(id int64, number string) bool {
	now := c.registry.Now()
	_, names := c.devices.Person(number + "@" + event.UserServer)
	heard, err := c.messages.Heard(id, names, now.Add(-instance.Acquainted))
	if err == nil && heard {
		return true
	}
	trusted, err := c.devices.Trusted(id, number, now)
	return err == nil && trusted
}

// reasonOf returns the code of a restriction.
func reasonOf(one instance.Restriction) string {
	if one.Type == event.StatusAccountReachoutTimelock {
		return event.ReachoutTimelocked
	}
	return strings.ToUpper(one.Kind())
}

// textOf describes a restriction in words.
func textOf(one instance.Restriction) string {
	switch one.Type {
	case event.StatusAccountRestricted:
		return fmt.Sprintf("WhatsApp refused %s in a row with code %d", plural.Of(one.Count, "message"), one.Code)
	case event.StatusTemporaryBan:
		return "WhatsApp banned the account for a while"
	default:
		return "WhatsApp does not let the account write to people it does not know"
	}
}
