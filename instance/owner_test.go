package instance

import (
	"context"
	"testing"
	"time"

	"postern/event"
)

// Where another process may take the instances over, a connection that was replaced while
// this one owns them is dialled again, and nothing is dialled while it does not.
func TestOwnerDialsReplacedConnectionsAgain(t *testing.T) {
	owns := true
	adapt := func(c *SupervisorConfig) { c.Valid = func() bool { return owns } }
	inBubble(t, adapt, func(r *rig) {
		var dials []time.Time
		r.net.onDial(func(_ context.Context, s *session) error {
			dials = append(dials, time.Now())
			s.login()
			return nil
		})
		before := r.linked("before", event.StreamReplaced).ID
		r.reboot()
		r.sup.Start()
		time.Sleep(time.Second)
		r.wantStatus(before, event.Online)

		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		replace := func() time.Duration {
			s := r.net.session(id)
			s.be(true, false)
			dials = nil
			began := time.Now()
			if err := s.tell(connection(event.TypeStreamReplaced, event.ConnectionReplaced, event.StreamReplaced)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			if len(dials) == 0 {
				return 0
			}
			return dials[0].Sub(began)
		}
		first := replace()
		r.wantStatus(id, event.Online)
		if first == 0 || first > r.sup.cfg.InitialDelay {
			t.Errorf("it was dialled again after %s", first)
		}
		owns = false
		if after := replace(); after != 0 {
			t.Errorf("a process that does not own the instance dialled it after %s", after)
		}
	})
}

// Another client of the account that competes for its connection is not fought.
func TestRepeatedReplacementWaitsLonger(t *testing.T) {
	k := &keeper{sup: &Supervisor{cfg: SupervisorConfig{InitialDelay: time.Second, MaxDelay: time.Minute}}}
	now := time.Now()
	for _, row := range []struct {
		after, want time.Duration
	}{{0, time.Second}, {5 * time.Second, time.Minute}, {time.Minute, time.Minute}, {time.Hour, time.Second}} {
		now = now.Add(row.after)
		if got := k.afterReplacement(now); got != row.want {
			t.Errorf("%s after the one before: %s, want %s", row.after, got, row.want)
		}
	}
}

func TestOwnersReconnectLargeFleetsFaster(t *testing.T) {
	for _, row := range []struct{ configured, accounts, alone, owner int }{
		{5, 10, 5, 5}, {5, 1000, 5, 25}, {5, 100_000, 5, 100}, {200, 100_000, 200, 200}, {0, 10, 1, 1},
	} {
		s := &Supervisor{cfg: SupervisorConfig{StartupConcurrency: row.configured}}
		if got := s.concurrency(row.accounts); got != row.alone {
			t.Errorf("%d accounts alone: %d at once, want %d", row.accounts, got, row.alone)
		}
		s.cfg.Valid = func() bool { return true }
		if got := s.concurrency(row.accounts); got != row.owner {
			t.Errorf("%d accounts of an owner: %d at once, want %d", row.accounts, got, row.owner)
		}
	}
}
