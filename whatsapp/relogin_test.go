package whatsapp

import (
	"testing"
	"testing/synctest"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
)

func TestEarlyLoginRequestFollowsItsPairing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cli, j := offline(t, Config{})
		s.handle(cli, &events.ManualLoginReconnect{})
		wantFacts(t, j)
		s.handle(cli, &events.PairSuccess{ID: types.NewJID("49151", types.DefaultUserServer)})
		wantFacts(t, j, "connection.update pair.success connecting pairing", "connection.update manual.reconnect connecting connecting")
	})
}

func TestLoginRequestWithoutPairingReportsTheLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cli, j := offline(t, Config{})
		s.linker.start(false)
		s.handle(cli, &events.ManualLoginReconnect{})
		s.handle(cli, &events.Disconnected{})
		wantFacts(t, j, "connection.update disconnected close connection_timeout")
		if s.linker.current() != nil {
			t.Error("still pairing")
		}
	})
}
