package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"postern/batch"
	"postern/event"
	"postern/instance"
	"postern/instance/pace"
	"postern/internal/plural"
	"postern/messages"
)

// Gate implements [batch.Fleet]. It answers from the restrictions of the account, and where those let pass,
// from the limits of the instance.
func (f Fleet) Gate(q batch.Question) batch.Gate {
	rec, err := f.Registry.ByID(q.Instance)
	if err != nil {
		return batch.Gate{}
	}
	var gate batch.Gate
	now := f.Registry.Now()
	for _, one := range rec.InForce(now) {
		strangers := one.Strangers() && !q.Wait
		if strangers && q.Recipient != "" && !slices.Contains(one.Refused, q.Recipient) && f.Knows(q.Instance, q.Recipient) {
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
	return limits(f.Pacer, q)
}

// The share of undelivered messages from which on, with that number of them, an instance delivers nothing any more.
const (
	fewUndelivered  = 20
	manyUndelivered = 0.3
)

// Silent reports whether too many messages of the last hour have no receipt.
func Silent(lost messages.Undelivered) bool {
	return lost.Share != nil && lost.Hour >= fewUndelivered && *lost.Share >= manyUndelivered
}

// delivers holds an instance back while too many of its messages have no receipt, if the settings ask for that.
func (f Fleet) delivers(id int64, now time.Time) batch.Gate {
	if !f.Benches {
		return batch.Gate{}
	}
	lost, err := f.Supervisor.Undelivered(id)
	if err != nil || !Silent(lost) {
		return batch.Gate{}
	}
	return batch.Gate{
		Until: now.Add(time.Minute), Reason: "UNDELIVERED",
		Text: fmt.Sprintf("%s that fell due in the last hour have no receipt", plural.Of(lost.Hour, "message")),
	}
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

// limits returns the gate of an instance's limits.
func limits(p *pace.Pacer, q batch.Question) batch.Gate {
	sender := ""
	if q.Batch != uuid.Nil {
		sender = q.Batch.String()
	}
	refused := p.Hold(q.Instance, q.Recipient+"@"+event.UserServer, sender)
	if refused == nil {
		return batch.Gate{After: p.Spaced(q.Instance)}
	}
	return batch.Gate{Until: refused.Until, Strangers: refused.Strangers, Reason: pace.Code, Text: refused.Text()}
}
