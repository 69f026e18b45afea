package event

import (
	"slices"
	"strings"
	"testing"
)

func TestThereAreSixteenConnectionStates(t *testing.T) {
	const want = "offline connecting qr_code pairing_code pairing online reconnecting disconnected connection_timeout logged_out session_missing stream_replaced keepalive_timeout client_outdated temporary_ban connection_error"
	var got []string
	for _, s := range States() {
		got = append(got, string(s))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("states: %q", got)
	}
}

func TestUnknownNamesAreNotInTheCatalogue(t *testing.T) {
	if _, ok := Lookup("messages.insert"); ok {
		t.Error("Lookup found an unknown event")
	}
	if KnownFlag("") || KnownFlag("messagesupsert") {
		t.Error("KnownFlag accepts what is no flag")
	}
}

func TestStatesKeepTheirPlaces(t *testing.T) {
	places := []State{
		Offline, Connecting, QRCodeState, PairingCodeState, Pairing, Online, Reconnecting, Disconnected, ConnectionTimeout, LoggedOut,
		SessionMissing, StreamReplaced, KeepAliveTimeout, ClientOutdated, TemporaryBan, ConnectionError,
	}
	if !slices.Equal(States()[:len(places)], places) {
		t.Errorf("%v", States())
	}
}
