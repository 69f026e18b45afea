package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"postern/dispatch"
)

func TestTheProgramIsNotReadyWhileTheRelayStands(t *testing.T) {
	a := &App{relay: dispatch.NewRelay(dispatch.RelayConfig{})} // not started: no turn yet
	if reasons := a.notReady(); len(reasons) != 0 {
		t.Errorf("without a webhook: %q", reasons)
	}
	a.relay = dispatch.NewRelay(dispatch.RelayConfig{URL: "https://example.org"})
	if reasons := a.notReady(); len(reasons) != 1 {
		t.Errorf("got %q", reasons)
	}
}

func TestStopsRunInTheOppositeOrderAndAllOfThem(t *testing.T) {
	var order []string
	s := &stopStack{log: slog.New(slog.DiscardHandler)}
	for _, name := range []string{"first", "second", "third"} {
		s.push(name, func(context.Context) error {
			order = append(order, name)
			return errors.New(name)
		})
	}
	err := s.stop(t.Context())
	if len(order) != 3 || order[0] != "third" || order[2] != "first" || err == nil {
		t.Errorf("%v: %v", order, err)
	}
}
