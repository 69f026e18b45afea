package batch

import (
	"postern/event"
)

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
