package rest

import (
	"net/http"

	"postern/event"
)

// OneRecipient names a person, a group or, for sends, a newsletter by exactly one of its fields.
type OneRecipient struct {
	Number    *string `json:"number"`
	Chat      *string `json:"chat"`
	Recipient *string `json:"recipient"`
}

// Parse returns the recipient, a person or a group.
func (t *OneRecipient) Parse() (event.Recipient, error) { return t.parse(event.ParseRecipient) }

// Destination returns the recipient, which may be a newsletter.
func (t *OneRecipient) Destination() (event.Recipient, error) { return t.parse(event.ParseDestination) }

func (t *OneRecipient) parse(read func(string) (event.Recipient, error)) (event.Recipient, error) {
	var given []string
	for _, f := range []*string{t.Number, t.Chat, t.Recipient} {
		if f != nil {
			given = append(given, *f)
		}
	}
	if len(given) != 1 {
		return event.Recipient{}, Refuse(http.StatusBadRequest, "ONE_RECIPIENT", "give exactly one of number, chat and recipient")
	}
	return read(given[0])
}

// Presences returns the presences of a send; the first is none.
func Presences() []event.Presence {
	return []event.Presence{
		"", event.PresenceComposing, event.PresenceRecording, event.PresencePaused, event.PresenceAvailable, event.PresenceUnavailable,
	}
}
