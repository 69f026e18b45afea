package whatsapp

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
	"postern/store"
	"postern/whatsapp/device"
	"postern/whatsapp/translate"
)

// noDevices returns the devices of an empty store, for tests that never reach a server.
func noDevices(t *testing.T) *device.Container {
	t.Helper()
	st, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "postern.db"), Buckets: device.Buckets(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	devices, err := device.Open(st, nil)
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

// journal records the facts of a session.
type journal struct {
	mu    sync.Mutex
	facts []event.Fact
	err   error // what report answers
}

func (j *journal) report(_ context.Context, f event.Fact) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.facts = append(j.facts, f)
	return j.err
}

// take returns the facts since the last take, as "kind/type/status".
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, f := range j.facts {
		line := string(f.Kind)
		if u, ok := f.Data.(event.ConnectionUpdate); ok {
			line += " " + string(u.Type) + " " + string(u.Connection)
		}
		out = append(out, line+" "+string(f.Status))
	}
	j.facts = nil
	return out
}

// offline returns a session with a client that has no socket.
func offline(t *testing.T, cfg Config) (*Session, *whatsmeow.Client, *journal) {
	t.Helper()
	cfg.Devices = noDevices(t)
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{}
	s, err := c.Open(t.Context(), 1, j.report)
	if err != nil {
		t.Fatal(err)
	}
	cli := s.prepare(t.Context(), func() {})
	t.Cleanup(s.Disconnect)
	return s, cli, j
}

func wantFacts(t *testing.T, j *journal, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, j.take()); diff != "" {
		t.Error("facts (-want +got):\n" + diff)
	}
}

func TestCodeLifetimesAndPairingLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cli, j := offline(t, Config{QRLimit: 3})
		s.linker.start(false)
		s.handle(cli, &events.QR{Codes: []string{"a", "b", "c", "d", "e", "f"}})
		synctest.Wait()
		start := time.Now()
		for i, life := range []int{60, 20, 20} {
			j.mu.Lock()
			facts := j.facts
			j.facts = nil
			j.mu.Unlock()
			if len(facts) != 1 {
				t.Fatalf("code %d: %d facts", i+1, len(facts))
			}
			qr := facts[0].Data.(event.QRCode)
			if facts[0].Status != event.QRCodeState || qr.Count != i+1 || qr.ExpiresInSeconds != life || qr.Code != string(rune('a'+i)) {
				t.Errorf("code %d: %+v", i+1, facts[0])
			}
			if want := event.At(time.Now().Add(time.Duration(life) * time.Second)); qr.ExpiresAt != want {
				t.Errorf("code %d expires at %v, want %v", i+1, qr.ExpiresAt, want)
			}
			time.Sleep(time.Duration(life) * time.Second)
			synctest.Wait()
		}
		if got := time.Since(start); got != 100*time.Second {
			t.Errorf("pairing took %v", got)
		}
		wantFacts(t, j, " connection_timeout")
	})
}

func TestAPairingEndsAtItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, j := offline(t, Config{PairingTimeout: 30 * time.Second})
		s.linker.start(false)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		wantFacts(t, j, " connection_timeout")
		if s.linker.current() != nil {
			t.Error("still pairing")
		}
	})
}

func TestWatchdogRequestsTheLogin(t *testing.T) {
	paired := "connection.update pair.success connecting pairing"
	manual := "connection.update manual.reconnect connecting connecting"
	synctest.Test(t, func(t *testing.T) {
		s, cli, j := offline(t, Config{})
		s.handle(cli, &events.PairSuccess{ID: types.NewJID("49151", types.DefaultUserServer)})
		wantFacts(t, j, paired)
		if !s.Paired() {
			t.Error("not paired")
		}
		time.Sleep(reloginAfter - time.Millisecond)
		synctest.Wait()
		wantFacts(t, j)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		wantFacts(t, j, manual)

		s.handle(cli, &events.ManualLoginReconnect{}) // late after all
		s.handle(cli, &events.Disconnected{})
		wantFacts(t, j)
	})
	synctest.Test(t, func(t *testing.T) { // the connection closes, the node is lost
		s, cli, j := offline(t, Config{})
		s.handle(cli, &events.PairSuccess{ID: types.NewJID("49151", types.DefaultUserServer)})
		s.handle(cli, &events.Disconnected{})
		time.Sleep(2 * reloginAfter)
		synctest.Wait()
		wantFacts(t, j, paired, manual)
	})
}

func TestUnstoredMessageDropsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s, cli, j := offline(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		j.err = errors.New("disk on fire")
		for range 2 {
			if s.handle(cli, &events.Receipt{MessageIDs: []string{"A"}}) {
				t.Error("acknowledged")
			}
		}
		synctest.Wait()
		got := j.take()
		slices.Sort(got) // the connection is dropped in the background; the second receipt must not overtake the first
		if diff := cmp.Diff([]string{"connection.update disconnected close reconnecting", "messages.update "}, got); diff != "" {
			t.Error("facts (-want +got):\n" + diff)
		}
		if n := strings.Count(log.String(), "requesting it again"); n != 1 {
			t.Errorf("%d lines tell that: %s", n, &log)
		}
	})
}

// sharedKeys are the stored keys of the app state.
type sharedKeys struct {
	wastore.AppStateSyncKeyStore

	ids []string
	err error
}

func (k *sharedKeys) PutAppStateSyncKey(_ context.Context, id []byte, _ wastore.AppStateSyncKey) error {
	if k.err == nil {
		k.ids = append(k.ids, string(id))
	}
	return k.err
}

// TestSharedKeysAreStoredFirst has the phone, and another device, send keys of the app state.
func TestSharedKeysAreStoredFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share := func(device uint16) *events.Message {
			e := &events.Message{RawMessage: &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{AppStateSyncKeyShare: &waE2E.AppStateSyncKeyShare{
				Keys: []*waE2E.AppStateSyncKey{{KeyID: &waE2E.AppStateSyncKeyId{KeyID: []byte("a")}}, {KeyID: &waE2E.AppStateSyncKeyId{KeyID: []byte("b")}}},
			}}}}
			e.Message = e.RawMessage
			e.Info.IsFromMe, e.Info.Sender = true, types.JID{User: "49151", Server: types.DefaultUserServer, Device: device}
			return e
		}
		s, cli, _ := offline(t, Config{})
		kept := &sharedKeys{}
		cli.Store.AppStateKeys = kept
		s.handle(cli, share(7))
		if len(kept.ids) > 0 {
			t.Errorf("another device's keys are stored: %v", kept.ids)
		}
		s.handle(cli, share(0))
		if !slices.Equal(kept.ids, []string{"a", "b"}) {
			t.Errorf("stored: %v", kept.ids)
		}
		kept.err = errors.New("disk is full")
		if s.handle(cli, share(0)) || !s.conn.isGivenUp() {
			t.Error("acknowledged although it was not stored")
		}
	})
}

func TestPanickingHandlerIsCounted(t *testing.T) {
	s, cli, j := offline(t, Config{})
	if !s.handle(cli, (*events.Receipt)(nil)) {
		t.Error("asked for the event again")
	}
	if n := s.connector.Stats().Panics; n != 1 {
		t.Errorf("%d panics counted", n)
	}
	wantFacts(t, j)
}

// eventOfTheFuture is a type that a later version of the library might have.
type eventOfTheFuture struct{}

func TestUnknownEventIsCountedAndLoggedOnce(t *testing.T) {
	var log strings.Builder
	s, cli, j := offline(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		s.handle(cli, &eventOfTheFuture{})
	}
	if diff := cmp.Diff(map[string]uint64{"*whatsapp.eventOfTheFuture": 3}, s.connector.Stats().Unhandled); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(log.String(), "eventOfTheFuture"); n != 1 {
		t.Errorf("%d lines: %s", n, &log)
	}
	wantFacts(t, j)
}

func TestNothingIsReportedAfterDisconnect(t *testing.T) {
	s, cli, j := offline(t, Config{})
	s.Disconnect()
	s.Disconnect()
	if s.handle(cli, &events.Receipt{MessageIDs: []string{"A"}}) {
		t.Error("acknowledged")
	}
	s.handle(cli, &events.Disconnected{})
	wantFacts(t, j)

	s.handle(cli, &events.PairSuccess{ID: types.NewJID("49151", types.DefaultUserServer)})
	if !s.Paired() {
		t.Error("a pairing that was saved is forgotten")
	}
	wantFacts(t, j)
}

func TestRefusalsHaveStateAndCode(t *testing.T) {
	for name, tc := range map[string]struct {
		evt    any
		want   string
		reason int
		unlink bool
	}{
		"unlinked":        {&events.LoggedOut{Reason: 401}, "connection.update logged.out close logged_out", 401, true},
		"replaced":        {&events.StreamReplaced{}, "connection.update stream.replaced replaced stream_replaced", 0, false},
		"connect failure": {&events.ConnectFailure{Reason: 418}, "connection.update connect.failure close connection_error", 418, false},
		"stream error":    {&events.StreamError{Code: "516"}, "connection.update stream.error close connection_error", 516, false},
		"cat":             {&events.CATRefreshError{Error: errNoCAT}, "connection.update cat.refresh.error close connection_error", 0, false},
		"outdated":        {&events.ClientOutdated{}, "status.instance client_outdated", 405, false},
		"ban":             {&events.TemporaryBan{Code: 102, Expire: time.Hour}, "status.instance temporary_ban", 102, false},
		"pair error":      {&events.PairError{Error: whatsmeow.ErrPairInvalidDeviceSignature}, "connection.update pair.error close connection_error", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, cli, j := offline(t, Config{})
			s.pair(translate.Account{JID: types.NewJID("49151", types.DefaultUserServer)})
			s.handle(cli, tc.evt)
			f := j.facts[0]
			if f.Reason != tc.reason || f.Unlink != tc.unlink || s.Paired() == tc.unlink || f.Error == "" {
				t.Errorf("got %+v", f)
			}
			if u, ok := f.Data.(event.ConnectionUpdate); ok && u.StatusReason != tc.reason {
				t.Errorf("statusReason %d, want %d", u.StatusReason, tc.reason)
			}
			wantFacts(t, j, tc.want)
		})
	}
}

func TestMessagesHavePhoneJIDAndLID(t *testing.T) {
	pn, lid := types.NewJID("49151", types.DefaultUserServer), types.NewJID("777", types.HiddenUserServer)
	group, spokes := types.NewJID("120-1", types.GroupServer), types.JID{User: "777", Server: types.HiddenUserServer, Device: 3}
	str := func(s string) *string { return &s }
	s, cli, _ := offline(t, Config{})
	for name, tc := range map[string]struct {
		src  types.MessageSource
		want event.Message
	}{
		"from a contact": {
			types.MessageSource{Chat: lid, Sender: spokes, SenderAlt: pn},
			event.Message{KeyRemoteJID: str("49151@s.whatsapp.net"), KeyLID: str("777@lid")},
		},
		"from a contact whose phone is unknown": {
			types.MessageSource{Chat: lid, Sender: spokes},
			event.Message{KeyRemoteJID: str("777@lid"), KeyLID: str("777@lid")},
		},
		"from the own phone": {
			types.MessageSource{Chat: lid, Sender: types.NewJID("1", types.HiddenUserServer), RecipientAlt: pn, IsFromMe: true},
			event.Message{KeyFromMe: true, KeyRemoteJID: str("49151@s.whatsapp.net"), KeyLID: str("777@lid")},
		},
		"in a group": {
			types.MessageSource{Chat: group, Sender: spokes, SenderAlt: pn, IsGroup: true},
			event.Message{
				KeyRemoteJID: str("120-1@g.us"), IsGroup: true,
				KeyParticipant: str("49151@s.whatsapp.net"), KeyParticipantLID: str("777@lid"),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			evt := &events.Message{Info: types.MessageInfo{MessageSource: tc.src, ID: "K", Timestamp: time.Unix(9, 0)}, RawMessage: &waE2E.Message{Conversation: new("x")}}
			f, ok := s.conn.translator(cli).Message(cli, evt.UnwrapRaw())
			tc.want.KeyID, tc.want.MessageType, tc.want.MessageTimestamp = "K", "conversation", 9
			tc.want.Content = []byte(`{"text":"x"}`)
			if diff := cmp.Diff(&tc.want, f.Data); !ok || diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHousekeepingOfOwnDevicesIsNotReported(t *testing.T) {
	s, cli, _ := offline(t, Config{})
	share := &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_APP_STATE_SYNC_KEY_SHARE.Enum()}}
	revoke := &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_REVOKE.Enum()}}
	for _, tc := range []struct {
		m    *waE2E.Message
		info types.MessageInfo
		want bool
	}{
		{share, types.MessageInfo{}, false},
		{&waE2E.Message{Conversation: new("x")}, types.MessageInfo{Category: "peer"}, false},
		{revoke, types.MessageInfo{}, true},
	} {
		evt := &events.Message{Info: tc.info, RawMessage: tc.m}
		if _, ok := s.conn.translator(cli).Message(cli, evt.UnwrapRaw()); ok != tc.want {
			t.Errorf("%v in category %q: reported %v", tc.m, tc.info.Category, ok)
		}
	}
}
