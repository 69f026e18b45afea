package messages

import (
	"encoding/json"
	"errors"
	"fmt"

	"postern/event"
	"postern/internal/nesting"
)

// maxAttributes is the maximum size of a message's external attributes, in bytes of JSON.
const maxAttributes = 64 << 10

// ErrInvalid is wrapped by event.RuleErrors, except those that wrap nesting.ErrTooDeep.
var ErrInvalid = errors.New("invalid message or contact")

func invalid(field, rule string) error {
	return &event.RuleError{Field: field, Rule: rule, Kind: ErrInvalid}
}

// CheckContact returns an event.RuleError if a contact of another file cannot be stored.
func CheckContact(c *event.ContactChange) error {
	if _, ok := idsOf(c); !ok {
		return invalid("jid", "must be the JID of a person")
	}
	return nil
}

// Check returns an event.RuleError if a message of another file cannot be stored.
func Check(m *event.Message) error {
	if !Storable(m) {
		return invalid("keyId", "must be a message id, together with the JID of its chat, neither too long")
	}
	for _, one := range []struct {
		field string
		raw   json.RawMessage
	}{{"content", m.Content}, {"metadata", m.Metadata}, {"externalAttributes", json.RawMessage(m.ExternalAttributes)}} {
		if err := checkObject(one.field, one.raw); err != nil {
			return err
		}
	}
	if len(m.ExternalAttributes) > maxAttributes {
		return invalid("externalAttributes", "must have at most 65536 bytes")
	}
	return nil
}

// checkObject validates JSON that is stored as is: an object or nothing, nested at most
// nesting.Max deep.
func checkObject(field string, raw json.RawMessage) error {
	if nesting.Check(raw) != nil {
		return &event.RuleError{Field: field, Rule: fmt.Sprintf("nests objects and arrays more than %d deep", nesting.Max), Kind: nesting.ErrTooDeep}
	}
	if len(raw) > 0 && string(raw) != "null" && !event.IsObject(raw) {
		return invalid(field, "must be a JSON object")
	}
	return nil
}

func knownStatus(s event.UpdateStatus) bool {
	switch s {
	case event.StatusDelivered, event.StatusSent, event.StatusRead, event.StatusPlayed, event.StatusServerError, event.StatusRetry, event.StatusUnknown:
		return true
	}
	return false
}
