package device

import (
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// TestWrongClockRemovesNothingOfADevice logs a device out under a clock that was far behind for days, and has the
// library clean up under one that is years ahead.
func TestWrongClockRemovesNothingOfADevice(t *testing.T) {
	const year = 365 * 24 * time.Hour
	off := time.Duration(0)
	f := &file{path: t.TempDir() + "/data.db", now: func() time.Time { return time.Now().Add(off) }}
	f.open(t)
	t.Cleanup(func() { _ = f.Close() })
	f.on(event.WhatsApp)
	d := f.pair(t, 1, jidOne)
	fill(t, d)
	again := func(ahead time.Duration) {
		t.Helper()
		check(t, f.Close())
		off = ahead
		f.open(t)
		f.on(event.WhatsApp)
	}
	touch := func() {
		check(t, f.Update(t.Context(), func(tx *store.Tx) error { _, err := tx.NextID(deviceBucket); return err }))
	}
	touch()
	again(-10 * year)
	for range 30 {
		off += time.Hour
		touch()
	}
	full := f.records(t, 1)
	check(t, f.load(t, 1).Delete(t.Context()))
	again(0)
	_, err := f.container.DropAside(t.Context(), time.Now().Add(-DefaultKeepLoggedOut))
	check(t, err)
	if n := f.records(t, 1); n != full {
		t.Errorf("%d of %d records of the device are left once the clock is right", n, full)
	}
	check(t, f.container.Accepted(t.Context(), 1))
	hash := [32]byte{7}
	check(t, f.load(t, 1).EventBuffer.PutBufferedEvent(t.Context(), hash, []byte("not handled yet"), time.Now()))
	again(10 * year)
	buffer := f.load(t, 1).EventBuffer
	check(t, buffer.DeleteOldBufferedHashes(t.Context()))
	if e, err := buffer.GetBufferedEvent(t.Context(), hash); err != nil || e == nil || string(e.Plaintext) != "not handled yet" {
		t.Errorf("a message that was decrypted and not handled: %+v, %v", e, err)
	}
}
