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
		for _, address := range s.addressesOf(bounded, cli, jid) {
			asked[address] = true
		}
	}
	if privacy[0].Type == types.StatusPrivacyTypeBlacklist {
		for _, hidden := range privacy[0].List {
			for _, address := range s.addressesOf(bounded, cli, hidden) {
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
		for _, address := range s.addressesOf(bounded, cli, jid) { // one message for each person
			delete(asked, address)
		}
	}
	if len(shown) == 0 {
		return ctx, event.ErrAudienceEmpty
	}
	return device.WithContacts(ctx, shown), nil
}

// addressesOf returns the known addresses of a person.
func (s *sender) addressesOf(ctx context.Context, cli *whatsmeow.Client, jid types.JID) []types.JID {
	jid = jid.ToNonAD()
	all := []types.JID{jid}
	twin := func(ctx context.Context, of types.JID) (types.JID, error) { return cli.Store.LIDs.GetLIDForPN(ctx, of) }
	if jid.Server == types.HiddenUserServer {
		twin = func(ctx context.Context, of types.JID) (types.JID, error) { return cli.Store.LIDs.GetPNForLID(ctx, of) }
	}
	if other, err := twin(ctx, jid); err == nil && !other.IsEmpty() {
		all = append(all, other.ToNonAD())
	}
	return all
}
