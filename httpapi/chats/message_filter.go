package chats

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"postern/event"
	"postern/httpapi/ref"
	"postern/httpapi/rest"
	"postern/messages"
)

// messageFilter selects stored messages. Addresses of people find both the phone
// JID and the LID.
type messageFilter struct {
	ID             *ref.Message       `json:"id" doc:"The id of a message here, or its id at WhatsApp." example:"42"`
	KeyID          string             `json:"keyId"`
	KeyRemoteJID   string             `json:"keyRemoteJid" doc:"Only messages of this chat." example:"$jid"`
	KeyFromMe      *Flag              `json:"keyFromMe" doc:"true: only messages that the account sent; false: only others." example:"true"`
	KeyParticipant string             `json:"keyParticipant" doc:"The sender in a group: the phone JID or the LID." example:"$jid"`
	MessageType    string             `json:"messageType" doc:"Only messages of this type." example:"conversation"`
	Status         event.UpdateStatus `json:"status"`        // the highest of its updates
	MessageStatus  event.UpdateStatus `json:"messageStatus"` // the same
	Source         string             `json:"source" doc:"The kind of device that sent it." example:"web"`
	Device         string             `json:"device" doc:"The same as source." example:"web"`
	PushName       string             `json:"pushName"`
	IsGroup        *Flag              `json:"isGroup"`
	UndeliveredFor string             `json:"undeliveredFor" doc:"Only messages to a person that have no receipt so long after WhatsApp took them: a duration." example:"1h"`
}

// Flag is a boolean that may be sent as a string.
type Flag bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *Flag) UnmarshalJSON(raw []byte) error {
	switch string(raw) {
	case "true", `"true"`:
		*f = true
	case "false", `"false"`:
		*f = false
	default:
		return errors.New("it must be true or false")
	}
	return nil
}

// UpdateStatuses returns the possible statuses of a message.
func UpdateStatuses() []event.UpdateStatus {
	return []event.UpdateStatus{
		event.StatusDelivered, event.StatusSent, event.StatusRead, event.StatusPlayed,
		event.StatusServerError, event.StatusRetry, event.StatusUnknown,
	}
}

// familyStatuses are the names that older gateways use for the status of a message, in any case, and
// two statuses without another name here.
func familyStatuses() map[string]event.UpdateStatus {
	return map[string]event.UpdateStatus{
		"ERROR": event.StatusServerError, "FAILED": event.StatusServerError,
		"PENDING":    statusPending,
		"SERVER_ACK": event.StatusSent, "DELIVERY_ACK": event.StatusDelivered, "READ": event.StatusRead, "PLAYED": event.StatusPlayed,
	}
}

// statusPending is the status of a message that WhatsApp has not accepted yet. Such
// a message is not stored, so it selects nothing.
const statusPending event.UpdateStatus = "pending"

// status reads the requested status, by any of its names.
func (f messageFilter) status() (event.UpdateStatus, error) {
	one, err := readStatus(f.MessageStatus)
	if err != nil {
		return "", err
	}
	same, err := readStatus(f.Status)
	if err != nil {
		return "", err
	}
	return oneOf("messageStatus", one, "status", same)
}

func readStatus(word event.UpdateStatus) (event.UpdateStatus, error) {
	if word == "" || slices.Contains(UpdateStatuses(), word) {
		return word, nil
	}
	if status, ok := familyStatuses()[strings.ToUpper(string(word))]; ok {
		return status, nil
	}
	others := slices.Sorted(maps.Keys(familyStatuses()))
	return "", rest.InvalidQuery(fmt.Sprintf("status %.100q is not one of %s, nor one of the names of other gateways: %s", word, rest.Joined(UpdateStatuses()), rest.Joined(others)))
}

// query checks the filter. WhatsApp defines the types of messages and adds to them, so an unknown
// type selects nothing.
func (f messageFilter) query() (q messages.Query, err error) {
	q = messages.Query{FromMe: (*bool)(f.KeyFromMe), IsGroup: (*bool)(f.IsGroup), KeyID: f.KeyID, Type: f.MessageType, PushName: f.PushName}
	if q.Status, err = f.status(); err != nil {
		return q, err
	}
	if q.Device, err = oneOf("source", f.Source, "device", f.Device); err != nil {
		return q, err
	}
	if f.UndeliveredFor != "" {
		if q.UndeliveredFor, err = time.ParseDuration(f.UndeliveredFor); err != nil || q.UndeliveredFor <= 0 {
			return q, rest.InvalidQuery("undeliveredFor must be a duration above 0, such as 1h30m")
		}
	}
	if f.ID != nil {
		if q.ID = f.ID.Number(); q.ID == 0 {
			if q.KeyID, err = oneOf("id", f.ID.KeyID, "keyId", f.KeyID); err != nil {
				return q, err
			}
		}
	}
	if f.KeyRemoteJID != "" {
		chat, err := event.ParseChat(f.KeyRemoteJID)
		if err != nil {
			return q, fmt.Errorf("keyRemoteJid: %w", err)
		}
		q.Chat = chat.JID()
	}
	if f.KeyParticipant != "" {
		who, err := event.ParseRecipient(f.KeyParticipant)
		if err != nil {
			return q, fmt.Errorf("keyParticipant: %w", err)
		}
		q.Participant = who.JID()
	}
	return q, nil
}

// oneOf returns the value of a field that has two names.
func oneOf[T ~string](name string, value T, other string, same T) (T, error) {
	if value != "" && same != "" && value != same {
		return "", rest.InvalidQuery(name + " and " + other + " mean the same but have different values")
	}
	return max(value, same), nil
}
