package batch

import (
	"errors"
	"fmt"

	"postern/event"
)

// recipient is one that a batch goes to. 100 000 of them are in memory during
// a creation, so it is no more than what the item's first record holds.
type recipient struct {
	input  string // as the caller wrote it
	digits string // empty when input is them
}

// recipients normalises what the caller wrote and drops those that come again.
// One that is wrong refuses all; the first 100 of those are named by index.
func (e *Engine) recipients(given []string) (all []recipient, duplicates int, err error) {
	if len(given) == 0 {
		return nil, 0, invalid(InvalidRecipient, "recipients must not be empty")
	}
	if most := e.cfg.MaxRecipients; len(given) > most {
		return nil, 0, invalid(TooManyRecipients, fmt.Sprintf("recipients has more than the %d entries that are allowed", most))
	}
	seen := make(map[string]struct{}, len(given))
	all = make([]recipient, 0, len(given))
	var complaints []string
	for i, input := range given {
		digits, err := phone(input)
		if err != nil {
			if complaints = append(complaints, fmt.Sprintf("recipients[%d] %v", i, err)); len(complaints) == maxComplaints {
				break
			}
			continue
		}
		if _, again := seen[digits]; again {
			duplicates++
			continue
		}
		seen[digits] = struct{}{}
		if digits == input {
			digits = ""
		}
		all = append(all, recipient{input, digits})
	}
	if complaints != nil {
		return nil, 0, invalid(InvalidRecipient, complaints...)
	}
	return all, duplicates, nil
}

// phone returns the digits of a recipient.
func phone(input string) (digits string, err error) {
	to, err := event.ParseRecipient(input)
	if err == nil && !to.IsPhone() {
		err = errors.New("a batch sends to phone numbers only")
	}
	if err != nil {
		return "", err
	}
	return to.User, nil
}
