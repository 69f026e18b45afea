package translate

import (
	"encoding/json"
	"testing"

	"go.mau.fi/whatsmeow/proto/waSyncAction"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// TestLabelEditHasNoTypeOrTime: receivers distinguish events of one name by their type,
// and this one has a single kind.
func TestLabelEditHasNoTypeOrTime(t *testing.T) {
	whole := &waSyncAction.LabelEditAction{
		Name: new("VIP"), Color: new(int32(3)), PredefinedID: new(int32(1)), Deleted: new(false), OrderIndex: new(int32(2)),
		IsActive: new(true), Type: waSyncAction.LabelEditAction_CUSTOM.Enum(), IsImmutable: new(false), MuteEndTimeMS: new(int64(5)),
	}
	for name, action := range map[string]*waSyncAction.LabelEditAction{"none": nil, "empty": {}, "whole": whole} {
		facts, ok := testTranslator().Facts(&events.LabelEdit{Timestamp: then, LabelID: "7", Action: action})
		if !ok || len(facts) != 1 {
			t.Fatalf("%s: %d facts", name, len(facts))
		}
		raw, err := event.Marshal(facts[0].Data)
		var data map[string]any
		if err != nil || json.Unmarshal(raw, &data) != nil || data["id"] != "7" {
			t.Fatalf("%s: %v %s", name, err, raw)
		}
		for _, key := range []string{"type", "dateTime"} {
			if value, has := data[key]; has {
				t.Errorf("%s: %s is %v", name, key, value)
			}
		}
		if action == whole && (data["listType"] != "CUSTOM" || data["isActive"] != true || data["orderIndex"] != 2.0) {
			t.Errorf("what else the action says is lost: %s", raw)
		}
	}
}
