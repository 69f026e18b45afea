package batch

import (
	"time"

	"github.com/google/uuid"

	"postern/event"
)

// Question asks whether an instance may send to a recipient now.
type Question struct {
	Instance int64
	// Batch asks in order to send next. When the gate is open it may have a place
	// reserved until the message has left or Config.LetGo is called.
	Batch     uuid.UUID
	Recipient string // digits of the phone number; empty: someone of whom nothing is known
	// Wait makes a restriction of the account that concerns only strangers hold
	// back every recipient.
	Wait bool
}

// Gate answers a Question. The zero Gate is open.
type Gate struct {
	// Until is when to ask again, unless a change is reported earlier. The
	// gate is open when that is zero or past.
	Until time.Time
	// After is when the message may leave through an open gate, for the instance
	// spaces its messages; zero: at once.
	After time.Time
	// Strangers means that this recipient is held back, while others may not be.
	// Without it the answer is the same for everyone.
	Strangers bool
	// Reason is the code of the cause, such as REACHOUT_TIMELOCKED, and Text the
	// same in words.
	Reason, Text string
}

// Shut reports whether the gate is not open at now.
func (g Gate) Shut(now time.Time) bool { return g.Until.After(now) }

// Both combines two gates, one behind the other: the one that is shut
// for everyone prevails over the one that is shut only for strangers, and of
// two alike the one that opens later prevails.
func (g Gate) Both(h Gate, now time.Time) Gate {
	switch {
	case !h.Shut(now):
		return g
	case !g.Shut(now):
		return h
	case g.Strangers != h.Strangers:
		if g.Strangers {
			return h
		}
		return g
	case h.Until.After(g.Until):
		return h
	}
	return g
}

// Held is the reason why one of a batch's instances cannot send now.
type Held struct {
	InstanceID    int64      `json:"instanceId" doc:"The instance." example:"1"`
	InstanceName  string     `json:"instanceName" doc:"Its name." example:"$name"`
	Reason        string     `json:"reason" doc:"Why, as a code." example:"REACHOUT_TIMELOCKED"`
	Message       string     `json:"message" doc:"The same for people." example:"WhatsApp does not let the account write to people it does not know"`
	Until         event.Time `json:"until" doc:"The time of the next try at the latest." example:"$time"`
	StrangersOnly bool       `json:"strangersOnly" doc:"Whether messages to people whom the account knows are still sent." example:"true"`
}

// Held returns why the instances of a batch cannot send now, even if only
// to people they do not know.
func (e *Engine) Held(v View) []Held {
	held, now := []Held{}, e.now()
	for _, i := range v.Instances {
		g := e.cfg.Fleet.Gate(Question{Instance: i.ID, Wait: v.Options.WhenRestricted == event.RestrictedWait})
		if g.Shut(now) {
			held = append(held, Held{i.ID, i.Name, g.Reason, g.Text, event.At(g.Until), g.Strangers})
		}
	}
	return held
}
