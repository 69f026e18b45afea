package translate

import (
	"go.mau.fi/whatsmeow/proto/waSyncAction"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

func (t Translator) labelFacts(evt any) ([]event.Fact, bool) {
	switch evt := evt.(type) {
	case *events.LabelEdit:
		return one(event.LabelsEdit, labelEdit(evt))
	case *events.LabelAssociationChat:
		return one(event.LabelsAssociation, event.LabelAssociation{
			Type: event.LabelOnChat, ChatJID: t.jid(evt.JID), LabelID: evt.LabelID,
			Action: labelAction(evt.Action), DateTime: t.at(evt.Timestamp),
			Extra: merge(event.Extra{"fromFullSync": evt.FromFullSync}, action(evt.Action)),
		})
	case *events.LabelAssociationMessage:
		return one(event.LabelsAssociation, event.LabelAssociation{
			Type: event.LabelOnMessage, ChatJID: t.jid(evt.JID), MessageID: evt.MessageID, LabelID: evt.LabelID,
			Action: labelAction(evt.Action), DateTime: t.at(evt.Timestamp),
			Extra: merge(event.Extra{"fromFullSync": evt.FromFullSync}, action(evt.Action)),
		})
	default:
		return nil, false
	}
}

func labelEdit(evt *events.LabelEdit) event.LabelEdit {
	extra := merge(event.Extra{"fromFullSync": evt.FromFullSync}, action(evt.Action))
	if list, ok := extra["type"]; ok { // the type of the label's list; the event has no type
		extra["listType"] = list
		delete(extra, "type")
	}
	l := event.LabelEdit{ID: evt.LabelID, Name: evt.Action.GetName(), Extra: extra}
	if evt.Action != nil && evt.Action.Color != nil {
		l.Color = new(int(evt.Action.GetColor()))
	}
	if evt.Action != nil && evt.Action.Deleted != nil {
		l.Deleted = evt.Action.Deleted
	}
	return l
}

func labelAction(a *waSyncAction.LabelAssociationAction) event.LabelAction {
	switch {
	case a == nil || a.Labeled == nil:
		return ""
	case a.GetLabeled():
		return event.LabelAdd
	default:
		return event.LabelRemove
	}
}
