package whatsapp

import (
	"context"
	"errors"
	"testing"

	wastore "go.mau.fi/whatsmeow/store"
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
