package instance

import (
	"context"
	"errors"
	"testing"
	"time"

	"postern/event"
)

func TestDeletingLogsOutAndWhoWaitedFindsNothing(t *testing.T) {
	for name, dial := range map[string]func(context.Context, *session) error{
		"online":     nil,
		"in backoff": func(context.Context, *session) error { return errors.New("no route") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				id := r.linked("a", event.Disconnected).ID
				r.net.onDial(dial)
				r.sup.Start()
				time.Sleep(time.Second)
				s := r.net.session(id)
				k, err := r.sup.keeper(bg, id)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.sup.Delete(bg, id, false); err != nil {
					t.Fatal(err)
				}
				dials := len(s.dialled())
				time.Sleep(time.Hour)
				if s.Paired() || s.Online() || len(s.dialled()) != dials {
					t.Errorf("paired %t, online %t, %d dials more", s.Paired(), s.Online(), len(s.dialled())-dials)
				}
				if err := k.take(bg); !errors.Is(err, ErrNotFound) {
					t.Errorf("a call that waited: %v", err)
				}
				if _, err := r.sup.Connect(bg, id, ""); !errors.Is(err, ErrNotFound) {
					t.Errorf("a later call: %v", err)
				}
			})
		})
	}
}

func TestDeleteOfInstanceWithMessagesRequiresForce(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.report(id, event.Fact{Kind: event.MessagesUpsert, Data: text("K", "1@s.whatsapp.net", false)})
		if err := r.sup.Delete(bg, id, false); !errors.Is(err, ErrHasData) {
			t.Errorf("without force: %v", err)
		}
		r.wantStatus(id, event.Online)
		if err := r.sup.Delete(bg, id, true); err != nil {
			t.Error(err)
		}
	})
}
