package device

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

func contactKey(user types.JID) []byte { return store.Key(byte('C'), user.String()) }

func contact(x reader, user types.JID) (info types.ContactInfo, err error) {
	raw, err := x.get(contactKey(user))
	if err != nil || raw == nil {
		return info, err
	}
	return info, decode(raw, &info)
}

// changeContact applies fn to a contact and stores it if fn reports a change.
func (a *account) changeContact(ctx context.Context, user types.JID, fn func(*types.ContactInfo) bool) (before types.ContactInfo, changed bool, err error) {
	before, err = a.GetContact(ctx, user)
	if after := before; err != nil || !fn(&after) {
		return before, false, err
	}
	err = a.write(ctx, func(x access) error {
		if before, err = contact(x, user); err != nil {
			return err
		}
		after := before
		changed = fn(&after)
		return putContact(x, user, after)
	})
	return before, changed && err == nil, err
}

func putContact(x access, user types.JID, info types.ContactInfo) error {
	info.Found = true
	raw, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return x.put(contactKey(user), raw)
}

// PutPushName returns whether the name changed, and the previous one.
func (a *account) PutPushName(ctx context.Context, user types.JID, pushName string) (bool, string, error) {
	before, changed, err := a.changeContact(ctx, user, func(c *types.ContactInfo) bool {
		was := c.PushName
		c.PushName = pushName
		return was != pushName
	})
	if !changed {
		return false, "", err
	}
	return true, before.PushName, nil
}

// PutBusinessName returns whether the name changed, and the previous one.
func (a *account) PutBusinessName(ctx context.Context, user types.JID, businessName string) (bool, string, error) {
	before, changed, err := a.changeContact(ctx, user, func(c *types.ContactInfo) bool {
		was := c.BusinessName
		c.BusinessName = businessName
		return was != businessName
	})
	if !changed {
		return false, "", err
	}
	return true, before.BusinessName, nil
}

// PutContactName takes the names in the order in which the library passes them, first
// and full, which is not the order of its interface's parameter names.
func (a *account) PutContactName(ctx context.Context, user types.JID, firstName, fullName string) error {
	_, _, err := a.changeContact(ctx, user, func(c *types.ContactInfo) bool {
		was := *c
		c.FirstName, c.FullName = firstName, fullName
		return *c != was
	})
	return err
}

// PutAllContactNames implements [wastore.ContactStore].
func (a *account) PutAllContactNames(ctx context.Context, contacts []wastore.ContactEntry) error {
	if len(contacts) == 0 {
		return nil
	}
	return a.write(ctx, func(x access) error {
		for _, entry := range contacts {
			if entry.JID.IsEmpty() {
				continue
			}
			info, err := contact(x, entry.JID)
			if err != nil {
				return err
			}
			info.FirstName, info.FullName = entry.FirstName, entry.FullName
			if err := putContact(x, entry.JID, info); err != nil {
				return err
			}
		}
		return nil
	})
}

// PutManyRedactedPhones implements [wastore.ContactStore].
func (a *account) PutManyRedactedPhones(ctx context.Context, entries []wastore.RedactedPhoneEntry) error {
	if len(entries) == 0 {
		return nil
	}
	return a.write(ctx, func(x access) error {
		for _, entry := range entries {
			info, err := contact(x, entry.JID)
			if err != nil {
				return err
			}
			if info.RedactedPhone == entry.RedactedPhone {
				continue
			}
			info.RedactedPhone = entry.RedactedPhone
			if err := putContact(x, entry.JID, info); err != nil {
				return err
			}
		}
		return nil
	})
}

// GetContact implements [wastore.ContactStore].
func (a *account) GetContact(ctx context.Context, user types.JID) (info types.ContactInfo, err error) {
	err = a.read(ctx, func(x reader) (err error) {
		info, err = contact(x, user)
		return err
	})
	return info, err
}

type contactsKey struct{}

// WithContacts returns a context in which the device has only these contacts: the recipients of a status.
func WithContacts(ctx context.Context, all map[types.JID]types.ContactInfo) context.Context {
	return context.WithValue(ctx, contactsKey{}, all)
}

// GetAllContacts implements [wastore.ContactStore].
func (a *account) GetAllContacts(ctx context.Context) (map[types.JID]types.ContactInfo, error) {
	if some, ok := ctx.Value(contactsKey{}).(map[types.JID]types.ContactInfo); ok {
		return maps.Clone(some), nil
	}
	all := map[types.JID]types.ContactInfo{}
	err := a.read(ctx, func(x reader) error {
		pairs, err := x.list([]byte{'C'}, 0)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			var info types.ContactInfo
			jid, err := types.ParseJID(string(p.key[1:]))
			if err != nil {
				return err
			}
			if err := decode(p.value, &info); err != nil {
				return err
			}
			all[jid] = info
		}
		return nil
	})
	return all, err
}

// chatSettings is the stored form of types.LocalChatSettings.
type chatSettings struct {
	MutedUntil int64 `json:"mutedUntil"` // Unix seconds, -1: forever
	Pinned     bool  `json:"pinned"`
	Archived   bool  `json:"archived"`
}

func chatKey(chat types.JID) []byte { return store.Key(byte('H'), chat.String()) }

func (a *account) changeChat(ctx context.Context, chat types.JID, fn func(*chatSettings)) error {
	return a.write(ctx, func(x access) error {
		settings, _, err := chatSettingsOf(x, chat)
		if err != nil {
			return err
		}
		fn(&settings)
		raw, err := json.Marshal(settings)
		if err != nil {
			return err
		}
		return x.put(chatKey(chat), raw)
	})
}

func chatSettingsOf(x reader, chat types.JID) (settings chatSettings, found bool, err error) {
	raw, err := x.get(chatKey(chat))
	if err != nil || raw == nil {
		return settings, false, err
	}
	return settings, true, decode(raw, &settings)
}

// PutMutedUntil implements [wastore.ChatSettingsStore].
func (a *account) PutMutedUntil(ctx context.Context, chat types.JID, mutedUntil time.Time) error {
	var until int64
	switch {
	case mutedUntil.Equal(wastore.MutedForever):
		until = -1
	case !mutedUntil.IsZero():
		until = mutedUntil.Unix()
	}
	return a.changeChat(ctx, chat, func(s *chatSettings) { s.MutedUntil = until })
}

// PutPinned implements [wastore.ChatSettingsStore].
func (a *account) PutPinned(ctx context.Context, chat types.JID, pinned bool) error {
	return a.changeChat(ctx, chat, func(s *chatSettings) { s.Pinned = pinned })
}

// PutArchived implements [wastore.ChatSettingsStore].
func (a *account) PutArchived(ctx context.Context, chat types.JID, archived bool) error {
	return a.changeChat(ctx, chat, func(s *chatSettings) { s.Archived = archived })
}

// GetChatSettings implements [wastore.ChatSettingsStore].
func (a *account) GetChatSettings(ctx context.Context, chat types.JID) (settings types.LocalChatSettings, err error) {
	err = a.read(ctx, func(x reader) error {
		stored, found, err := chatSettingsOf(x, chat)
		settings = types.LocalChatSettings{Found: found, Pinned: stored.Pinned, Archived: stored.Archived}
		switch {
		case stored.MutedUntil < 0:
			settings.MutedUntil = wastore.MutedForever
		case stored.MutedUntil > 0:
			settings.MutedUntil = time.Unix(stored.MutedUntil, 0)
		}
		return err
	})
	return settings, err
}
