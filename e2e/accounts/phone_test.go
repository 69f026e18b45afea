package accounts

import (
	"net/http"
	"testing"

	"postern/cli/consumer"
	"postern/e2e/rig"
)

// TestPhoneIsSeenFromThePairingOn also looks after a kill.
func TestPhoneIsSeenFromThePairingOn(t *testing.T) {
	t.Parallel()
	s := rig.NewScene(t)
	seen := func() *string {
		var status struct{ PhoneLastSeenAt *string }
		s.Call(consumer.Bearer(s.Token), http.MethodGet, s.Fill("/instance/$name/connection/status"), nil, &status)
		var listed []struct{ PhoneLastSeenAt *string }
		s.Call(consumer.Key(s.Sec.GlobalAuthToken), http.MethodGet, "/instance", nil, &listed)
		if len(listed) != 1 || (listed[0].PhoneLastSeenAt == nil) != (status.PhoneLastSeenAt == nil) {
			t.Errorf("the list and the status differ: %+v", listed)
		}
		return status.PhoneLastSeenAt
	}
	if at := seen(); at != nil {
		t.Errorf("before a pairing: %s", *at)
	}
	s.Online(t)
	at := seen()
	if at == nil {
		t.Fatal("not after the pairing")
	}
	s.Kill()
	s.Start()
	s.AwaitOnline(rig.SceneName, s.Token)
	if again := seen(); again == nil || *again != *at {
		t.Errorf("after a kill: %v, not %s", again, *at)
	}
}
