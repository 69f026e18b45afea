package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"testing"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/whatsapp/device"
)

// commits runs a decryption and returns the result of the commit.
type commits struct {
	wastore.EventBuffer

	err error
}

func (c commits) DoDecryptionTxn(ctx context.Context, fn func(context.Context) error) error {
	if err := fn(ctx); err != nil {
		return err
	}
	return c.err
}

func (c commits) GetOutgoingEvent(context.Context, types.JID, types.JID, types.MessageID) (string, []byte, error) {
	return "", nil, c.err
}

// TestUnreadableRetryComesAgain: a request for a message that the device has not, or has no longer, is answered.
func TestUnreadableRetryComesAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		again bool
	}{
		"found":     {},
		"not there": {err: fmt.Errorf("%w: x", device.ErrNoOutgoing)},
		"disk full": {err: errors.New("disk is full"), again: true},
	} {
		var reported error
		d := decryptions{commits{err: tc.err}, func(err error) { reported = err }}
		_, _, err := d.GetOutgoingEvent(t.Context(), types.JID{}, types.JID{}, "x")
		if !errors.Is(err, tc.err) || errors.Is(err, context.Canceled) != tc.again || (reported != nil) != tc.again {
			t.Errorf("%s: %v, reported %v", name, err, reported)
		}
	}
}

func TestUnstoredMessageComesAgain(t *testing.T) {
	full, bad := errors.New("disk is full"), errors.New("bad mac")
	for name, tc := range map[string]struct {
		read, commit, want error
		over, again        bool
	}{
		"stored":              {},
		"unreadable":          {read: bad, want: bad},
		"unreadable and full": {read: bad, commit: full, want: bad},
		"read, not stored":    {commit: full, want: full, again: true},
		"connection lost":     {commit: full, want: full, over: true},
	} {
		var reported error
		d := decryptions{commits{err: tc.commit}, func(err error) { reported = err }}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if tc.over {
			cancel()
		}
		err := d.DoDecryptionTxn(ctx, func(context.Context) error { return tc.read })
		if !errors.Is(err, tc.want) || errors.Is(err, context.Canceled) != tc.again || (reported != nil) != tc.again {
			t.Errorf("%s: %v, reported %v", name, err, reported)
		}
	}
}
