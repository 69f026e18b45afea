package instance

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
)

const ann = "4915150000001@s.whatsapp.net"

// online returns an instance that is online with the account ann.
func (r *rig) online(name string) int64 {
	r.Helper()
	id := r.create(name).ID
	r.report(id, event.Fact{Status: event.Online, Link: &event.Link{JID: ann}})
	return id
}

func timelock(until time.Time) event.Fact {
	return event.Fact{
		Kind: event.StatusInstance, Data: event.InstanceStatus{Type: event.StatusAccountReachoutTimelock},
		Restriction: &event.Restriction{Type: event.StatusAccountReachoutTimelock, Until: until, Reason: "BIZ_QUALITY"},
	}
}

func lifted() event.Fact {
	f := timelock(time.Time{})
	f.Restriction.Lifted = true
	return f
}

func banned(until time.Time) event.Fact {
	return event.Fact{Status: event.TemporaryBan, Restriction: &event.Restriction{Type: event.StatusTemporaryBan, Until: until, Reason: "101"}}
}

func (r *rig) restrictedUntil(id int64) time.Time {
	r.Helper()
	one, _ := r.record(id).Restriction(time.Now())
	return one.Until.Time
}

func TestRestrictionHonorsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer r.stop()
		id, until := r.online("a"), time.Now().Add(time.Hour)
		r.report(id, timelock(until))
		time.Sleep(time.Hour - time.Millisecond)
		if got := r.restrictedUntil(id); !got.Equal(until) {
			t.Errorf("restricted until %s, want %s", got, until)
		}
		time.Sleep(time.Millisecond)
		if got := r.restrictedUntil(id); !got.IsZero() {
			t.Errorf("still restricted until %s", got)
		}
	})
}

func TestTimeLockWithoutEndLastsSixHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer r.stop()
		id := r.online("a")
		for range 2 { // published again, it counts from then
			time.Sleep(time.Hour)
			r.report(id, timelock(time.Time{}))
			if got := r.restrictedUntil(id); !got.Equal(time.Now().Add(6 * time.Hour)) {
				t.Errorf("restricted until %s", got)
			}
		}
	})
}

func TestLiftingEndsOneRestriction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer r.stop()
		id := r.online("a")
		r.report(id, timelock(time.Now().Add(2*time.Hour)))
		r.report(id, banned(time.Now().Add(time.Hour)))
		if got := r.restrictedUntil(id); !got.Equal(time.Now().Add(time.Hour)) {
			t.Errorf("of two, the one that keeps everybody back counts: %s", got)
		}
		r.report(id, lifted())
		if got := r.restrictedUntil(id); !got.Equal(time.Now().Add(time.Hour)) {
			t.Errorf("the ban is in force until %s", got)
		}
	})
}

func TestARestrictionSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		id, until := r.online("a"), time.Now().Add(time.Hour)
		r.report(id, timelock(until))
		r.reboot()
		defer r.stop()
		if got := r.restrictedUntil(id); !got.Equal(until) {
			t.Errorf("restricted until %s, want %s", got, until)
		}
	})
}

func TestARestrictionBelongsToTheAccount(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id := r.online("a")
	r.report(id, timelock(time.Now().Add(time.Hour)))
	r.report(id, event.Fact{Status: event.LoggedOut, Unlink: true})
	r.report(id, event.Fact{Status: event.Online, Link: &event.Link{JID: "4915150000002@s.whatsapp.net"}})
	if got := r.restrictedUntil(id); !got.IsZero() {
		t.Errorf("another account is restricted until %s", got)
	}
	r.report(id, event.Fact{Status: event.Online, Link: &event.Link{JID: ann}})
	if r.restrictedUntil(id).IsZero() {
		t.Error("pairing again made the account free")
	}
}

func TestOnStatusReportsRestrictionChanges(t *testing.T) {
	r := newRig(t, nil, nil)
	defer r.stop()
	id, until := r.online("a"), time.Now().Add(time.Hour)
	r.seen()
	for _, step := range []struct {
		rule      string
		fact      event.Fact
		published int
	}{
		{"restricted", timelock(until), 1},
		{"published again", timelock(until), 0},
		{"with another end", timelock(until.Add(time.Hour)), 1},
		{"banned, which is a new state as well", banned(until), 1},
		{"lifted", lifted(), 1},
		{"lifted again", lifted(), 0},
	} {
		r.report(id, step.fact)
		if got := len(r.seen()); got != step.published {
			t.Errorf("%s: OnStatus was published %d times, want %d", step.rule, got, step.published)
		}
	}
}

func TestRestrictionIsLogged(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, nil)
	defer r.stop()
	id := r.online("a")
	r.report(id, timelock(time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)))
	r.report(id, lifted())
	for _, want := range []string{
		"level=WARN msg=\"WhatsApp restricts the account", "until=2031-05-06T07:08:09.000Z reason=BIZ_QUALITY",
		"level=INFO msg=\"WhatsApp lifted a restriction",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
}
