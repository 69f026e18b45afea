package fleet_test

import (
	"testing"
	"time"

	"postern/batch"
	"postern/event"
)

func TestGateAdmitsKnownContacts(t *testing.T) {
	f, id := newFleet(t)
	known := map[string]bool{"491": true}
	f.Knows = func(_ int64, number string) bool { return known[number] }
	until := event.At(time.Now().Add(time.Hour)).Time
	tell := func(r event.Restriction) {
		t.Helper()
		if err := f.Registry.Report(t.Context(), id, event.Fact{Restriction: &r}); err != nil {
			t.Fatal(err)
		}
	}
	asks := func(rule string, q batch.Question, shut, strangers bool, reason string) {
		t.Helper()
		q.Instance = id
		g := f.Gate(q)
		if g.Shut(time.Now()) != shut || g.Strangers != strangers || g.Reason != reason || shut && g.Text == "" {
			t.Errorf("%s: %+v", rule, g)
		}
	}
	asks("nothing in force", batch.Question{Recipient: "492"}, false, false, "")
	tell(event.Restriction{Type: event.StatusAccountReachoutTimelock, Until: until})
	asks("a stranger", batch.Question{Recipient: "492"}, true, true, "REACHOUT_TIMELOCKED")
	asks("an unknown contact", batch.Question{}, true, true, "REACHOUT_TIMELOCKED")
	asks("somebody known", batch.Question{Recipient: "491"}, false, false, "")
	asks("somebody known, to a batch that waits with all", batch.Question{Recipient: "491", Wait: true}, true, false, "REACHOUT_TIMELOCKED")
	tell(event.Restriction{Type: event.StatusAccountRestricted, Until: until.Add(-time.Minute), Inferred: true, Code: 479, Count: 10})
	asks("after refusals in a row", batch.Question{Recipient: "491"}, true, false, "FAILURE_STREAK")
	tell(event.Restriction{Type: event.StatusTemporaryBan, Until: until.Add(time.Hour)})
	asks("of two that are for everybody, the later", batch.Question{Recipient: "491"}, true, false, "TEMPORARY_BAN")
}
