package whatsapp

import (
	"context"
	"fmt"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
	"postern/whatsapp/device"
)

// toAudience returns the context in which the library sends a status to its audience: to those of it whom the
// account's privacy of statuses lets see them. The library chooses the recipients among the contacts of the device
// store, which therefore shows it only those. Errors: event.ErrAudience.
func (s *sender) toAudience(ctx context.Context, cli *whatsmeow.Client, out event.Outgoing) (context.Context, error) {
	if out.Audience == nil {
		return ctx, nil
	}
	bounded, cancel := context.WithTimeout(ctx, s.conn.cfg.SendTimeout)
	defer cancel()
	privacy, err := cli.GetStatusPrivacy(bounded)
	if err != nil {
		return ctx, fmt.Errorf("the privacy of statuses: %w", err)
	}
	if privacy[0].Type == types.StatusPrivacyTypeWhitelist {
		return ctx, event.ErrAudienceNotPossible
	}
	asked := map[types.JID]bool{}
	for _, name := range out.Audience {
		jid, err := chatJID(name)
		if err != nil {
			return ctx, err
		}
		for _, address := range s.addressesOf(jid) {
			asked[address] = true
		}
	}
	if privacy[0].Type == types.StatusPrivacyTypeBlacklist {
		for _, hidden := range privacy[0].List {
			for _, address := range s.addressesOf(hidden) {
				delete(asked, address)
			}
		}
	}
	contacts, err := cli.Store.Contacts.GetAllContacts(bounded)
	if err != nil {
		return ctx, err
	}
	shown := map[types.JID]types.ContactInfo{}
	for jid, info := range contacts {
		if !asked[jid.ToNonAD()] || info.FullName == "" {
			continue
		}
		shown[jid] = info
		for _, address := range s.addressesOf(jid) { // one message for each person
			delete(asked, address)
		}
	}
	if len(shown) == 0 {
		return ctx, event.ErrAudienceEmpty
	}
	return device.WithContacts(ctx, shown), nil
}

// addressesOf returns the known addresses of a person, those that WhatsApp answered a look-up with among them.
func (s *sender) addressesOf(jid types.JID) []types.JID {
	all := []types.JID{jid.ToNonAD()}
	for _, name := range s.conn.cfg.Devices.AddressesOf(all[0].String()) {
		if other, err := types.ParseJID(name); err == nil && other != all[0] {
			all = append(all, other)
		}
	}
	return all
}

// answered returns the address of the account that WhatsApp answered a look-up of a number with, jid itself if no
// other is kept.
func (s *sender) answered(jid types.JID) types.JID {
	a, kept := s.conn.cfg.Devices.AnswerTo(jid.User)
	switch {
	case !kept || jid.Server != types.DefaultUserServer || a.Number == jid.User:
		return jid
	case a.Number != "":
		return types.NewJID(a.Number, types.DefaultUserServer)
	}
	return types.NewJID(a.LID, types.HiddenUserServer)
}
