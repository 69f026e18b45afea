package batch

import (
	"postern/event"
)

// Held is the reason why one of a batch's instances cannot send now.
type Held struct {
	InstanceID    int64      `json:"instanceId"`
	InstanceName  string     `json:"instanceName"`
	Reason        string     `json:"reason"`  // a code, such as REACHOUT_TIMELOCKED
	Message       string     `json:"message"` // the same for people
	Until         event.Time `json:"until"`   // when it is tried again, should nothing happen before
	StrangersOnly bool       `json:"strangersOnly"`
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
