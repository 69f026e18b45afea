package sandbox

import (
	"context"
	"time"

	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waSyncAction"

	"postern/sandbox/network"
	"postern/sandbox/phone"
)

// messageStateActs change the state of one message.
func messageStateActs() []act {
	return []act{
		row("star", "the phone stars or unstars a message", actStar),
		row("delete-for-me", "the phone deletes a message for its own account", actDeleteForMe),
		row("label-message", "the phone adds a label to a message or removes it", actLabelMessage),
	}
}

// namedMessage identifies a message.
type namedMessage struct {
	Chat, ID    string
	FromMe      bool
	Participant string
}

func readMessage(f namedMessage) (m messageRef, err error) {
	if m.chat, err = chatAddress("chat", f.Chat); err != nil {
		return m, err
	}
	if f.ID == "" {
		return m, invalidField("id", "is missing")
	}
	if f.Participant != "" {
		m.sender, err = address("participant", f.Participant)
	}
	return m, err
}

// index is the index of state about the message.
func (m messageRef) index(name string, f namedMessage) []string {
	sender := "0"
	if !m.sender.IsEmpty() {
		sender = m.sender.String()
	}
	return []string{name, m.chat.String(), f.ID, flag(f.FromMe), sender}
}

type starFields struct {
	Chat        string `json:"chat" help:"the chat of the message: a number or an address"`
	ID          string `json:"id" help:"the message id"`
	FromMe      bool   `json:"fromMe" help:"the account sent the message"`
	Participant string `json:"participant" help:"its sender, in a group"`
	Starred     *bool  `json:"starred" help:"default true"`
}

func actStar(ctx context.Context, s *network.Server, p *phone.Phone, f starFields) (any, error) {
	named := namedMessage{f.Chat, f.ID, f.FromMe, f.Participant}
	m, err := readMessage(named)
	if err != nil {
		return nil, err
	}
	value := &waSyncAction.SyncActionValue{StarAction: &waSyncAction.StarAction{Starred: new(orTrue(f.Starred))}}
	return nil, s.ChangeState(ctx, p, one(appstate.WAPatchRegularHigh, 2, value, m.index(appstate.IndexStar, named)...))
}

type deleteForMeFields struct {
	Chat        string `json:"chat" help:"the chat of the message: a number or an address"`
	ID          string `json:"id" help:"the message id"`
	FromMe      bool   `json:"fromMe" help:"the account sent the message"`
	Participant string `json:"participant" help:"its sender, in a group"`
	DeleteMedia bool   `json:"deleteMedia" help:"also delete the file"`
}

func actDeleteForMe(ctx context.Context, s *network.Server, p *phone.Phone, f deleteForMeFields) (any, error) {
	named := namedMessage{f.Chat, f.ID, f.FromMe, f.Participant}
	m, err := readMessage(named)
	if err != nil {
		return nil, err
	}
	value := &waSyncAction.SyncActionValue{DeleteMessageForMeAction: &waSyncAction.DeleteMessageForMeAction{
		DeleteMedia: new(f.DeleteMedia), MessageTimestamp: new(time.Now().Unix()),
	}}
	return nil, s.ChangeState(ctx, p, one(appstate.WAPatchRegularHigh, 3, value, m.index(appstate.IndexDeleteMessageForMe, named)...))
}

type labelMessageFields struct {
	Label   string `json:"label" help:"the label's id"`
	Chat    string `json:"chat" help:"the chat of the message: a number or an address"`
	ID      string `json:"id" help:"the message id"`
	Labeled *bool  `json:"labeled" help:"default true"`
}

func actLabelMessage(ctx context.Context, s *network.Server, p *phone.Phone, f labelMessageFields) (any, error) {
	m, err := readMessage(namedMessage{Chat: f.Chat, ID: f.ID})
	if err != nil {
		return nil, err
	}
	if f.Label == "" {
		return nil, invalidField("label", "is missing")
	}
	return nil, s.ChangeState(ctx, p, appstate.BuildLabelMessage(m.chat, f.Label, f.ID, orTrue(f.Labeled)))
}

// settingStateActs change settings.
func settingStateActs() []act {
	return []act{
		row("label-edit", "the phone creates, changes or deletes a label", actLabelEdit),
		row("unarchive-setting", "the phone sets whether a new message unarchives its chat", actUnarchiveSetting),
		row("push-name-setting", "the phone changes its displayed name in the settings", actPushNameSetting),
	}
}

type labelEditFields struct {
	Label   string `json:"label" help:"the label's id"`
	Name    string `json:"name" help:"its name"`
	Color   int    `json:"color" help:"the number of its colour, from 0"`
	Deleted bool   `json:"deleted" help:"the label is deleted"`
}

func actLabelEdit(ctx context.Context, s *network.Server, p *phone.Phone, f labelEditFields) (any, error) {
	switch {
	case f.Label == "":
		return nil, invalidField("label", "is missing")
	case f.Name == "" && !f.Deleted:
		return nil, invalidField("name", "is missing")
	case f.Color < 0 || f.Color > 255:
		return nil, invalidField("color", "has to be 0 to 255")
	}
	return nil, s.ChangeState(ctx, p, appstate.BuildLabelEdit(f.Label, f.Name, int32(f.Color), f.Deleted))
}

type unarchiveFields struct {
	Unarchive *bool `json:"unarchive" help:"default true"`
}

func actUnarchiveSetting(ctx context.Context, s *network.Server, p *phone.Phone, f unarchiveFields) (any, error) {
	value := &waSyncAction.SyncActionValue{UnarchiveChatsSetting: &waSyncAction.UnarchiveChatsSetting{UnarchiveChats: new(orTrue(f.Unarchive))}}
	return nil, s.ChangeState(ctx, p, one(appstate.WAPatchRegularLow, 4, value, appstate.IndexSettingUnarchiveChats))
}

type pushNameSettingFields struct {
	Name string `json:"name" help:"the new name"`
}

func actPushNameSetting(ctx context.Context, s *network.Server, p *phone.Phone, f pushNameSettingFields) (any, error) {
	if f.Name == "" {
		return nil, invalidField("name", "is missing")
	}
	if err := s.ChangeState(ctx, p, appstate.BuildSettingPushName(f.Name)); err != nil {
		return nil, err
	}
	return nil, s.Rename(p.JID(), f.Name)
}
