package fleet_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"postern/app"
	"postern/app/fleet"
	"postern/batch"
	"postern/event"
	"postern/instance"
	"postern/instance/pace"
	"postern/messages"
	"postern/store"
)

// newFleet returns a fleet of one instance that never was connected.
func newFleet(t *testing.T) (f fleet.Fleet, id int64) {
	t.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "f.db"), Buckets: app.Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	archive, err := messages.Open(t.Context(), messages.Config{Store: s, Owner: instance.There, SaveMessages: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(archive.Close)
	registry, err := instance.Open(t.Context(), instance.Config{Store: s, Messages: archive, Publish: func(event.Notice) {}})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := registry.Create(t.Context(), instance.New{Name: "shop", Mint: func(string) (string, error) { return "token", nil }})
	if err != nil {
		t.Fatal(err)
	}
	pacer, err := pace.Open(t.Context(), pace.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Fleet{
		Registry: registry, Supervisor: instance.NewSupervisor(instance.SupervisorConfig{Registry: registry}),
		Knows: func(int64, string) bool { return false }, Pacer: pacer,
	}, rec.ID
}

// A batch then tries another instance; UNKNOWN would give the item up.
func TestSendThroughDeletedInstanceIsNotConnected(t *testing.T) {
	f, id := newFleet(t)
	_, err := f.Send(t.Context(), id+1, event.Outgoing{ID: "A", To: "4915155500002@s.whatsapp.net"})
	if !errors.Is(err, event.ErrNotConnected) || errors.Is(err, event.ErrOutcomeUnknown) {
		t.Error(err)
	}
	if _, _, ok := f.Instance(id + 1); ok || f.Gate(batch.Question{Instance: id + 1}).Shut(time.Now()) {
		t.Error("there is such an instance")
	}
}

func TestFleetReportsTheEndOfABench(t *testing.T) {
	f, id := newFleet(t)
	until := event.At(time.Now().Add(time.Hour)).Time
	for _, step := range []struct {
		r    event.Restriction
		want time.Time
	}{
		{event.Restriction{Type: event.StatusAccountReachoutTimelock, Until: until}, until},
		{event.Restriction{Type: event.StatusAccountReachoutTimelock, Lifted: true}, time.Time{}},
		{event.Restriction{Type: event.StatusTemporaryBan, Until: time.Now().Add(-time.Second)}, time.Time{}},
	} {
		if err := f.Registry.Report(t.Context(), id, event.Fact{Restriction: &step.r}); err != nil {
			t.Fatal(err)
		}
		if got := f.Gate(batch.Question{Instance: id}).Until; !got.Equal(step.want) {
			t.Errorf("%+v: benched until %s", step.r, got)
		}
	}
}
