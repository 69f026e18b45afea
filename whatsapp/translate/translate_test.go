package translate

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.mau.fi/util/jsontime"
	"go.mau.fi/whatsmeow/appstate"
	wabinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/proto/waHistorySync"
	"go.mau.fi/whatsmeow/proto/waSyncAction"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
	"postern/event/witness"
)

var update = flag.Bool("update", false, "rewrite the golden file")

var (
	ownPN      = types.NewJID("4915155500001", types.DefaultUserServer)
	ownLID     = types.NewJID("100000000000001", types.HiddenUserServer)
	annePN     = types.NewJID("4915155500002", types.DefaultUserServer)
	anneLID    = types.NewJID("100000000000002", types.HiddenUserServer)
	strangerPN = types.NewJID("4915155500009", types.DefaultUserServer) // of unknownLID, which no book knows
	unknownLID = types.NewJID("100000000000003", types.HiddenUserServer)
	bakers     = types.NewJID("120363000000000001", types.GroupServer)
	channel    = types.NewJID("120363000000000007", types.NewsletterServer)

	then = time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)
	noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
)

// testTranslator knows Anne by both addresses.
func testTranslator() Translator {
	return Translator{
		Other: func(j types.JID) types.JID {
			switch j.ToNonAD() {
			case annePN:
				return anneLID
			case anneLID:
				return annePN
			}
			return types.EmptyJID
		},
		Own: Account{JID: ownPN, LID: ownLID},
		Now: noon,
	}
}

// translations is one event for each kind of fact.
func translations() []struct {
	name string
	evt  any
} {
	meta := types.BasicCallMeta{From: anneLID, Timestamp: then, CallCreator: anneLID, CallCreatorAlt: annePN, CallID: "C1"}
	group := meta
	group.GroupJID = bakers
	stranger := types.BasicCallMeta{From: unknownLID, CallCreator: unknownLID, CallID: "C2"}
	node := func(tag string, attrs wabinary.Attrs, children ...string) *wabinary.Node {
		n := wabinary.Node{Tag: tag, Attrs: attrs}
		var list []wabinary.Node
		for _, c := range children {
			list = append(list, wabinary.Node{Tag: c})
		}
		if list != nil {
			n.Content = list
		}
		return &n
	}
	direct := types.MessageSource{Chat: anneLID, Sender: anneLID, SenderAlt: annePN}
	inGroup := types.MessageSource{Chat: bakers, Sender: anneLID, SenderAlt: annePN, IsGroup: true}
	change := func(g events.GroupInfo) *events.GroupInfo {
		g.JID, g.Sender, g.SenderPN, g.Timestamp = bakers, &anneLID, &annePN, then
		return &g
	}
	return []struct {
		name string
		evt  any
	}{
		{"CallOffer", &events.CallOffer{BasicCallMeta: meta, Data: node("offer", nil, "audio")}},
		{"CallOffer video", &events.CallOffer{BasicCallMeta: meta, Data: node("offer", nil, "audio", "video")}},
		{"CallOffer group", &events.CallOffer{BasicCallMeta: group, Data: node("offer", nil)}},
		{"CallOfferNotice", &events.CallOfferNotice{BasicCallMeta: group, Media: "video", Type: "group", Data: node("offer_notice", nil)}},
		{"CallPreAccept", &events.CallPreAccept{BasicCallMeta: meta, Data: node("preaccept", nil)}},
		{"CallAccept", &events.CallAccept{BasicCallMeta: meta, Data: node("accept", wabinary.Attrs{"latency": "84"}, "audio")}},
		{"CallReject", &events.CallReject{BasicCallMeta: stranger, Data: node("reject", nil)}},
		{"CallTerminate", &events.CallTerminate{BasicCallMeta: meta, Reason: "hangup"}},
		{"CallTerminate timeout", &events.CallTerminate{BasicCallMeta: meta, Reason: "timeout"}},
		{"CallOffer of a number sent for the first time", &events.CallOffer{BasicCallMeta: types.BasicCallMeta{
			From: unknownLID, Timestamp: then, CallCreator: unknownLID, CallCreatorAlt: strangerPN, CallID: "C4",
		}}},
		{"UnknownCallEvent", &events.UnknownCallEvent{Node: &wabinary.Node{
			Tag: "call", Attrs: wabinary.Attrs{"from": anneLID, "t": "1777887000", "offline": "0"},
			Content: []wabinary.Node{{Tag: "duration", Attrs: wabinary.Attrs{"call-id": "C3", "call-creator": anneLID}}},
		}}},
		{"UnknownCallEvent without a node", &events.UnknownCallEvent{}},

		{"Archive", &events.Archive{JID: anneLID, Timestamp: then, Action: &waSyncAction.ArchiveChatAction{Archived: new(true)}}},
		{"Pin", &events.Pin{JID: bakers, Timestamp: then, Action: &waSyncAction.PinAction{Pinned: new(false)}, FromFullSync: true}},
		{"Mute", &events.Mute{JID: annePN, Timestamp: then, Action: &waSyncAction.MuteAction{Muted: new(true), MuteEndTimestamp: new(int64(-1))}}},
		{"MarkChatAsRead", &events.MarkChatAsRead{JID: unknownLID, Timestamp: then, Action: &waSyncAction.MarkChatAsReadAction{Read: new(true)}}},
		{"ClearChat", &events.ClearChat{JID: annePN, Timestamp: then, Action: &waSyncAction.ClearChatAction{}, DeleteMedia: true}},
		{"UnarchiveChatsSetting", &events.UnarchiveChatsSetting{Timestamp: then, Action: &waSyncAction.UnarchiveChatsSetting{UnarchiveChats: new(true)}}},
		{"DeleteChat", &events.DeleteChat{JID: annePN, Timestamp: then, Action: &waSyncAction.DeleteChatAction{}, DeleteMedia: true}},
		{"Blocklist", &events.Blocklist{Action: events.BlocklistActionModify, DHash: "d2", PrevDHash: "d1"}},
		{"BlocklistChange", &events.Blocklist{DHash: "d2", PrevDHash: "d1", Changes: []events.BlocklistChange{
			{JID: anneLID, Action: events.BlocklistChangeActionBlock}, {JID: unknownLID, Action: events.BlocklistChangeActionUnblock},
		}}},

		{"DeleteForMe", &events.DeleteForMe{
			ChatJID: bakers, SenderJID: anneLID, MessageID: "M1", Timestamp: then,
			Action: &waSyncAction.DeleteMessageForMeAction{DeleteMedia: new(true), MessageTimestamp: new(int64(1777887000))},
		}},
		{"DeleteForMe own", &events.DeleteForMe{ChatJID: anneLID, IsFromMe: true, MessageID: "M1", Timestamp: then}},
		{"Star", &events.Star{ChatJID: bakers, SenderJID: anneLID, MessageID: "M1", Timestamp: then, Action: &waSyncAction.StarAction{Starred: new(true)}}},
		{"UndecryptableMessage", &events.UndecryptableMessage{Info: types.MessageInfo{MessageSource: direct, ID: "M2", Timestamp: then}}},
		{"UndecryptableMessage view once", &events.UndecryptableMessage{
			Info:          types.MessageInfo{MessageSource: inGroup, ID: "M2", Timestamp: then},
			IsUnavailable: true, UnavailableType: events.UnavailableTypeViewOnce, DecryptFailMode: events.DecryptFailHide,
		}},
		{"MediaRetry", &events.MediaRetry{Ciphertext: []byte("secret"), IV: []byte("iv"), Timestamp: then, MessageID: "M3", ChatID: annePN}},
		{"MediaRetry refused", &events.MediaRetry{
			Error: &events.MediaRetryError{Code: 2}, Timestamp: then, MessageID: "M3", ChatID: bakers, SenderID: anneLID, FromMe: true,
		}},

		{"JoinedGroup", joinedBakers()},
		{"GroupInfo add", change(events.GroupInfo{Join: []types.JID{anneLID, unknownLID}})},
		{"GroupInfo remove", change(events.GroupInfo{Leave: []types.JID{anneLID}})},
		{"GroupInfo promote", change(events.GroupInfo{Promote: []types.JID{annePN}})},
		{"GroupInfo demote", change(events.GroupInfo{Demote: []types.JID{unknownLID}})},
		{"GroupInfo without author", &events.GroupInfo{JID: bakers, Notify: "invite", Join: []types.JID{anneLID}}},
		{"GroupInfo subject", change(events.GroupInfo{Name: &types.GroupName{Name: "Millers", NameSetAt: then, NameSetBy: anneLID, NameSetByPN: annePN}})},
		{"GroupInfo description", change(events.GroupInfo{Topic: &types.GroupTopic{Topic: "Flour", TopicID: "T1", TopicSetAt: then, TopicSetBy: anneLID}})},
		{"GroupInfo description removed", change(events.GroupInfo{Topic: &types.GroupTopic{TopicID: "T2", TopicDeleted: true}})},
		{"GroupInfo flags", change(events.GroupInfo{
			Locked: &types.GroupLocked{IsLocked: true}, Announce: &types.GroupAnnounce{},
			Ephemeral:              &types.GroupEphemeral{IsEphemeral: true, DisappearingTimer: 86400},
			MembershipApprovalMode: &types.GroupMembershipApprovalMode{IsJoinApprovalRequired: true},
			UnknownChanges:         []*wabinary.Node{keptApproval("on")},
		})},
		{"GroupInfo approval off", change(events.GroupInfo{
			MembershipApprovalMode: &types.GroupMembershipApprovalMode{IsJoinApprovalRequired: true},
			UnknownChanges:         []*wabinary.Node{keptApproval("off")},
		})},
		{"GroupInfo approval without a value", change(events.GroupInfo{
			MembershipApprovalMode: &types.GroupMembershipApprovalMode{IsJoinApprovalRequired: true},
			UnknownChanges:         []*wabinary.Node{keptApproval(""), {Tag: approvalKeptTag}},
		})},
		{"GroupInfo ephemeral off", change(events.GroupInfo{Ephemeral: &types.GroupEphemeral{}})},
		{"GroupInfo invite link", change(events.GroupInfo{NewInviteLink: new("https://chat.whatsapp.com/AbCd")})},
		{"GroupInfo linked", change(events.GroupInfo{Link: &types.GroupLinkChange{
			Type: types.GroupLinkChangeTypeParent, Group: types.GroupLinkTarget{JID: types.NewJID("120363000000000009", types.GroupServer)},
		}})},
		{"GroupInfo unlinked", change(events.GroupInfo{Unlink: &types.GroupLinkChange{Type: types.GroupLinkChangeTypeParent}})},
		{"GroupInfo member add mode", change(events.GroupInfo{UnknownChanges: []*wabinary.Node{
			nil, {Tag: "member_add_mode", Content: []byte("all_member_add")},
		}})},
		{"GroupInfo deleted", change(events.GroupInfo{Delete: &types.GroupDelete{Deleted: true}})},
		{"GroupInfo add and subject", change(events.GroupInfo{Join: []types.JID{anneLID}, Name: &types.GroupName{Name: "Millers"}})},

		{"PushName", &events.PushName{JID: anneLID, JIDAlt: annePN, OldPushName: "An", NewPushName: "Anne"}},
		{"PushName without a person", &events.PushName{NewPushName: "Anne"}},
		{"BusinessName", &events.BusinessName{JID: annePN, NewBusinessName: "Anne's Bakery"}},
		{"Contact", &events.Contact{JID: annePN, Timestamp: then, Action: &waSyncAction.ContactAction{FirstName: new("Anne"), FullName: new("Anne B")}}},
		{"Contact by LID with a first name", &events.Contact{JID: unknownLID, Action: &waSyncAction.ContactAction{FirstName: new("Bob")}}},
		{"Contact whose entry has the LID", &events.Contact{JID: strangerPN, Action: &waSyncAction.ContactAction{
			FullName: new("Cy"), LidJID: new(unknownLID.String()), PnJID: new(strangerPN.String()),
		}}},
		{"Contact by LID whose entry has the number", &events.Contact{JID: unknownLID, Action: &waSyncAction.ContactAction{
			FullName: new("Cy"), PnJID: new(strangerPN.String()),
		}}},
		{"Contact whose entry has no address there", &events.Contact{JID: strangerPN, Action: &waSyncAction.ContactAction{
			FullName: new("Cy"), LidJID: new("::@lid"),
		}}},
		{"Picture own", &events.Picture{JID: ownLID, Timestamp: then, PictureID: "P1"}},
		{"Picture of a hosted account", &events.Picture{JID: types.NewJID(annePN.User, types.HostedServer), Timestamp: then, PictureID: "P1"}},
		{"Picture", &events.Picture{JID: anneLID, Timestamp: then, PictureID: "P1"}},
		{"Picture of a group removed", &events.Picture{JID: bakers, Author: anneLID, Timestamp: then, Remove: true}},
		{"UserAbout", &events.UserAbout{JID: anneLID, Status: "baking", Timestamp: then}},
		{"IdentityChange", &events.IdentityChange{JID: anneLID, Timestamp: then, Implicit: true}},
		{"Presence", &events.Presence{From: anneLID, Unavailable: true, LastSeen: then}},
		{"Presence online", &events.Presence{From: anneLID}},
		{"ChatPresence", &events.ChatPresence{MessageSource: direct, State: types.ChatPresenceComposing, Media: types.ChatPresenceMediaAudio}},
		{"ChatPresence in a group", &events.ChatPresence{MessageSource: inGroup, State: types.ChatPresencePaused}},

		{"LabelEdit", &events.LabelEdit{Timestamp: then, LabelID: "7", Action: &waSyncAction.LabelEditAction{Name: new("late"), Color: new(int32(0)), Deleted: new(false)}}},
		{"LabelEdit bare", &events.LabelEdit{LabelID: "7"}},
		{"LabelAssociationChat", &events.LabelAssociationChat{JID: anneLID, Timestamp: then, LabelID: "7", Action: &waSyncAction.LabelAssociationAction{Labeled: new(true)}}},
		{"LabelAssociationMessage", &events.LabelAssociationMessage{JID: anneLID, Timestamp: then, LabelID: "7", MessageID: "M1", Action: &waSyncAction.LabelAssociationAction{Labeled: new(false)}}},
		{"LabelAssociationMessage bare", &events.LabelAssociationMessage{JID: anneLID, Timestamp: then, LabelID: "7", MessageID: "M1"}},

		{"PushNameSetting", &events.PushNameSetting{Timestamp: then, Action: &waSyncAction.PushNameSetting{Name: new("Shop")}}},
		{"UserStatusMute", &events.UserStatusMute{JID: anneLID, Timestamp: then, Action: &waSyncAction.UserStatusMuteAction{Muted: new(true)}}},

		{"OfflineSyncPreview", &events.OfflineSyncPreview{Total: 5, AppDataChanges: 1, Messages: 2, Notifications: 1, Receipts: 1}},
		{"OfflineSyncCompleted", &events.OfflineSyncCompleted{Count: 5}},
		{"PrivacySettings", &events.PrivacySettings{
			NewSettings:     types.PrivacySettings{GroupAdd: types.PrivacySettingAll, LastSeen: types.PrivacySettingNone},
			LastSeenChanged: true,
		}},
		{"AppState", &events.AppState{Index: []string{"mute", annePN.String()}, SyncActionValue: &waSyncAction.SyncActionValue{
			Timestamp: new(int64(1777887000000)), MuteAction: &waSyncAction.MuteAction{Muted: new(true)},
		}}},
		{"AppState empty", &events.AppState{}},
		{"AppStateSyncComplete", &events.AppStateSyncComplete{Name: appstate.WAPatchRegular, Version: 12}},
		{"AppStateSyncError", &events.AppStateSyncError{Name: appstate.WAPatchRegularHigh, Error: errors.New("mismatching LTHash"), FullSync: true}},
		{"NotifyAccountReachoutTimelock", &events.NotifyAccountReachoutTimelock{
			EnforcementType: "BIZ_COMMERCE_VIOLATION", IsActive: true, TimeEnforcementEnds: jsontime.UnixString{Time: then},
		}},
		{"NotifyAccountReachoutTimelock over", &events.NotifyAccountReachoutTimelock{}},
		{"HistorySync", &events.HistorySync{Data: &waHistorySync.HistorySync{
			SyncType: waHistorySync.HistorySync_RECENT.Enum(), Progress: new(uint32(40)), ChunkOrder: new(uint32(0)),
			Conversations: []*waHistorySync.Conversation{
				{Messages: []*waHistorySync.HistorySyncMsg{{}, {}}}, {Messages: []*waHistorySync.HistorySyncMsg{{}}}, nil,
			},
			Pushnames: []*waHistorySync.Pushname{{}},
		}}},
		{"HistorySync empty", &events.HistorySync{}},

		{"NewsletterJoin", &events.NewsletterJoin{
			Mex: events.MexNotificationData{Timestamp: then}, NewsletterMetadata: types.NewsletterMetadata{
				ID: channel, State: types.WrappedNewsletterState{Type: types.NewsletterStateActive},
				ThreadMeta: types.NewsletterThreadMetadata{Name: types.NewsletterText{Text: "Bread"}, SubscriberCount: 12},
				ViewerMeta: &types.NewsletterViewerMetadata{Mute: types.NewsletterMuteOn, Role: types.NewsletterRoleSubscriber},
			},
		}},
		{"NewsletterLeave", &events.NewsletterLeave{ID: channel, Role: types.NewsletterRoleGuest}},
		{"NewsletterMuteChange", &events.NewsletterMuteChange{Mex: events.MexNotificationData{Timestamp: then}, ID: channel, Mute: types.NewsletterMuteOff}},
		{"NewsletterLiveUpdate", &events.NewsletterLiveUpdate{JID: channel, Time: then, Messages: []*types.NewsletterMessage{
			nil, {MessageServerID: 101, MessageID: "N1", Timestamp: then, ViewsCount: 9, ReactionCounts: map[string]int{"👍": 2}},
		}}},

		{"CallTransport is silent", &events.CallTransport{}},
		{"CallRelayLatency is silent", &events.CallRelayLatency{}},
		{"PairPasskeyRequest is silent", &events.PairPasskeyRequest{}},
		{"PairPasskeyError is silent", &events.PairPasskeyError{}},
		{"PairPasskeyConfirmation is silent", &events.PairPasskeyConfirmation{}},
	}
}

func joinedBakers() *events.JoinedGroup {
	return &events.JoinedGroup{
		Type: "new", Notify: "Anne", Sender: &anneLID, SenderPN: &annePN,
		GroupInfo: types.GroupInfo{
			JID: bakers, OwnerJID: anneLID, OwnerPN: annePN, CreatorCountryCode: "DE", GroupCreated: then,
			GroupName:      types.GroupName{Name: "Bakers", NameSetAt: then, NameSetBy: anneLID, NameSetByPN: annePN},
			GroupTopic:     types.GroupTopic{Topic: "Bread", TopicID: "T1", TopicSetAt: then, TopicSetBy: anneLID, TopicSetByPN: annePN},
			GroupLocked:    types.GroupLocked{IsLocked: true},
			AddressingMode: types.AddressingModeLID,
			MemberAddMode:  types.GroupMemberAddModeAdmin,
			GroupEphemeral: types.GroupEphemeral{IsEphemeral: true, DisappearingTimer: 3600},
			Participants: []types.GroupParticipant{
				{JID: anneLID, LID: anneLID, PhoneNumber: annePN, IsAdmin: true, IsSuperAdmin: true},
				{JID: ownLID, LID: ownLID, PhoneNumber: ownPN, IsAdmin: true},
				{JID: unknownLID, LID: unknownLID},
			},
		},
	}
}

func TestEachTriggerIsTranslatedToItsPayload(t *testing.T) {
	var got bytes.Buffer
	for _, c := range translations() {
		facts, ok := testTranslator().Facts(c.evt)
		if !ok {
			t.Errorf("%s: %T is not known", c.name, c.evt)
		}
		fmt.Fprintf(&got, "%s\n", c.name)
		for _, f := range facts {
			checkFact(t, f)
			body, err := event.Marshal(f.Data)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "  %s %s\n", f.Kind, body)
		}
	}
	golden := filepath.Join("testdata", "facts.golden")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("facts differ from %s; go test ./whatsapp/translate -run %s -update rewrites it. Got:\n%s", golden, t.Name(), got.Bytes())
	}
}

var schemas = witness.New(event.SchemaJSON)

// checkFact validates a fact against the schema of its event. The ids that the store
// assigns are added first.
func checkFact(t *testing.T, f event.Fact) {
	t.Helper()
	data := f.Data
	if c, ok := data.(event.ContactChange); ok {
		if data = (event.ContactUpsert{ID: 1, RemoteJID: c.JID, Action: event.ContactUpserted}); f.Kind == event.ContactsUpdate {
			data = []event.ContactUpdate{{ID: 1, RemoteJID: c.JID, Action: event.ContactUpdated, Source: c.Source}}
		}
	}
	body, err := event.MarshalInstance(f.Kind, event.Snapshot{ConnectionStatus: event.Online}, data, noon)
	if err != nil {
		t.Fatalf("%s: %v", f.Kind, err)
	}
	if err := schemas.Check(f.Kind, body); err != nil {
		t.Errorf("%s breaks its schema: %v\n%s", f.Kind, err, body)
	}
}

func TestAnUnknownEventTypeIsNotTheTranslators(t *testing.T) {
	if facts, ok := testTranslator().Facts(&struct{ X int }{1}); ok || facts != nil {
		t.Errorf("facts = %v, %v", facts, ok)
	}
}
