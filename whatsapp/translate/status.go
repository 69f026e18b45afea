package translate

import (
	"encoding/json"
	"time"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
	"postern/internal/netfault"
)

// statusFacts handles events of the account as a whole. Refusal handles refusals
// that also end the connection.
func (t Translator) statusFacts(evt any) ([]event.Fact, bool) {
	switch evt := evt.(type) {
	case *events.OfflineSyncPreview:
		return status(event.InstanceStatus{Type: event.StatusOfflineSyncPreview, Data: event.Extra{
			"total": evt.Total, "messages": evt.Messages, "notifications": evt.Notifications,
			"receipts": evt.Receipts, "appDataChanges": evt.AppDataChanges,
		}})
	case *events.OfflineSyncCompleted:
		return status(event.InstanceStatus{
			Type: event.StatusOfflineSyncCompleted, Status: "completed", Data: event.Extra{"count": evt.Count},
		})
	case *events.PrivacySettings:
		return status(event.InstanceStatus{Type: event.StatusPrivacySettings, Data: privacy(evt)})
	case *events.AppState:
		return status(event.InstanceStatus{Type: event.StatusAppState, Data: mutation(evt)})
	case *events.AppStateSyncComplete:
		return status(event.InstanceStatus{
			Type: event.StatusAppStateSyncCompleted, Status: "completed",
			Data: event.Extra{"name": string(evt.Name), "version": evt.Version, "recovery": evt.Recovery},
		})
	case *events.AppStateSyncError:
		return status(event.InstanceStatus{
			Type: event.StatusAppStateSyncError, Status: "error", Message: ErrorText(evt.Error),
			Data: event.Extra{"name": string(evt.Name), "fullSync": evt.FullSync},
		})
	case *events.NotifyAccountReachoutTimelock:
		return []event.Fact{{Kind: event.StatusInstance, Data: timelock(evt), Restriction: &event.Restriction{
			Type: event.StatusAccountReachoutTimelock, Lifted: !evt.IsActive,
			Until: timelockEnd(evt), Reason: evt.EnforcementType,
		}}}, true
	case *events.HistorySync:
		return one(event.HistorySync, t.History(wholeHistory(evt.Data)))
	default:
		return nil, false
	}
}

func status(s event.InstanceStatus) ([]event.Fact, bool) { return one(event.StatusInstance, s) }

// ErrorText returns the text of an error without host names, "" for nil.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return netfault.Plain(err).Error()
}

// timelock reports that the account may not write to people who never wrote to it, or
// may again.
func timelock(evt *events.NotifyAccountReachoutTimelock) event.InstanceStatus {
	s := event.InstanceStatus{
		Type: event.StatusAccountReachoutTimelock, Status: "inactive", Data: event.Extra{"active": evt.IsActive},
	}
	if evt.IsActive {
		s.Status = "active"
	}
	if evt.EnforcementType != "" {
		s.Data["enforcementType"] = evt.EnforcementType
	}
	if end := timelockEnd(evt); !end.IsZero() {
		s.Data["until"] = event.At(end)
	}
	return s
}

// timelockEnd is zero if WhatsApp sent no end.
func timelockEnd(evt *events.NotifyAccountReachoutTimelock) time.Time {
	if evt.TimeEnforcementEnds.Unix() <= 0 {
		return time.Time{}
	}
	return evt.TimeEnforcementEnds.Time
}

// privacy returns every setting and the names of the changed ones.
func privacy(evt *events.PrivacySettings) event.Extra {
	n := evt.NewSettings
	data, changed := event.Extra{}, []string{}
	for _, s := range []struct {
		name    string
		value   types.PrivacySetting
		changed bool
	}{
		{"groupAdd", n.GroupAdd, evt.GroupAddChanged},
		{"lastSeen", n.LastSeen, evt.LastSeenChanged},
		{"status", n.Status, evt.StatusChanged},
		{"profile", n.Profile, evt.ProfileChanged},
		{"readReceipts", n.ReadReceipts, evt.ReadReceiptsChanged},
		{"online", n.Online, evt.OnlineChanged},
		{"callAdd", n.CallAdd, evt.CallAddChanged},
		{"messages", n.Messages, evt.MessagesChanged},
		{"defense", n.Defense, evt.DefenseChanged},
		{"stickers", n.Stickers, evt.StickersChanged},
	} {
		if s.value != "" {
			data[s.name] = string(s.value)
		}
		if s.changed {
			changed = append(changed, s.name)
		}
	}
	data["changed"] = changed
	return data
}

// mutation returns a raw change of app state: its index, which contains the kind and
// the subject of the change, and its value.
func mutation(evt *events.AppState) event.Extra {
	index := evt.Index
	if index == nil {
		index = []string{}
	}
	data := event.Extra{"index": index}
	if evt.SyncActionValue != nil {
		w := jsonWriter{}
		w.message(evt.ProtoReflect(), 0)
		data["value"] = json.RawMessage(w.buf)
	}
	return data
}
