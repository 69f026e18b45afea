package sandbox

import (
	"fmt"
	"net/http"
	"strings"

	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

func invalidField(field, problem string) error {
	return refusef(http.StatusUnprocessableEntity, "INVALID_VALUE", "%s %s", field, problem)
}

// maxAddress is the longest accepted address, in bytes, because errors quote it.
const maxAddress = 80

// address parses a number or an address of a user.
func address(field, text string) (types.JID, error) {
	if text == "" {
		return types.JID{}, invalidField(field, "is missing")
	}
	if len(text) > maxAddress {
		return types.JID{}, invalidField(field, "is too long for a number or an address")
	}
	if lid, ok := strings.CutSuffix(text, "@"+types.HiddenUserServer); ok {
		return types.NewJID(lid, types.HiddenUserServer), nil
	}
	if strings.Trim(number(text), "0123456789") != "" || number(text) == "" {
		return types.JID{}, invalidField(field, "is not a number or an address")
	}
	return types.NewJID(number(text), types.DefaultUserServer), nil
}

// towards calls fn with the address of the phone and that of a field, the phone's if
// the field is empty.
func towards(p *phone.Phone, field, text string, fn func(from, to types.JID) error) error {
	to := p.JID()
	if text != "" {
		var err error
		if to, err = address(field, text); err != nil {
			return err
		}
	}
	err := fn(p.JID(), to)
	if err == phone.ErrNoAccount { //nolint:errorlint // unwrapped, it concerns the addresses themselves
		return fmt.Errorf("%s %.100q: %w", field, text, err)
	}
	return err
}

// number parses a phone number or the address of one.
func number(text string) string {
	text, _, _ = strings.Cut(text, "@")
	return strings.TrimPrefix(text, "+")
}

// chatAddress parses a number, or the address of a person or a group.
func chatAddress(field, text string) (types.JID, error) {
	if jid, err := types.ParseJID(text); err == nil && jid.Server == types.GroupServer {
		return groupAddress(field, text)
	}
	return address(field, text)
}

// chatOf parses the field to into a chat as the phone addresses it: a LID or a group.
func chatOf(s *network.Server, to string) (types.JID, error) {
	jid, err := chatAddress("to", to)
	if err != nil {
		return types.JID{}, err
	}
	if _, lid, ok := s.IdentityOf(jid); ok {
		jid = lid
	}
	return jid, nil
}

// groupAddress parses the address of a group, which may be missing.
func groupAddress(field, text string) (types.JID, error) {
	if text == "" {
		return types.EmptyJID, nil
	}
	jid, err := types.ParseJID(text)
	if err != nil || jid.Server != types.GroupServer || jid.User == "" || len(text) > maxAddress {
		return types.EmptyJID, invalidField(field, "is not the address of a group, such as 1203630000@g.us")
	}
	return jid, nil
}

// neededGroup parses the required field group.
func neededGroup(text string) (types.JID, error) {
	if text == "" {
		return types.EmptyJID, invalidField("group", "is missing")
	}
	return groupAddress("group", text)
}

// members parses a list of accounts and returns their LIDs.
func members(s *network.Server, field string, texts []string) ([]types.JID, error) {
	var lids []types.JID
	for i, text := range texts {
		name := fmt.Sprintf("%s[%d]", field, i)
		jid, err := address(name, text)
		if err != nil {
			return nil, err
		}
		_, lid, ok := s.IdentityOf(jid)
		if !ok {
			return nil, invalidField(name, "is not an account of the sandbox's network")
		}
		lids = append(lids, lid)
	}
	return lids, nil
}

// newsletterAddress parses the address of a channel.
func newsletterAddress(field, text string) (types.JID, error) {
	if text == "" {
		return types.EmptyJID, invalidField(field, "is missing")
	}
	jid, ok := network.ParseChannel(text)
	if !ok {
		return types.EmptyJID, invalidField(field, "is not the address of a channel, such as 120363000000@newsletter")
	}
	return jid, nil
}

// ifNamed parses an optional address, empty if missing.
func ifNamed(text string, jid types.JID) types.JID {
	if text == "" {
		return types.EmptyJID
	}
	return jid
}

// orTrue is an optional switch that defaults to true.
func orTrue(given *bool) bool { return given == nil || *given }
