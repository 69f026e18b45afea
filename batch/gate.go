package batch

import (
	"time"

	"github.com/google/uuid"
)

// Question is whether an instance may send to someone now.
type Question struct {
	Instance int64
	// Batch asks in order to send next. When the gate is open it may have a place
	// reserved until the message has left or Config.LetGo is called.
	Batch     uuid.UUID
	Recipient string // digits of the phone number; empty: someone of whom nothing is known
	// Wait has a restriction of the account that is only about strangers keep
	// everyone back.
	Wait bool
}

// Gate answers a Question. The zero Gate is open.
type Gate struct {
	// Until is when asking again is worth it, unless a change is reported before. The
	// gate is open when that is zero or past.
	Until time.Time
	// After is when the message may leave through an open gate, for the instance
	// leaves some time between two; zero: at once.
	After time.Time
	// Strangers says that the recipient is kept back, and others may not be.
	// Without it the answer is the same for everyone.
	Strangers bool
	// Reason is why, as a machine word such as REACHOUT_TIMELOCKED, and Text the
	// same for people.
	Reason, Text string
}

// Shut reports whether the gate is not open at now.
func (g Gate) Shut(now time.Time) bool { return g.Until.After(now) }

// Both is what two gates, one behind the other, come to: the one that is shut
// for everyone says more than the one that is only shut for strangers, and of
// two alike the one that opens later.
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
