package instance

import (
	"testing"
	"time"

	"postern/event"
)

// TestRestrictionsOfWrongClocksEndOnceCorrected infers restrictions, and receives notices of some,
// under wrong clocks, and checks them under the right one: none lasts for years.
func TestRestrictionsOfWrongClocksEndOnceCorrected(t *testing.T) {
	right := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	const year = 365 * 24 * time.Hour
	for _, c := range []struct {
		name    string
		ahead   time.Duration
		until   time.Time // as WhatsApp named it
		inForce bool      // by the right clock
	}{
		{"inferred, right", 0, time.Time{}, true},
		{"inferred, ten years ahead", 10 * year, time.Time{}, false},
		{"inferred, ten years behind", -10 * year, time.Time{}, false},
		{"named, right", 0, right.Add(time.Hour), true},
		{"named, a minute ahead", time.Minute, right.Add(time.Hour), true},
		{"named, an hour ahead", 30 * time.Minute, right.Add(20 * time.Minute), true},
		{"named, over", 10 * year, right.Add(-time.Hour), false},
	} {
		rec := Record{OwnerJID: "4915155500001@s.whatsapp.net"}
		wrong := right.Add(c.ahead)
		rec.restrict(bounded(&event.Restriction{Type: event.StatusTemporaryBan, Until: c.until, Inferred: c.until.IsZero()}, wrong), wrong)
		if is := len(rec.InForce(right)) == 1; is != c.inForce {
			t.Errorf("%s: in force %t: %+v", c.name, is, rec.Restrictions)
		}
		rec.restrict(bounded(&event.Restriction{Type: event.StatusTemporaryBan, Inferred: true}, right), right)
		if all := rec.InForce(right); len(all) != 1 || all[0].Until.After(right.Add(banLasts)) {
			t.Errorf("%s: the next refusal is not noted: %+v", c.name, all)
		}
	}
}
