package app

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"

	"postern/app/fleet"
	"postern/event"
	"postern/instance"
	"postern/messages"
	"postern/store"
	"postern/whatsapp/device"
)

// TestSenderByLIDIsKnownWithTheirNumber: a batch that waits for
// a batch is notified then, and finds them known.
func TestSenderByLIDIsKnownWithTheirNumber(t *testing.T) {
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "f.db"), Buckets: Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	devices, err := device.Open(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	woken := make(chan int64, 8)
	archive, err := messages.Open(t.Context(), messages.Config{Store: s, Owner: instance.There, SaveMessages: true, SaveUpdates: true, SaveContacts: true})
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	registry, err := instance.Open(t.Context(), instance.Config{
		Store: s, Messages: archive, Publish: func(event.Notice) {},
		OnStatus: func(id int64, _ event.State) { woken <- id },
	})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, name := range []string{"restricted", "free"} {
		rec, err := registry.Create(t.Context(), instance.New{Name: name, Mint: func(string) (string, error) { return name, nil }})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, rec.ID)
	}
	lock := event.Restriction{Type: event.StatusAccountReachoutTimelock, Until: time.Now().Add(time.Hour)}
	lid := "77007700@lid"
	wrote := &event.Message{
		KeyID: "A", KeyRemoteJID: &lid, KeyLID: &lid, MessageType: "conversation", Content: []byte(`{"text":"hello"}`), MessageTimestamp: time.Now().Unix(),
	}
	err = errors.Join(
		registry.Report(t.Context(), ids[0], event.Fact{Restriction: &lock}),
		registry.Report(t.Context(), ids[0], event.Fact{Kind: event.MessagesUpsert, Data: wrote}),
	)
	if err != nil {
		t.Fatal(err)
	}
	for len(woken) > 0 {
		<-woken
	}

	a := &App{registry: registry, known: fleet.Contacts{Registry: registry, Messages: archive, Devices: devices}, stops: &stopStack{log: slog.New(slog.DiscardHandler), quiet: true}}
	a.introductions()
	defer func() { _ = a.stops.stop(t.Context()) }()
	if a.known.Know(ids[0], "4915155500001") {
		t.Error("known before anybody can know")
	}
	for n, number := range []string{"4915155500001", "4915155500002"} { // the second changes nothing for the message
		pair := types.NewJID([]string{"77007700", "88008800"}[n], types.HiddenUserServer)
		if err := devices.New(ids[0]).LIDs.PutLIDMapping(t.Context(), pair, types.NewJID(number, types.DefaultUserServer)); err != nil {
			t.Fatal(err)
		}
		select {
		case id := <-woken:
			if id != ids[0] {
				t.Errorf("instance %d was looked at, which holds no one back", id)
			}
		case <-time.After(15 * time.Second):
			t.Fatal("no batch is notified")
		}
		if known := a.known.Know(ids[0], number); known != (n == 0) {
			t.Errorf("%s: known = %t", number, known)
		}
	}
}
