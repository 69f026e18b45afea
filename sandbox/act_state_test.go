package sandbox

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

const (
	otherNumber = "5511922222222"
	someGroup   = "120363000000000001@g.us"
)

var otherJID = types.NewJID(otherNumber, types.DefaultUserServer)

func TestStateActsReachTheLinkedClient(t *testing.T) {
	until := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	group, _ := types.ParseJID(someGroup)
	tests := []struct {
		do     string
		fields fields
		seen   func(e any) bool
	}{
		{"contact", fields{"to": otherNumber, "fullName": "Ana Lima", "firstName": "Ana"}, is(func(e *events.Contact) bool {
			return e.JID == otherJID && e.Action.GetFullName() == "Ana Lima" && e.Action.GetFirstName() == "Ana" && !e.FromFullSync && recent(e.Timestamp)
		})},
		{"archive", fields{"chat": otherNumber}, is(func(e *events.Archive) bool {
			return e.JID == otherJID && e.Action.GetArchived() && !e.FromFullSync && recent(e.Timestamp)
		})},
		{"archive", fields{"chat": someGroup, "archived": false}, is(func(e *events.Archive) bool {
			return e.JID == group && !e.Action.GetArchived() && !e.FromFullSync
		})},
		{"pin", fields{"chat": otherNumber}, is(func(e *events.Pin) bool {
			return e.JID == otherJID && e.Action.GetPinned() && !e.FromFullSync && recent(e.Timestamp)
		})},
		{"mute", fields{"chat": otherNumber, "until": until}, is(func(e *events.Mute) bool {
			return e.JID == otherJID && e.Action.GetMuted() && e.Action.GetMuteEndTimestamp() == until.UnixMilli() && !e.FromFullSync
		})},
		{"mute", fields{"chat": otherNumber, "muted": false}, is(func(e *events.Mute) bool {
			return e.JID == otherJID && !e.Action.GetMuted()
		})},
		{"star", fields{"chat": someGroup, "id": "AB1", "participant": otherNumber}, is(func(e *events.Star) bool {
			return e.ChatJID == group && e.MessageID == "AB1" && e.SenderJID == otherJID && !e.IsFromMe && e.Action.GetStarred() && !e.FromFullSync
		})},
		{"mark-read", fields{"chat": otherNumber, "read": false}, is(func(e *events.MarkChatAsRead) bool {
			return e.JID == otherJID && !e.Action.GetRead() && e.Action.Read != nil && !e.FromFullSync
		})},
		{"clear-chat", fields{"chat": otherNumber, "deleteMedia": true}, is(func(e *events.ClearChat) bool {
			return e.JID == otherJID && e.DeleteMedia && !e.FromFullSync
		})},
		{"delete-chat", fields{"chat": otherNumber, "deleteMedia": true}, is(func(e *events.DeleteChat) bool {
			return e.JID == otherJID && e.DeleteMedia && !e.FromFullSync
		})},
		{"delete-for-me", fields{"chat": otherNumber, "id": "AB2", "fromMe": true}, is(func(e *events.DeleteForMe) bool {
			return e.ChatJID == otherJID && e.MessageID == "AB2" && e.IsFromMe && e.SenderJID.IsEmpty() && !e.FromFullSync
		})},
		{"label-edit", fields{"label": "7", "name": "Paid", "color": 3}, is(func(e *events.LabelEdit) bool {
			return e.LabelID == "7" && e.Action.GetName() == "Paid" && e.Action.GetColor() == 3 && !e.Action.GetDeleted() && !e.FromFullSync
		})},
		{"label-chat", fields{"label": "7", "chat": otherNumber}, is(func(e *events.LabelAssociationChat) bool {
			return e.LabelID == "7" && e.JID == otherJID && e.Action.GetLabeled() && !e.FromFullSync
		})},
		{"label-message", fields{"label": "7", "chat": otherNumber, "id": "AB3", "labeled": false}, is(func(e *events.LabelAssociationMessage) bool {
			return e.LabelID == "7" && e.JID == otherJID && e.MessageID == "AB3" && !e.Action.GetLabeled() && !e.FromFullSync
		})},
		{"unarchive-setting", fields{}, is(func(e *events.UnarchiveChatsSetting) bool {
			return e.Action.GetUnarchiveChats() && !e.FromFullSync
		})},
		{"push-name-setting", fields{"name": "New name"}, is(func(e *events.PushNameSetting) bool {
			return e.Action.GetName() == "New name" && !e.FromFullSync
		})},
		{"status-mute", fields{"to": otherNumber}, is(func(e *events.UserStatusMute) bool {
			return e.JID == otherJID && e.Action.GetMuted() && !e.FromFullSync
		})},
		{"app-state", fields{"index": []string{"primary_feature", "x"}, "value": fields{"primaryFeature": fields{"flags": []string{"f"}}}}, is(func(e *events.AppState) bool {
			return slices.Equal(e.Index, []string{"primary_feature", "x"}) && slices.Equal(e.GetPrimaryFeature().GetFlags(), []string{"f"})
		})},
	}
	s, p, c := synced(t, Config{})
	for _, tt := range tests {
		mustDo(t, s, p, tt.do, tt.fields)
		wait(c, 1, func(e any) bool { return tt.seen(e) })
	}
	if name, _ := s.Devices(p.JID()); name != "New name" || p.PushName() != name {
		t.Errorf("the push name is %q", p.PushName())
	}
	eventually(t, "everything acknowledged", func() bool { return queuedFor(s, p) == 0 })
}

func is[E any](match func(E) bool) func(any) bool {
	return func(e any) bool {
		typed, ok := e.(E)
		return ok && match(typed)
	}
}

func recent(at time.Time) bool { return time.Since(at) < time.Minute }

func archived(chat types.JID) func(*events.Archive) bool {
	return func(e *events.Archive) bool { return e.JID == chat && !e.FromFullSync }
}

func TestStateSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sandbox.db")
	s, p, c := synced(t, Config{Path: path})
	mustDo(t, s, p, "archive", fields{"chat": otherNumber})
	wait(c, 1, archived(otherJID))
	eventually(t, "everything acknowledged", func() bool { return queuedFor(s, p) == 0 })
	c.Disconnect()
	mustDo(t, s, p, "archive", fields{"chat": someGroup}) // waits for the client
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openServer(t, Config{Path: path})
	p, _ = s.Phone(p.Number())
	again := newClient(t, s, c.Store)
	again.connect()
	group, _ := types.ParseJID(someGroup)
	wait(again, 1, archived(group))
	mustDo(t, s, p, "pin", fields{"chat": otherNumber})
	wait(again, 1, func(e *events.Pin) bool { return e.JID == otherJID && !e.FromFullSync })
	if n := count(again, every[*events.AppStateSyncError]); n != 0 {
		t.Errorf("%d errors of the state", n)
	}
}

func TestStateChangeReachesTheOtherClient(t *testing.T) {
	s, p, first := synced(t, Config{})
	second := newClient(t, s, newStateDevice())
	second.pairByQR(p)
	mustDo(t, s, p, "app-state-keys", fields{})
	for _, c := range []*client{first, second} {
		wait(c, len(appstate.AllPatchNames), every[*events.AppStateSyncComplete])
	}
	if err := first.SendAppState(context.Background(), appstate.BuildArchive(otherJID, true, time.Time{}, nil)); err != nil {
		t.Fatal(err)
	}
	wait(second, 1, archived(otherJID))
	if err := second.SendAppState(context.Background(), appstate.BuildSettingPushName("By a client")); err != nil {
		t.Fatal(err)
	}
	wait(first, 1, func(e *events.PushNameSetting) bool { return e.Action.GetName() == "By a client" })
	if name, _ := s.Devices(p.JID()); name != "By a client" {
		t.Errorf("the account's name is %q", name)
	}
	mustDo(t, s, p, "mute", fields{"chat": otherNumber})
	for _, c := range []*client{first, second} {
		wait(c, 1, every[*events.Mute])
	}
}

func TestDamagedPatchHealsWithTheNextAct(t *testing.T) {
	s, p, c := synced(t, Config{})
	mustDo(t, s, p, "archive", fields{"chat": otherNumber})
	wait(c, 1, archived(otherJID))
	mustDo(t, s, p, "app-state-error", fields{})
	failed := wait(c, 1, every[*events.AppStateSyncError])
	if failed.Name != appstate.WAPatchRegularLow || failed.FullSync || !errors.Is(failed.Error, appstate.ErrMismatchingPatchMAC) {
		t.Errorf("error %+v", failed)
	}
	mustDo(t, s, p, "pin", fields{"chat": otherNumber})
	wait(c, 1, every[*events.Pin])
	if n := count(c, every[*events.AppStateSyncError]); n != 1 {
		t.Errorf("%d errors, want 1", n)
	}
}

func TestDamagedPatchFollowsTheFirstRead(t *testing.T) {
	s, p, c := synced(t, Config{})
	mustDo(t, s, p, "app-state-error", fields{"collection": "regular"})
	if failed := wait(c, 1, every[*events.AppStateSyncError]); failed.FullSync || failed.Name != appstate.WAPatchRegular {
		t.Errorf("error %+v", failed)
	}
}

func TestClientRetriesAfterAConflict(t *testing.T) {
	s, p, c := synced(t, Config{})
	mustDo(t, s, p, "app-state-keys", fields{})
	wait(c, len(appstate.AllPatchNames), every[*events.AppStateSyncComplete])
	if _, err := s.StateOf(p).Change(context.Background(), appstate.BuildPin(otherJID, true), nil); err != nil { // without telling anybody
		t.Fatal(err)
	}
	if err := c.SendAppState(context.Background(), appstate.BuildMarkChatAsRead(otherJID, true, time.Time{}, nil)); err != nil {
		t.Fatal(err)
	}
	wait(c, 1, every[*events.Pin])
	wait(c, 1, every[*events.MarkChatAsRead])
}

func TestNewStartAfterManyChangesGetsASnapshot(t *testing.T) {
	s, p, c := synced(t, Config{})
	mustDo(t, s, p, "app-state-keys", fields{})
	wait(c, len(appstate.AllPatchNames), every[*events.AppStateSyncComplete])
	eventually(t, "everything acknowledged", func() bool { return queuedFor(s, p) == 0 })
	const changes = 1050 // more than are kept one by one
	for i := range changes {
		if _, err := s.StateOf(p).Change(context.Background(), appstate.BuildPin(otherJID, i%2 == 0), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.FetchAppState(context.Background(), appstate.WAPatchRegularLow, true, false); err != nil {
		t.Fatal(err)
	}
	done := wait(c, len(appstate.AllPatchNames)+1, every[*events.AppStateSyncComplete])
	if done.Version != changes+1 {
		t.Errorf("version %d", done.Version)
	}
	mustDo(t, s, p, "pin", fields{"chat": otherNumber})
	wait(c, 1, every[*events.Pin])
}
