package device

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

// A newly paired device takes at most 1.6 times the size of its records in the file,
// and 1.8 times after sessions were added, each of which uses up a pre-key, and new
// pre-keys were created.
func TestDevicesFillTheirPages(t *testing.T) {
	const devices, contacts = 20, 100
	f := newFile(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var written uint64
	fills := func(when string, commits int, most float64) {
		t.Helper()
		u, err := f.Usage(deviceBucket)
		check(t, err)
		fill := float64(u.Pages) / float64(u.Records)
		t.Logf("%s: %d records of %d bytes and %d bytes of the file a device, %.2f times the records; %.1f pages a commit",
			when, u.Rows/devices, u.Records/int64(u.Rows), u.Pages/devices, fill, float64(written)/float64(commits))
		if fill > most {
			t.Errorf("%s, devices take %.2f times the bytes of their records, at most %.1f", when, fill, most)
		}
		written = 0
	}
	commit := func(fn func() error) {
		t.Helper()
		before := f.Stats().Pages
		check(t, fn())
		written += f.Stats().Pages - before
	}

	var accounts []*account
	for i := range devices {
		d := f.pair(t, int64(i+1), types.JID{User: fmt.Sprint(4915100000000 + i), Server: types.DefaultUserServer, Device: 1})
		a := d.PreKeys.(*account)
		accounts = append(accounts, a)
		commit(func() error { _, err := a.GetOrGenPreKeys(t.Context(), 812); return err }) // as many as the library gives WhatsApp first
		commit(func() error { return a.MarkPreKeysAsUploaded(t.Context(), 812) })
	}
	fills("paired", 2*devices, 1.6)

	for n := range devices * contacts {
		a := accounts[n%devices]
		address := fmt.Sprintf("%d:0", 4915200000000+rng.IntN(1e9))
		commit(func() error {
			return f.Update(t.Context(), func(tx *store.Tx) error {
				return putAll(direct{tx, a.instance}, map[string][]byte{
					string(sessionKey(address)): make([]byte, 300+rng.IntN(600)), string(identityKey(address)): make([]byte, 32),
					string(preKeyKey(uint32(1 + n/devices))): nil,
				})
			})
		})
		if n/devices%50 == 49 {
			_, err := a.generate(t.Context(), 50, true)
			check(t, err)
		}
	}
	fills("a hundred contacts later", devices*contacts, 1.8)
}
