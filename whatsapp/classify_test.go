package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/socket"

	"postern/event"
)

func TestSendErrorsClassifyTheOutcome(t *testing.T) {
	const ms = time.Millisecond
	preparing := whatsmeow.MessageDebugTimings{LIDFetch: ms, GetDevices: ms}
	written := whatsmeow.MessageDebugTimings{Send: ms}
	answered := whatsmeow.MessageDebugTimings{Send: ms, Resp: ms}
	retried := whatsmeow.MessageDebugTimings{Send: ms, Resp: ms, Retry: ms}
	lost := &whatsmeow.DisconnectedError{Action: "x"}

	for name, tc := range map[string]struct {
		stage whatsmeow.MessageDebugTimings
		err   error
		want  error
	}{
		"refused by code":                          {answered, fmt.Errorf("%w 479", whatsmeow.ErrServerReturnedError), event.ErrSendRefused},
		"no session to encrypt with":               {preparing, whatsmeow.ErrNoSession, event.ErrSendRefused},
		"context ended while preparing":            {preparing, context.Canceled, event.ErrSendRefused},
		"connection lost while preparing":          {preparing, fmt.Errorf("devices: %w", lost), event.ErrNotConnected},
		"a request timed out while preparing":      {preparing, fmt.Errorf("devices: %w", whatsmeow.ErrIQTimedOut), event.ErrNotConnected},
		"no socket to write to":                    {written, fmt.Errorf("node: %w", whatsmeow.ErrNotConnected), event.ErrNotConnected},
		"socket closed before the write":           {written, fmt.Errorf("node: %w", socket.ErrSocketClosed), event.ErrNotConnected},
		"frame too large":                          {written, fmt.Errorf("node: %w", socket.ErrFrameTooLarge), event.ErrSendRefused},
		"the write itself failed":                  {written, errors.New("broken pipe"), event.ErrOutcomeUnknown},
		"context ended while waiting for the ack":  {written, context.Canceled, event.ErrOutcomeUnknown},
		"deadline while waiting for the ack":       {written, context.DeadlineExceeded, event.ErrOutcomeUnknown},
		"no ack in time":                           {written, whatsmeow.ErrMessageTimedOut, event.ErrOutcomeUnknown},
		"connection lost instead of an ack":        {retried, lost, event.ErrOutcomeUnknown},
		"no socket for the second write":           {retried, whatsmeow.ErrNotConnected, event.ErrOutcomeUnknown},
		"socket closed before the second write":    {retried, socket.ErrSocketClosed, event.ErrOutcomeUnknown},
		"frame too large cannot be found so late":  {retried, socket.ErrFrameTooLarge, event.ErrOutcomeUnknown},
		"context ended while waiting for a redial": {retried, context.Canceled, event.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			got := classify(whatsmeow.SendResponse{DebugTimings: tc.stage}, tc.err)
			var matches []error
			for _, e := range []error{event.ErrNotConnected, event.ErrNotOnWhatsApp, event.ErrSendRefused, event.ErrOutcomeUnknown} {
				if errors.Is(got, e) {
					matches = append(matches, e)
				}
			}
			if len(matches) != 1 || !errors.Is(matches[0], tc.want) || !errors.Is(got, tc.err) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	if got := classify(whatsmeow.SendResponse{DebugTimings: answered}, fmt.Errorf("%w 463", whatsmeow.ErrServerReturnedError)); !errors.Is(got, event.ErrTimelocked) || !errors.Is(got, event.ErrNotNow) || errors.Is(got, event.ErrSendRefused) {
		t.Errorf("463 became %v", got)
	}
	got := classify(whatsmeow.SendResponse{DebugTimings: answered}, fmt.Errorf("%w 479", whatsmeow.ErrServerReturnedError))
	if refused, ok := errors.AsType[*event.RefusedError](got); !ok || refused.Code != 479 {
		t.Errorf("479 became %v", got)
	}
	if err := classify(whatsmeow.SendResponse{DebugTimings: answered}, nil); err != nil {
		t.Errorf("a success became %v", err)
	}
}
