package device

import (
	"encoding/json"
	"testing"
	"time"

	wastore "go.mau.fi/whatsmeow/store"

	"postern/event"
	"postern/store"
)

var (
	sandboxOne = event.SandboxNetwork([32]byte{1})
	sandboxTwo = event.SandboxNetwork([32]byte{2})
)

// keeping makes the file keep logged-out devices, as the program does.
func keeping(t *testing.T, n event.Network) *file {
	t.Helper()
	f := newFile(t)
	f.on(n)
	return f
}

func (f *file) on(n event.Network) {
	f.container.Join(n)
	f.container.KeepLoggedOut(DefaultKeepLoggedOut)
}

func (f *file) saved(t *testing.T, instance int64) Saved {
	t.Helper()
	s, err := f.container.Load(t.Context(), instance)
	check(t, err)
	return s
}

// forgetNetwork turns a record into one of an earlier release.
func (f *file) forgetNetwork(t *testing.T, instance int64) {
	t.Helper()
	check(t, f.Update(t.Context(), func(tx *store.Tx) error {
		r, _, err := store.GetJSON[record](tx, deviceBucket, recordKey(instance))
		if err != nil {
			return err
		}
		r.Network = ""
		return store.PutJSON(tx, deviceBucket, recordKey(instance), r)
	}))
}

func TestPairingStoresTheNetwork(t *testing.T) {
	f := keeping(t, sandboxOne)
	d := f.pair(t, 1, jidOne)
	if got := f.saved(t, 1); got.Network != sandboxOne || got.Aside {
		t.Errorf("paired: %+v", got)
	}
	f.container.Join(sandboxTwo)
	d.PushName = "other"
	check(t, d.Save(t.Context()))
	if got := f.saved(t, 1); got.Network != sandboxOne {
		t.Errorf("a change of names moved the device to %s", got.Network)
	}
}

func TestLogOutKeepsAllRecords(t *testing.T) {
	f := keeping(t, event.WhatsApp)
	d := f.pair(t, 1, jidOne)
	fill(t, d)
	before := f.records(t, 1)
	check(t, d.Delete(t.Context()))
	if n := f.records(t, 1); n != before {
		t.Errorf("%d records are left of %d", n, before)
	}
	f.reopen(t)
	got := f.saved(t, 1)
	if got.Device == nil || !got.Aside || got.Network != event.WhatsApp {
		t.Fatalf("loaded %+v", got)
	}
	if session, err := got.Device.Sessions.GetSession(t.Context(), "1:0"); err != nil || string(session) != "session" {
		t.Errorf("session %q, %v", session, err)
	}
	check(t, f.container.Accepted(t.Context(), 1))
	if got := f.saved(t, 1); got.Aside {
		t.Error("an accepted device is still put aside")
	}
	if n := f.records(t, 1); n != before {
		t.Errorf("%d records are left of %d", n, before)
	}
}

func TestLogOutByAnotherNetworkChangesNothing(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, f *file){
		"another network": func(_ *testing.T, f *file) { f.container.Join(sandboxOne) },
		"not known":       func(t *testing.T, f *file) { f.forgetNetwork(t, 1) },
	} {
		for _, keep := range []time.Duration{0, time.Hour} {
			f := keeping(t, event.WhatsApp)
			d := f.pair(t, 1, jidOne)
			fill(t, d)
			before := f.records(t, 1)
			prepare(t, f)
			f.container.KeepLoggedOut(keep)
			check(t, d.Delete(t.Context()))
			if got := f.saved(t, 1); f.records(t, 1) != before || got.Aside {
				t.Errorf("%s, kept for %v: %d records of %d, %+v", name, keep, f.records(t, 1), before, got)
			}
		}
	}
}

func TestFirstLoginNamesTheNetwork(t *testing.T) {
	f := keeping(t, event.WhatsApp)
	f.pair(t, 1, jidOne)
	f.forgetNetwork(t, 1)
	f.container.Join(sandboxOne)
	check(t, f.container.Accepted(t.Context(), 1))
	if got := f.saved(t, 1); got.Network != sandboxOne {
		t.Errorf("the network is %q", got.Network)
	}
	f.container.Join(sandboxTwo)
	check(t, f.container.Accepted(t.Context(), 1))
	if got := f.saved(t, 1); got.Network != sandboxOne {
		t.Errorf("the network changed to %q", got.Network)
	}
}

func TestPairingDoesNotReplaceForeignDevice(t *testing.T) {
	f := keeping(t, event.WhatsApp)
	d := f.pair(t, 1, jidOne)
	fill(t, d)
	before := f.records(t, 1)
	f.container.Join(sandboxOne)
	fresh := f.container.New(1)
	fresh.ID = &jidTwo
	fresh.Account = d.Account
	if err := fresh.Save(t.Context()); err == nil {
		t.Error("a device of WhatsApp was replaced by one of a sandbox")
	}
	if n := f.records(t, 1); n != before {
		t.Errorf("%d records are left of %d", n, before)
	}
}

func TestDropAsideRemovesOnlyWhatIsDue(t *testing.T) {
	f := keeping(t, event.WhatsApp)
	var devices []*wastore.Device
	for i := range int64(4) {
		devices = append(devices, f.pair(t, i, jidOne))
		fill(t, devices[i])
	}
	full := f.records(t, 0)
	for _, i := range []int64{0, 1, 2} {
		check(t, devices[i].Delete(t.Context()))
	}
	if saved, err := f.container.Recall(t.Context(), 1); err != nil || saved.Device == nil { // is being tried
		t.Fatal(saved, err)
	}
	check(t, f.container.Accepted(t.Context(), 2))

	oldest, err := f.container.DropAside(t.Context(), time.Now().Add(-time.Hour))
	check(t, err)
	if time.Since(oldest) > time.Minute || f.records(t, 0) != full {
		t.Errorf("the oldest is of %v; %d records of %d", oldest, f.records(t, 0), full)
	}
	_, err = f.container.DropAside(t.Context(), time.Now().Add(time.Hour))
	check(t, err)
	for i, want := range []int{0, full, full, full} {
		if n := f.records(t, int64(i)); n != want {
			t.Errorf("instance %d has %d records, want %d", i, n, want)
		}
	}
	check(t, devices[1].Container.DeleteDevice(t.Context(), f.load(t, 1))) // refused again: the trial is over
	_, err = f.container.DropAside(t.Context(), time.Now().Add(time.Hour))
	check(t, err)
	if n := f.records(t, 1); n != 0 {
		t.Errorf("after the trial %d records are left", n)
	}
}

func TestASecondRefusalKeepsTheTime(t *testing.T) {
	f := keeping(t, event.WhatsApp)
	d := f.pair(t, 1, jidOne)
	check(t, d.Delete(t.Context()))
	first, err := f.container.DropAside(t.Context(), time.Time{})
	check(t, err)
	again, err := f.container.Recall(t.Context(), 1)
	check(t, err)
	check(t, again.Device.Delete(t.Context()))
	second, err := f.container.DropAside(t.Context(), time.Time{})
	check(t, err)
	if !first.Equal(second) || first.IsZero() {
		t.Errorf("put aside at %v, then at %v", first, second)
	}
}

func TestNextPairingRemovesWhatWasPutAside(t *testing.T) {
	f := keeping(t, event.WhatsApp)
	d := f.pair(t, 1, jidOne)
	fill(t, d)
	check(t, d.Delete(t.Context()))
	f.pair(t, 1, jidTwo)
	if got := f.saved(t, 1); f.records(t, 1) != 1 || got.Aside || *got.Device.ID != jidTwo {
		t.Errorf("%d records, %+v", f.records(t, 1), got)
	}
}

func TestExportCarriesTheNetwork(t *testing.T) {
	f := keeping(t, sandboxOne)
	d := f.pair(t, 1, jidOne)
	e, err := f.container.Export(t.Context(), 1)
	check(t, err)
	i, err := NewImageOf(e)
	check(t, err)
	check(t, f.Update(t.Context(), func(tx *store.Tx) error { return f.container.StoreTx(tx, 2, i) }))
	if got := f.saved(t, 2); got.Network != sandboxOne {
		t.Errorf("imported of the network %q", got.Network)
	}
	check(t, d.Delete(t.Context()))
	if _, err := f.container.Export(t.Context(), 1); err == nil {
		t.Error("a logged out device was exported")
	}
}

func TestNetworkOfAnImportIsChecked(t *testing.T) {
	f := keeping(t, sandboxOne)
	f.pair(t, 1, jidOne)
	e, err := f.container.Export(t.Context(), 1)
	check(t, err)
	var r record
	check(t, decode(e.Record, &r))
	r.Network = "sandbox:short"
	e.Record = encode(t, r)
	if _, err := NewImageOf(e); err == nil {
		t.Error("a network that is none was taken")
	}
}

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	check(t, err)
	return raw
}
