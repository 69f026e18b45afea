package translate

import (
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// settingFacts handles settings of the account that were changed on another device. The
// account's own name is stored first.
func (t Translator) settingFacts(evt any) ([]event.Fact, bool) {
	switch evt := evt.(type) {
	case *events.PushNameSetting:
		change := event.SettingsChange{
			Type: event.SettingPushName, JID: t.jid(t.Own.JID), Name: evt.Action.GetName(),
			FromFullSync: evt.FromFullSync, DateTime: t.at(evt.Timestamp),
		}
		f := event.Fact{Kind: event.SettingsUpdate, Data: change}
		if f.Link = t.Own.Link(); f.Link != nil {
			f.Link.PushName = change.Name
		}
		return []event.Fact{f}, true
	case *events.UserStatusMute:
		muted := evt.Action.GetMuted()
		return one(event.SettingsUpdate, event.SettingsChange{
			Type: event.SettingUserStatusMute, JID: t.jid(evt.JID), Muted: &muted,
			FromFullSync: evt.FromFullSync, DateTime: t.at(evt.Timestamp),
		})
	default:
		return nil, false
	}
}
