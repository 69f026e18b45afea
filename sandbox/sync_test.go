package sandbox

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/appstate"
	"go.mau.fi/whatsmeow/proto/waMmsRetry"
	"go.mau.fi/whatsmeow/proto/waServerSync"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"
)

// stateMemory is the part of a device's store that app state needs.
type stateMemory struct {
	*store.NoopStore
	mu       sync.Mutex
	keys     map[string]store.AppStateSyncKey
	versions map[string]appstate.HashState
	macs     map[string][]byte
}

func newStateDevice() *store.Device {
	d := newMemoryDevice()
	m := &stateMemory{
		NoopStore: &store.NoopStore{}, keys: map[string]store.AppStateSyncKey{},
		versions: map[string]appstate.HashState{}, macs: map[string][]byte{},
	}
	d.AppState, d.AppStateKeys = m, m
	return d
}

func (m *stateMemory) PutAppStateSyncKey(_ context.Context, id []byte, key store.AppStateSyncKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys[string(id)] = key
	return nil
}

func (m *stateMemory) GetAppStateSyncKey(_ context.Context, id []byte) (*store.AppStateSyncKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key, ok := m.keys[string(id)]; ok {
		return &key, nil
	}
	return nil, nil
}

func (m *stateMemory) GetLatestAppStateSyncKeyID(context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.keys {
		return []byte(id), nil
	}
	return nil, nil
}

func (m *stateMemory) PutAppStateVersion(_ context.Context, name string, version uint64, hash [128]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.versions[name] = appstate.HashState{Version: version, Hash: hash}
	return nil
}

func (m *stateMemory) GetAppStateVersion(_ context.Context, name string) (uint64, [128]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.versions[name].Version, m.versions[name].Hash, nil
}

func (m *stateMemory) DeleteAppStateVersion(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.versions, name)
	for key := range m.macs {
		if len(key) > len(name) && key[:len(name)+1] == name+" " {
			delete(m.macs, key)
		}
	}
	return nil
}

func (m *stateMemory) PutAppStateMutationMACs(_ context.Context, name string, _ uint64, macs []store.AppStateMutationMAC) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, mac := range macs {
		m.macs[name+" "+hex.EncodeToString(mac.IndexMAC)] = mac.ValueMAC
	}
	return nil
}

func (m *stateMemory) GetAppStateMutationMAC(_ context.Context, name string, index []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.macs[name+" "+hex.EncodeToString(index)], nil
}

// do runs an act as a request does.
func do(t *testing.T, s *Server, p *Phone, name string, fields map[string]any) error {
	t.Helper()
	table := acts()
	i := slices.IndexFunc(table, func(a act) bool { return a.Do == name })
	if i < 0 {
		t.Fatalf("no act %s", name)
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	_, err = table[i].run(context.Background(), s, p, raw)
	return err
}

func mustDo(t *testing.T, s *Server, p *Phone, name string, fields map[string]any) {
	t.Helper()
	if err := do(t, s, p, name, fields); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type fields = map[string]any

// synced is a server with a phone and its linked client that keeps app state.
func synced(t *testing.T, cfg Config) (*Server, *Phone, *client) {
	t.Helper()
	s := openServer(t, cfg)
	p := addPhone(t, s, "5511911111111")
	c := newClient(t, s, newStateDevice())
	c.pairByQR(p)
	return s, p, c
}

const (
	otherNumber = "5511922222222"
	someGroup   = "120363000000000001@g.us"
)

var otherJID = types.NewJID(otherNumber, types.DefaultUserServer)

func TestEachActAboutTheStateReachesTheLinkedClientAsItsEvent(t *testing.T) {
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
	if p.PushName() != "New name" || s.view(p).PushName != "New name" {
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

func TestStateSurvivesARestartWhileTheClientStaysLinked(t *testing.T) {
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

func TestAClientsChangeReachesTheAccountsOtherClient(t *testing.T) {
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
	if s.view(p).PushName != "By a client" {
		t.Errorf("the account's name is %q", s.view(p).PushName)
	}
	mustDo(t, s, p, "mute", fields{"chat": otherNumber})
	for _, c := range []*client{first, second} {
		wait(c, 1, every[*events.Mute])
	}
}

func TestADamagedPatchIsAnErrorOnceAndTheNextActHeals(t *testing.T) {
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

func TestADamagedPatchComesAfterTheFirstReadOfACollection(t *testing.T) {
	s, p, c := synced(t, Config{})
	mustDo(t, s, p, "app-state-error", fields{"collection": "regular"})
	if failed := wait(c, 1, every[*events.AppStateSyncError]); failed.FullSync || failed.Name != appstate.WAPatchRegular {
		t.Errorf("error %+v", failed)
	}
}

func TestAClientThatIsBehindGetsTheConflictAndTriesAgain(t *testing.T) {
	s, p, c := synced(t, Config{})
	mustDo(t, s, p, "app-state-keys", fields{})
	wait(c, len(appstate.AllPatchNames), every[*events.AppStateSyncComplete])
	a := s.appStates.account(p.Number(), s.persist)
	a.mu.Lock()
	err := a.change(context.Background(), appstate.BuildPin(otherJID, true)) // without telling anybody
	a.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SendAppState(context.Background(), appstate.BuildMarkChatAsRead(otherJID, true, time.Time{}, nil)); err != nil {
		t.Fatal(err)
	}
	wait(c, 1, every[*events.Pin])
	wait(c, 1, every[*events.MarkChatAsRead])
}

func TestPatchesThatWouldBreakTheDecoderAreRefusedAndChangeNothing(t *testing.T) {
	a := newAppState("5511911111111", &persistence{})
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.begin(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	good, err := a.encode(context.Background(), appstate.BuildPin(otherJID, true))
	if err != nil {
		t.Fatal(err)
	}
	short := &waServerSync.SyncdPatch{Mutations: []*waServerSync.SyncdMutation{{
		Record: &waServerSync.SyncdRecord{Index: &waServerSync.SyncdIndex{Blob: make([]byte, 32)}, Value: &waServerSync.SyncdValue{Blob: []byte{1}}},
	}}}
	raw, err := proto.Marshal(short)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for name, bad := range map[string][]byte{"empty": nil, "noise": {1, 2, 3}, "short value": raw, "flipped": flipped, "large": make([]byte, maxPatchBytes+1)} {
		if _, err := a.apply(context.Background(), appstate.WAPatchRegularLow, bad); !errors.Is(err, errPatch) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if c := a.collections[appstate.WAPatchRegularLow]; c.version != 1 || len(c.records) != 1 || len(c.patches) != 1 {
		t.Errorf("the collection changed: version %d", c.version)
	}
	if _, err := a.apply(context.Background(), appstate.WAPatchRegularLow, good); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

func TestAClientThatStartsAnewAfterManyChangesGetsASnapshot(t *testing.T) {
	s, p, c := synced(t, Config{})
	mustDo(t, s, p, "app-state-keys", fields{})
	wait(c, len(appstate.AllPatchNames), every[*events.AppStateSyncComplete])
	eventually(t, "everything acknowledged", func() bool { return queuedFor(s, p) == 0 })
	a := s.appStates.account(p.Number(), s.persist)
	a.mu.Lock()
	var err error
	for i := 0; i < maxPatches+50 && err == nil; i++ {
		err = a.change(context.Background(), appstate.BuildPin(otherJID, i%2 == 0))
	}
	kept, records := len(a.collections[appstate.WAPatchRegularLow].patches), len(a.collections[appstate.WAPatchRegularLow].records)
	a.mu.Unlock()
	if err != nil || kept != maxPatches || records != 2 {
		t.Fatalf("%d patches and %d records are kept, %v", kept, records, err)
	}
	if err := c.FetchAppState(context.Background(), appstate.WAPatchRegularLow, true, false); err != nil {
		t.Fatal(err)
	}
	done := wait(c, len(appstate.AllPatchNames)+1, every[*events.AppStateSyncComplete])
	if done.Version != maxPatches+51 {
		t.Errorf("version %d", done.Version)
	}
	mustDo(t, s, p, "pin", fields{"chat": otherNumber})
	wait(c, 1, every[*events.Pin])
}

func TestHistoryReachesTheClientInlineAndByDownload(t *testing.T) {
	s, p, c := synced(t, Config{})
	for i, blob := range []bool{false, true} {
		mustDo(t, s, p, "history-sync", fields{"conversations": 3, "messages": 20, "progress": 40 + i, "chunkOrder": 2, "blob": blob})
		e := wait(c, i+1, every[*events.HistorySync])
		chats := e.Data.GetConversations()
		if len(chats) != 3 || len(chats[2].GetMessages()) != 20 || len(e.Data.GetPushnames()) != 3 {
			t.Fatalf("%d conversations", len(chats))
		}
		if e.Data.GetSyncType().String() != "RECENT" || e.Data.GetProgress() != uint32(40+i) || e.Data.GetChunkOrder() != 2 {
			t.Errorf("history %s %d %d", e.Data.GetSyncType(), e.Data.GetProgress(), e.Data.GetChunkOrder())
		}
		chat, _ := types.ParseJID(chats[2].GetID())
		parsed, err := c.ParseWebMessage(chat, chats[2].GetMessages()[19].GetMessage())
		if err != nil || parsed.Message.GetConversation() != "message 20 of the past" {
			t.Errorf("last message %v, %v", parsed, err)
		}
		if inline := e.Notification.InitialHistBootstrapInlinePayload != nil; inline == blob {
			t.Errorf("inline %v with blob %v", inline, blob)
		}
	}
	eventually(t, "the client deletes the download", func() bool {
		s.media.mu.Lock()
		defer s.media.mu.Unlock()
		return len(s.media.files) == 0 && s.media.total == 0 && len(s.media.order) == 0
	})
}

func TestLongHistoryTravelsAsABlobAndIsComplete(t *testing.T) {
	s, p, c := synced(t, Config{})
	mustDo(t, s, p, "history-sync", fields{"syncType": "FULL", "conversations": 50, "messages": 1000})
	e := wait(c, 1, every[*events.HistorySync])
	messages := 0
	for _, chat := range e.Data.GetConversations() {
		messages += len(chat.GetMessages())
	}
	if messages != 50_000 || e.Notification.GetDirectPath() == "" || e.Data.GetSyncType().String() != "FULL" {
		t.Errorf("%d messages of %s", messages, e.Data.GetSyncType())
	}
}

func TestAnswersToAMediaRetryFailOrCarryTheNewPath(t *testing.T) {
	s, p, c := synced(t, Config{})
	group, _ := types.ParseJID(someGroup)
	mustDo(t, s, p, "media-retry", fields{"chat": someGroup, "id": "M1", "participant": otherNumber, "error": 2})
	failed := wait(c, 1, func(e *events.MediaRetry) bool { return e.MessageID == "M1" })
	if failed.ChatID != group || failed.SenderID != otherJID || failed.FromMe || !recent(failed.Timestamp) {
		t.Errorf("event %+v", failed)
	}
	if _, err := whatsmeow.DecryptMediaRetryNotification(failed, make([]byte, 32)); !errors.Is(err, whatsmeow.ErrMediaNotAvailableOnPhone) {
		t.Errorf("error %v", err)
	}
	key := make([]byte, 32)
	mustDo(t, s, p, "media-retry", fields{"chat": otherNumber, "id": "M2", "fromMe": true, "mediaKey": key, "directPath": "/v/new"})
	done := wait(c, 1, func(e *events.MediaRetry) bool { return e.MessageID == "M2" })
	result, err := whatsmeow.DecryptMediaRetryNotification(done, key)
	if err != nil || result.GetDirectPath() != "/v/new" || result.GetResult() != waMmsRetry.MediaRetryNotification_SUCCESS || !done.FromMe {
		t.Errorf("result %v, %v", result, err)
	}
}

func TestSyncActsRefuseBadFieldsByName(t *testing.T) {
	tests := []struct {
		do     string
		fields fields
		names  string
	}{
		{"archive", fields{}, "chat"},
		{"contact", fields{"to": otherNumber}, "fullName"},
		{"mute", fields{"chat": otherNumber, "minutes": -1}, "minutes"},
		{"star", fields{"chat": otherNumber}, "id"},
		{"star", fields{"chat": otherNumber, "id": "1", "participant": "x"}, "participant"},
		{"label-edit", fields{"label": "1", "name": "x", "color": 256}, "color"},
		{"label-edit", fields{"label": "1"}, "name"},
		{"label-chat", fields{"chat": otherNumber}, "label"},
		{"label-message", fields{"chat": otherNumber, "id": "1"}, "label"},
		{"push-name-setting", fields{}, "name"},
		{"app-state", fields{"collection": "x"}, "collection"},
		{"app-state", fields{"index": []string{"label_edit"}}, "index"},
		{"app-state", fields{"value": fields{"x": 1}}, "value"},
		{"app-state-error", fields{"collection": "x"}, "collection"},
		{"history-sync", fields{"syncType": "x"}, "syncType"},
		{"history-sync", fields{"conversations": -1}, "conversations"},
		{"history-sync", fields{"conversations": 2, "messages": maxHistory}, "messages"},
		{"history-sync", fields{"progress": 101}, "progress"},
		{"media-retry", fields{"chat": otherNumber, "id": "1", "mediaKey": "x"}, "mediaKey"},
		{"media-retry", fields{"chat": otherNumber, "id": "1", "error": -1}, "error"},
	}
	s := openServer(t, Config{})
	p := addPhone(t, s, "5511911111111")
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %v", tt.do, tt.fields), func(t *testing.T) {
			var r refused
			err := do(t, s, p, tt.do, tt.fields)
			if !errors.As(err, &r) || r.status != http.StatusUnprocessableEntity || len(r.text) < len(tt.names) || r.text[:len(tt.names)] != tt.names {
				t.Errorf("error %v, want a 422 that begins with %s", err, tt.names)
			}
		})
	}
}
