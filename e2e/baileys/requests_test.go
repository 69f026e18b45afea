package baileys

import (
	"testing"

	"postern/e2e/rig"
)

// TestRequestsAreAnswered calls what Baileys offers beyond messages: WhatsApp answers each.
func TestRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	k := talking(t)
	_, got := k.posts(t, "/instance/$name/send/text", `{"number":"$anne","textMessage":{"text":"hello"}}`, `"message":{"conversation":"hello"}`)
	var group struct{ ID string }
	k.b.call(&group, "groupCreate", "Bakers", []string{shopJID})
	g, bob := group.ID, []string{rig.BobNumber + "@s.whatsapp.net"}
	last := map[string]any{"key": got.Key, "messageTimestamp": 1_700_000_000}
	type args []any
	for _, request := range []struct {
		do   string
		args args
	}{
		{"onWhatsApp", args{rig.OwnNumber, "4915155500000"}},
		{"fetchStatus", args{shopJID}},
		{"updateProfileStatus", args{"busy"}},
		{"updateProfileName", args{"Anne Baker"}},
		{"updateBlockStatus", args{shopJID, "block"}},
		{"fetchBlocklist", nil},
		{"updateBlockStatus", args{shopJID, "unblock"}},
		{"fetchPrivacySettings", args{true}},
		{"updateLastSeenPrivacy", args{"contacts"}},
		{"updateDefaultDisappearingMode", args{86400}},
		{"groupMetadata", args{g}},
		{"groupInviteCode", args{g}},
		{"groupRevokeInvite", args{g}},
		{"groupUpdateDescription", args{g, "what it is about"}},
		{"groupSettingUpdate", args{g, "announcement"}},
		{"groupSettingUpdate", args{g, "locked"}},
		{"groupMemberAddMode", args{g, "admin_add"}},
		{"groupJoinApprovalMode", args{g, "on"}},
		{"groupRequestParticipantsList", args{g}},
		{"groupToggleEphemeral", args{g, 86400}},
		{"groupParticipantsUpdate", args{g, []string{shopJID}, "promote"}},
		{"groupParticipantsUpdate", args{g, bob, "add"}},
		{"groupLeave", args{g}},
		{"star", args{shopJID, []any{map[string]any{"id": got.Key.ID, "fromMe": false}}, true}},
		{"chatModify", args{map[string]any{"archive": true, "lastMessages": []any{last}}, shopJID}},
		{"chatModify", args{map[string]any{"markRead": false, "lastMessages": []any{last}}, shopJID}},
		{"addOrEditContact", args{shopJID, map[string]any{"fullName": "The Shop"}}},
		{"fetchMessageHistory", args{5, got.Key, 1_700_000_000_000}},
		{"rejectCall", args{"CALL1", got.Key.RemoteJID}},
		{"createCallLink", args{"audio"}},
		{"rotateSignedPreKey", nil},
		{"digestKeyBundle", nil},
	} {
		if raw, err := k.b.try(request.do, request.args...); err != nil {
			t.Errorf("%s: %v", request.do, err)
		} else {
			t.Logf("%s: %.150s", request.do, raw)
		}
	}
	// Bob has no session yet: his phone builds one with the rotated key.
	seen := k.b.seen()
	k.Do(t, rig.Act("$bob", `{"do":"text","to":"$anne","text":"the first one","id":"FIRST"}`))
	k.arrives(t, seen, "FIRST", `"message":{"conversation":"the first one"}`)
}
