package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"postern/dispatch"
	"postern/store"
)

func TestNotReadyWhileTheRelayIsStalled(t *testing.T) {
	a := &App{relay: dispatch.NewRelay(dispatch.RelayConfig{})} // not started: no turn yet
	if reasons := a.notReady(); len(reasons) != 0 {
		t.Errorf("without a webhook: %q", reasons)
	}
	a.relay = dispatch.NewRelay(dispatch.RelayConfig{URL: "https://example.org"})
	if reasons := a.notReady(); len(reasons) != 1 {
		t.Errorf("got %q", reasons)
	}
}

func TestAllStopsRunInReverseOrder(t *testing.T) {
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

// TestStopOnFullDiskWarnsAndSucceeds: other errors of a stop are failures.
func TestStopOnFullDiskWarnsAndSucceeds(t *testing.T) {
	full := fmt.Errorf("limits: %w", store.ErrDiskFull)
	for name, c := range map[string]struct {
		stops         []error
		fails, logged bool
	}{
		"nothing":              {stops: []error{nil}},
		"a full disk":          {stops: []error{full}, logged: true},
		"the system's word":    {stops: []error{fmt.Errorf("write: %w", syscall.ENOSPC)}, logged: true},
		"a full disk and more": {stops: []error{full, errors.New("no")}, fails: true, logged: true},
		"a commit in doubt":    {stops: []error{fmt.Errorf("%w: %w", store.ErrFailed, syscall.ENOSPC)}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := &stopStack{log: slog.New(slog.NewTextHandler(&log, nil))}
			for _, err := range c.stops {
				s.push("part", func(context.Context) error { return err })
			}
			err := s.stop(t.Context())
			if logged := strings.Contains(log.String(), "level=WARN"); (err != nil) != c.fails || logged != c.logged || logged != strings.Contains(log.String(), "free some space") {
				t.Errorf("%v\n%s", err, log.String())
			}
			if errors.Is(err, store.ErrDiskFull) {
				t.Errorf("the full disk is a failure: %v", err)
			}
		})
	}
}
