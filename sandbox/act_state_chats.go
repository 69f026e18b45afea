package sandbox

import (
	"context"
	"time"

	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waSyncAction"
	"go.mau.fi/whatsmeow/types"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

// one is a patch with a single mutation.
func one(name appstate.WAPatchName, version int32, value *waSyncAction.SyncActionValue, index ...string) appstate.PatchInfo {
	return appstate.PatchInfo{Type: name, Mutations: []appstate.MutationInfo{{Index: index, Version: version, Value: value}}}
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// chatStateActs change the state of a chat.
func chatStateActs() []act {
	return []act{
		row("contact", "the phone saves a contact", actContact),
		row("archive", "the phone archives or unarchives a chat", actArchive),
		row("pin", "the phone pins or unpins a chat", actPin),
		row("mute", "the phone mutes or unmutes a chat", actMute),
		row("mark-read", "the phone marks a chat as read or unread", actMarkRead),
		row("clear-chat", "the phone removes the messages of a chat", actClearChat),
		row("delete-chat", "the phone deletes a chat", actDeleteChat),
		row("label-chat", "the phone adds a label to a chat or removes it", actLabelChat),
		row("status-mute", "the phone mutes or unmutes a contact's status", actStatusMute),
	}
}

type contactFields struct {
	To        string `json:"to" help:"the contact: a number or an address"`
	FullName  string `json:"fullName" help:"the name in the address book"`
	FirstName string `json:"firstName" help:"the short name"`
}

func actContact(ctx context.Context, s *network.Server, p *phone.Phone, f contactFields) (any, error) {
	to, err := address("to", f.To)
	if err != nil {
		return nil, err
	}
	if f.FullName == "" && f.FirstName == "" {
		return nil, invalidField("fullName", "is missing, and firstName too")
	}
	pn, lid, ok := s.IdentityOf(to)
	if !ok {
		return nil, invalidField("to", "is not on the sandbox's network")
	}
	return nil, s.ChangeState(ctx, p, one(appstate.WAPatchCriticalUnblockLow, 2, &waSyncAction.SyncActionValue{ContactAction: &waSyncAction.ContactAction{
		FullName: new(f.FullName), FirstName: new(f.FirstName), LidJID: new(lid.String()), PnJID: new(pn.String()),
		SaveOnPrimaryAddressbook: new(true),
	}}, appstate.IndexContact, to.String()))
}

type archiveFields struct {
	Chat     string `json:"chat" help:"the chat: a number or an address"`
	Archived *bool  `json:"archived" help:"default true"`
}

func actArchive(ctx context.Context, s *network.Server, p *phone.Phone, f archiveFields) (any, error) {
	chat, err := chatAddress("chat", f.Chat)
	if err != nil {
		return nil, err
	}
	info := appstate.BuildArchive(chat, orTrue(f.Archived), time.Time{}, nil)
	info.Mutations = info.Mutations[:1] // without the unpinning: an act is one event
	return nil, s.ChangeState(ctx, p, info)
}

type pinFields struct {
	Chat   string `json:"chat" help:"the chat: a number or an address"`
	Pinned *bool  `json:"pinned" help:"default true"`
}

func actPin(ctx context.Context, s *network.Server, p *phone.Phone, f pinFields) (any, error) {
	chat, err := chatAddress("chat", f.Chat)
	if err != nil {
		return nil, err
	}
	return nil, s.ChangeState(ctx, p, appstate.BuildPin(chat, orTrue(f.Pinned)))
}

type muteFields struct {
	Chat    string     `json:"chat" help:"the chat: a number or an address"`
	Muted   *bool      `json:"muted" help:"default true"`
	Until   *time.Time `json:"until" help:"RFC 3339; forever if minutes is missing too"`
	Minutes int        `json:"minutes" help:"the duration from now, instead of until"`
}

func actMute(ctx context.Context, s *network.Server, p *phone.Phone, f muteFields) (any, error) {
	chat, err := chatAddress("chat", f.Chat)
	if err != nil {
		return nil, err
	}
	if f.Minutes < 0 || (f.Minutes > 0 && f.Until != nil) {
		return nil, invalidField("minutes", "cannot be negative nor given together with until")
	}
	var until *int64
	switch {
	case f.Until != nil:
		until = new(f.Until.UnixMilli())
	case f.Minutes > 0:
		until = new(time.Now().Add(time.Duration(f.Minutes) * time.Minute).UnixMilli())
	}
	return nil, s.ChangeState(ctx, p, appstate.BuildMuteAbs(chat, orTrue(f.Muted), until))
}

type markReadFields struct {
	Chat string `json:"chat" help:"the chat: a number or an address"`
	Read *bool  `json:"read" help:"default true"`
}

func actMarkRead(ctx context.Context, s *network.Server, p *phone.Phone, f markReadFields) (any, error) {
	chat, err := chatAddress("chat", f.Chat)
	if err != nil {
		return nil, err
	}
	return nil, s.ChangeState(ctx, p, appstate.BuildMarkChatAsRead(chat, orTrue(f.Read), time.Time{}, nil))
}

type removeChatFields struct {
	Chat        string `json:"chat" help:"the chat: a number or an address"`
	DeleteMedia bool   `json:"deleteMedia" help:"also delete the files"`
}

func actClearChat(ctx context.Context, s *network.Server, p *phone.Phone, f removeChatFields) (any, error) {
	chat, err := chatAddress("chat", f.Chat)
	if err != nil {
		return nil, err
	}
	value := &waSyncAction.SyncActionValue{ClearChatAction: &waSyncAction.ClearChatAction{
		MessageRange: &waSyncAction.SyncActionMessageRange{LastMessageTimestamp: new(time.Now().Unix())},
	}}
	return nil, s.ChangeState(ctx, p, one(appstate.WAPatchRegularHigh, 6, value, appstate.IndexClearChat, chat.String(), "1", flag(f.DeleteMedia)))
}

func actDeleteChat(ctx context.Context, s *network.Server, p *phone.Phone, f removeChatFields) (any, error) {
	chat, err := chatAddress("chat", f.Chat)
	if err != nil {
		return nil, err
	}
	return nil, s.ChangeState(ctx, p, appstate.BuildDeleteChat(chat, time.Time{}, nil, f.DeleteMedia))
}

type labelChatFields struct {
	Label   string `json:"label" help:"the label's id"`
	Chat    string `json:"chat" help:"the chat: a number or an address"`
	Labeled *bool  `json:"labeled" help:"default true"`
}

func actLabelChat(ctx context.Context, s *network.Server, p *phone.Phone, f labelChatFields) (any, error) {
	chat, err := chatAddress("chat", f.Chat)
	if err != nil {
		return nil, err
	}
	if f.Label == "" {
		return nil, invalidField("label", "is missing")
	}
	return nil, s.ChangeState(ctx, p, appstate.BuildLabelChat(chat, f.Label, orTrue(f.Labeled)))
}

type statusMuteFields struct {
	To    string `json:"to" help:"the contact: a number or an address"`
	Muted *bool  `json:"muted" help:"default true"`
}

func actStatusMute(ctx context.Context, s *network.Server, p *phone.Phone, f statusMuteFields) (any, error) {
	to, err := address("to", f.To)
	if err != nil {
		return nil, err
	}
	value := &waSyncAction.SyncActionValue{UserStatusMuteAction: &waSyncAction.UserStatusMuteAction{Muted: new(orTrue(f.Muted))}}
	return nil, s.ChangeState(ctx, p, one(appstate.WAPatchRegularHigh, 7, value, appstate.IndexUserStatusMute, to.String()))
}

// messageRef is the message of an act; sender is empty outside of groups.
type messageRef struct{ chat, sender types.JID }
