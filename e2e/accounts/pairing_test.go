package accounts

import (
	"encoding/json"
	"testing"

	"postern/app"
	"postern/e2e/rig"
	"postern/event"
	"postern/store"
)

// TestPairingWithoutItsSecondCommitConnects takes from the data file what the second commit of a pairing stores.
func TestPairingWithoutItsSecondCommitConnects(t *testing.T) {
	t.Parallel()
	s := rig.NewScene(t)
	s.Online(t)
	s.Kill()
	st, err := store.Open(store.Options{Path: s.DataFile(), Buckets: app.Buckets()})
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	err = st.Update(t.Context(), func(tx *store.Tx) error {
		changed = 0
		return tx.Scan("instance", store.Range{}, func(k, v []byte) (bool, error) {
			var rec map[string]any
			if err := json.Unmarshal(v, &rec); err != nil {
				return false, err
			}
			if rec["ownerJid"] == nil {
				t.Errorf("%s", v)
			}
			delete(rec, "ownerJid")
			delete(rec, "ownerLid")
			rec["status"] = event.Pairing
			changed++
			return true, store.PutJSON(tx, "instance", k, rec)
		})
	})
	if err != nil || changed != 1 {
		t.Fatal(changed, err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	s.Start()
	s.AwaitOnline(rig.SceneName, s.Token)
	if got := statusOf(s.World, rig.SceneName, s.Token); got.OwnerJID == nil || !got.LoggedIn {
		t.Errorf("%+v", got)
	}
}
