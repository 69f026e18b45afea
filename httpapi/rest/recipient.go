package rest

import (
	"net/http"

	"postern/event"
)

// OneRecipient names a person or a group by exactly one of its fields.
type OneRecipient struct {
	Number    *string `json:"number"`
	Chat      *string `json:"chat"`
	Recipient *string `json:"recipient"`
}

// Parse returns the recipient.
func (t *OneRecipient) Parse() (event.Recipient, error) {
	var given []string
	for _, f := range []*string{t.Number, t.Chat, t.Recipient} {
		if f != nil {
			given = append(given, *f)
		}
	}
	if len(given) != 1 {
		return event.Recipient{}, Refuse(http.StatusBadRequest, "ONE_RECIPIENT", "give exactly one of number, chat and recipient")
	}
	return event.ParseRecipient(given[0])
}

// Presences returns the presences of a send; the first is none.
func Presences() []event.Presence {
	return []event.Presence{
		"", event.PresenceComposing, event.PresenceRecording, event.PresencePaused, event.PresenceAvailable, event.PresenceUnavailable,
	}
}
