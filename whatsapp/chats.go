package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waSyncAction"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
	"postern/whatsapp/translate"
)

// Chats acts on chats and people. It implements instance.Chats.
type Chats struct {
	calls *calls
	state *AppState
}

// Registered implements instance.Chats.
func (cs *Chats) Registered(ctx context.Context, numbers []string) (all []event.Registration, err error) {
	err = cs.calls.ask(ctx, "look up numbers", func(ctx context.Context, cli *whatsmeow.Client) error {
		found, err := cs.lookUp(ctx, cli, numbers)
		all = registrations(numbers, found)
		return err
	})
	return all, err
}

// lookUp looks numbers up. The answer does not wait for room on the disk.
func (cs *Chats) lookUp(ctx context.Context, cli *whatsmeow.Client, numbers []string) ([]types.IsOnWhatsAppResponse, error) {
	found, fresh, err := lookUp(ctx, cli, numbers...)
	if err == nil && len(fresh) > 0 {
		if err := cs.calls.conn.cfg.Devices.KeepAnswers(ctx, fresh); err != nil {
			cs.calls.conn.log.Info("answers to look-ups of numbers not kept", "error", err)
		}
	}
	return found, err
}

// registrations returns the answers in the order of the numbers. A number without an
// answer counts as unregistered.
func registrations(numbers []string, found []types.IsOnWhatsAppResponse) []event.Registration {
	answers := map[string]types.IsOnWhatsAppResponse{}
	for _, f := range found {
		answers[strings.TrimPrefix(f.Query, "+")] = f
	}
	all := make([]event.Registration, len(numbers))
	for i, n := range numbers {
		r := event.Registration{Number: n, Person: event.Person{JID: n + "@" + types.DefaultUserServer}}
		if f, ok := answers[n]; ok && f.IsIn {
			r.Exists = true
			r.Person = personOf(f.JID, func(types.JID) types.JID { return f.PhoneNumber })
		}
		all[i] = r
	}
	return all
}

// UserInfo implements instance.Chats.
func (cs *Chats) UserInfo(ctx context.Context, numbers []string) (all []event.UserInfo, err error) {
	err = cs.calls.ask(ctx, "look up people", func(ctx context.Context, cli *whatsmeow.Client) error {
		found, err := cs.lookUp(ctx, cli, numbers)
		if err != nil {
			return err
		}
		all = make([]event.UserInfo, len(numbers))
		places := map[types.JID][]int{} // in all
		for i, r := range registrations(numbers, found) {
			all[i] = event.UserInfo{Number: r.Number, Exists: r.Exists, Devices: []string{}}
			if jid, err := types.ParseJID(r.JID); r.Exists && err == nil {
				all[i].JID, all[i].LID = &r.JID, r.LID
				places[jid] = append(places[jid], i)
			}
		}
		for _, f := range found { // the next answer has no names
			for i, n := range numbers {
				if v := f.VerifiedName; v != nil && f.IsIn && strings.TrimPrefix(f.Query, "+") == n {
					all[i].BusinessName = event.OrNull(v.Details.GetVerifiedName())
				}
			}
		}
		if len(places) == 0 {
			return nil
		}
		infos, err := cli.GetUserInfo(ctx, slices.Collect(maps.Keys(places)))
		for jid, info := range infos {
			for _, i := range places[jid] {
				describe(&all[i], info)
			}
		}
		return err
	})
	return all, err
}

// describe adds what an account shows.
func describe(u *event.UserInfo, info types.UserInfo) {
	u.About, u.PictureID = event.OrNull(info.Status), event.OrNull(info.PictureID)
	for _, device := range info.Devices {
		u.Devices = append(u.Devices, device.String())
	}
	if u.LID == nil && !info.LID.IsEmpty() {
		u.LID = new(info.LID.String())
	}
}

// personOf returns a person with both addresses.
func personOf(jid types.JID, other func(types.JID) types.JID) event.Person {
	preferred, lid := translate.PhoneAndLID(jid, types.EmptyJID, other)
	if preferred == nil {
		return event.Person{JID: jid.String()}
	}
	return event.Person{JID: *preferred, LID: lid}
}

// MarkRead implements instance.Chats.
func (cs *Chats) MarkRead(ctx context.Context, chat, sender string, ids []string, played bool) error {
	receipt := types.ReceiptTypeRead
	if played {
		receipt = types.ReceiptTypePlayed
	}
	return cs.calls.ask(ctx, "mark as read", func(ctx context.Context, cli *whatsmeow.Client) error {
		in, err := wireChat(cli, chat)
		if err != nil {
			return err
		}
		var from types.JID
		if sender != "" {
			if from, err = chatJID(sender); err != nil {
				return err
			}
		}
		return cli.MarkRead(ctx, ids, time.Now(), in, from, receipt)
	})
}

// wireChat returns the address that WhatsApp expects for a chat: of people, the LID if
// it is known, as the library uses it for messages.
func wireChat(cli *whatsmeow.Client, chat string) (types.JID, error) {
	jid, err := chatJID(chat)
	if err != nil || jid.Server != types.DefaultUserServer {
		return jid, err
	}
	if lid := translate.AddressBook(cli.Store)(jid); !lid.IsEmpty() {
		return lid, nil
	}
	return jid, nil
}

// Archive implements instance.Chats.
func (cs *Chats) Archive(ctx context.Context, chat string, archived bool, last event.LastMessage) error {
	return cs.upTo(ctx, "archive", chat, last, func(jid types.JID, key *waCommon.MessageKey) appstate.PatchInfo {
		return appstate.BuildArchive(jid, archived, last.At, key)
	})
}

// MarkUnread implements instance.Chats.
func (cs *Chats) MarkUnread(ctx context.Context, chat string, unread bool, last event.LastMessage) error {
	return cs.upTo(ctx, "mark as unread", chat, last, func(jid types.JID, key *waCommon.MessageKey) appstate.PatchInfo {
		return appstate.BuildMarkChatAsRead(jid, !unread, last.At, key)
	})
}

// DeleteChat implements instance.Chats.
func (cs *Chats) DeleteChat(ctx context.Context, chat string, last event.LastMessage) error {
	return cs.upTo(ctx, "delete the chat", chat, last, func(jid types.JID, key *waCommon.MessageKey) appstate.PatchInfo {
		return appstate.BuildDeleteChat(jid, last.At, key, true)
	})
}

// upTo changes the state of a chat up to its last message.
func (cs *Chats) upTo(ctx context.Context, what, chat string, last event.LastMessage, patch func(types.JID, *waCommon.MessageKey) appstate.PatchInfo) error {
	jid, err := chatJID(chat)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	var key *waCommon.MessageKey
	if k := last.Key; k != nil {
		key = &waCommon.MessageKey{
			RemoteJID: new(jid.String()), ID: new(k.ID), FromMe: new(k.FromMe), Participant: event.OrNull(k.Participant),
		}
	}
	return cs.state.change(ctx, what, patch(jid, key))
}

// DeleteForMe implements instance.Chats. The library has no builder of this patch.
func (cs *Chats) DeleteForMe(ctx context.Context, message event.MessageKey, at time.Time) error {
	chat, sender, err := place(cs.calls.conn.self(), message)
	if err != nil {
		return fmt.Errorf("delete for me: %w", err)
	}
	fromMe, participant := "0", "0"
	if message.FromMe {
		fromMe = "1"
	} else if chat.Server == types.GroupServer {
		participant = sender.String()
	}
	return cs.state.change(ctx, "delete for me", appstate.PatchInfo{Type: appstate.WAPatchRegularHigh, Mutations: []appstate.MutationInfo{{
		Index: []string{appstate.IndexDeleteMessageForMe, chat.String(), message.ID, fromMe, participant}, Version: 3,
		Value: &waSyncAction.SyncActionValue{DeleteMessageForMeAction: &waSyncAction.DeleteMessageForMeAction{
			DeleteMedia: new(true), MessageTimestamp: new(at.Unix()),
		}},
	}}})
}

// Pin implements instance.Chats.
func (cs *Chats) Pin(ctx context.Context, chat string, pinned bool) error {
	jid, err := chatJID(chat)
	if err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	return cs.state.change(ctx, "pin", appstate.BuildPin(jid, pinned))
}

// Mute implements instance.Chats.
func (cs *Chats) Mute(ctx context.Context, chat string, muted bool, until time.Time) error {
	jid, err := chatJID(chat)
	if err != nil {
		return fmt.Errorf("mute: %w", err)
	}
	var end *int64
	if !until.IsZero() {
		end = new(until.UnixMilli())
	}
	return cs.state.change(ctx, "mute", appstate.BuildMuteAbs(jid, muted, end))
}

// Star implements instance.Chats.
func (cs *Chats) Star(ctx context.Context, message event.MessageKey, starred bool) error {
	chat, sender, err := place(cs.calls.conn.self(), message)
	if err != nil {
		return fmt.Errorf("star: %w", err)
	}
	if message.FromMe {
		sender = chat // the library then omits it, as phones do
	}
	return cs.state.change(ctx, "star", appstate.BuildStar(chat, sender, message.ID, message.FromMe, starred))
}

// Block implements instance.Chats.
func (cs *Chats) Block(ctx context.Context, who string, blocked bool) (all []event.Person, err error) {
	action := events.BlocklistChangeActionUnblock
	if blocked {
		action = events.BlocklistChangeActionBlock
	}
	err = cs.calls.ask(ctx, string(action), func(ctx context.Context, cli *whatsmeow.Client) error {
		jid, err := chatJID(who)
		if err != nil {
			return err
		}
		list, err := cli.UpdateBlocklist(ctx, jid, action)
		if err == nil {
			all = people(cli, list)
		}
		return err
	})
	return all, err
}

// Blocked implements instance.Chats.
func (cs *Chats) Blocked(ctx context.Context) (all []event.Person, err error) {
	err = cs.calls.ask(ctx, "list blocked people", func(ctx context.Context, cli *whatsmeow.Client) error {
		list, err := cli.GetBlocklist(ctx)
		if err == nil {
			all = people(cli, list)
		}
		return err
	})
	return all, err
}

func people(cli *whatsmeow.Client, list *types.Blocklist) []event.Person {
	all := make([]event.Person, 0, len(list.JIDs))
	for _, jid := range list.JIDs {
		all = append(all, personOf(jid, translate.AddressBook(cli.Store)))
	}
	return all
}

// Picture implements instance.Chats.
func (cs *Chats) Picture(ctx context.Context, of string, preview bool) (found *event.Picture, err error) {
	err = cs.calls.ask(ctx, "profile picture", func(ctx context.Context, cli *whatsmeow.Client) error {
		jid, err := chatJID(of)
		if err != nil {
			return err
		}
		info, err := cli.GetProfilePictureInfo(ctx, jid, &whatsmeow.GetProfilePictureParams{Preview: preview})
		switch {
		case errors.Is(err, whatsmeow.ErrProfilePictureNotSet), errors.Is(err, whatsmeow.ErrProfilePictureUnauthorized):
			return nil
		case err == nil && info != nil:
			found = &event.Picture{ID: info.ID, URL: info.URL}
		}
		return err
	})
	return found, err
}

// ShowAvailable implements instance.Chats.
func (cs *Chats) ShowAvailable(ctx context.Context, available bool) error {
	state := types.PresenceUnavailable
	if available {
		state = types.PresenceAvailable
	}
	return cs.calls.ask(ctx, "show "+string(state), func(ctx context.Context, cli *whatsmeow.Client) error {
		return cli.SendPresence(ctx, state)
	})
}

// ShowPresence implements instance.Chats.
func (cs *Chats) ShowPresence(ctx context.Context, chat string, p event.Presence) error {
	return cs.calls.ask(ctx, "presence", func(ctx context.Context, cli *whatsmeow.Client) error {
		jid, err := wireChat(cli, chat)
		if err != nil {
			return err
		}
		return sendChatPresence(ctx, cli, jid, p)
	})
}

// WatchPresence implements instance.Chats.
func (cs *Chats) WatchPresence(ctx context.Context, who string) error {
	return cs.calls.ask(ctx, "subscribe to a presence", func(ctx context.Context, cli *whatsmeow.Client) error {
		jid, err := chatJID(who)
		if err != nil {
			return err
		}
		return cli.SubscribePresence(ctx, jid)
	})
}

// RejectCall implements instance.Chats.
func (cs *Chats) RejectCall(ctx context.Context, from, callID string) error {
	return cs.calls.ask(ctx, "reject a call", func(ctx context.Context, cli *whatsmeow.Client) error {
		jid, err := wireChat(cli, from)
		if err != nil {
			return err
		}
		return cli.RejectCall(ctx, jid, callID)
	})
}

// AskHistory implements instance.Chats.
func (cs *Chats) AskHistory(ctx context.Context, anchor event.MessageKey, at time.Time, count int) error {
	id := NewMessageID()
	forget := cs.calls.causes.expect(ctx, historyPatience, historyKey(id))
	err := cs.calls.ask(ctx, "request history", func(ctx context.Context, cli *whatsmeow.Client) error {
		chat, err := wireChat(cli, anchor.RemoteJID)
		if err != nil {
			return err
		}
		info := &types.MessageInfo{ID: anchor.ID, Timestamp: at, MessageSource: types.MessageSource{Chat: chat, IsFromMe: anchor.FromMe}}
		return messagePhone(ctx, cli, id, cli.BuildHistorySyncRequest(info, count))
	})
	if err != nil && !errors.Is(err, event.ErrNoAnswer) {
		forget() // without an answer it may have been sent
	}
	return err
}
