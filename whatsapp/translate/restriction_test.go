package translate

import (
	"testing"
	"testing/synctest"
	"time"

	"go.mau.fi/util/jsontime"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

func TestRestrictionHasItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := time.Now().Add(time.Hour)
		for rule, tc := range map[string]struct {
			evt  any
			want event.Restriction
		}{
			"time lock": {
				&events.NotifyAccountReachoutTimelock{IsActive: true, EnforcementType: "BIZ", TimeEnforcementEnds: jsontime.UnixString{Time: ends}},
				event.Restriction{Type: event.StatusAccountReachoutTimelock, Until: ends, Reason: "BIZ"},
			},
			"time lock without an end": {
				&events.NotifyAccountReachoutTimelock{IsActive: true},
				event.Restriction{Type: event.StatusAccountReachoutTimelock},
			},
			"time lock lifted": {
				&events.NotifyAccountReachoutTimelock{},
				event.Restriction{Type: event.StatusAccountReachoutTimelock, Lifted: true},
			},
			"ban": {
				&events.TemporaryBan{Code: 101, Expire: time.Hour},
				event.Restriction{Type: event.StatusTemporaryBan, Until: ends, Reason: "101"},
			},
			"ban without an end": {
				&events.TemporaryBan{Code: 101},
				event.Restriction{Type: event.StatusTemporaryBan, Reason: "101"},
			},
		} {
			f, refused := Refusal(tc.evt)
			if facts, ok := (Translator{}).statusFacts(tc.evt); ok && !refused {
				f = facts[0]
			}
			if f.Restriction == nil || *f.Restriction != tc.want {
				t.Errorf("%s: reported %+v, want %+v", rule, f.Restriction, tc.want)
			}
		}
	})
}
