package whatsapp

import (
	"context"
	"testing"
	"time"

	"postern/event"
)

// TestThePhoneIsAskedBeforeItHasWritten: a request to the phone needs no session that
// only the phone could have begun.
func TestThePhoneIsAskedBeforeItHasWritten(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *rig) error{
		"app state": func(ctx context.Context, r *rig) error { return r.session.Account.AppState.ResetAppState(ctx) },
		"history": func(ctx context.Context, r *rig) error {
			return r.session.Account.Chats.AskHistory(ctx, event.MessageKey{RemoteJID: r.contact().JID().String(), ID: "NOW"}, time.Now(), 5)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.pair()
			r.synced()
			account := r.session.conn.client().Store
			address := account.GetLID().ToNonAD().SignalAddress().String()
			if err := account.Sessions.DeleteSession(t.Context(), address); err != nil {
				t.Fatal(err)
			}
			if err := ask(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			switch name {
			case "app state":
				r.state(event.LoggedOut) // which the phone makes of it, and no session is left
			case "history":
				if known, err := account.Sessions.HasSession(t.Context(), address); !known || err != nil {
					t.Errorf("there is a session: %v, %v", known, err)
				}
				r.await("the phone's answer", askedFor)
			}
		})
	}
}
