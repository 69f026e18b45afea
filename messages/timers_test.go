package messages

import (
	"testing"
	"time"

	"postern/event"
)

// TestNewestSettingOfATimerWins reports settings in other orders than they were made in, and some of wrong clocks.
func TestNewestSettingOfATimerWins(t *testing.T) {
	const day, week = 86400, 604800
	const begin, year = int64(1_700_000_000), int64(365 * 24 * time.Hour / time.Second)
	lid, phone := "100000000000001@lid", "491510001@s.whatsapp.net"
	both := []string{lid, phone}
	for name, row := range map[string]struct {
		settings []event.ChatTimer
		want     uint32
	}{
		"the later one":                   {[]event.ChatTimer{chatTimer(both, day, begin, begin), chatTimer(both, week, begin+9, begin+9)}, week},
		"one that comes late":             {[]event.ChatTimer{chatTimer(both, week, begin+9, begin+9), chatTimer(both, day, begin, begin+10)}, week},
		"an explicit end":                 {[]event.ChatTimer{chatTimer(both, week, begin, begin), chatTimer(both, 0, begin+9, begin+9)}, 0},
		"without a time of its own":       {[]event.ChatTimer{chatTimer(both, week, 0, begin), chatTimer(both, day, 0, begin+9)}, day},
		"of a phone that is a year ahead": {[]event.ChatTimer{chatTimer(both, week, begin+year, begin), chatTimer(both, day, begin+9, begin+9)}, day},
		"as the network answers now":      {[]event.ChatTimer{chatTimer(both, week, begin, begin+5), chatTimer(both, day, 0, 0)}, day},
		"after such an answer":            {[]event.ChatTimer{chatTimer(both, week, begin, begin+5), chatTimer(both, day, 0, 0), chatTimer(both, 0, begin+9, begin+9)}, 0},
		"under the other address":         {[]event.ChatTimer{chatTimer([]string{phone}, week, begin, begin), chatTimer(both, day, begin+9, begin+9)}, day},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			defer r.stop()
			id := r.create()
			for _, s := range row.settings {
				if err := r.a.LearnTimers(bg, id, []event.ChatTimer{s}); err != nil {
					t.Fatal(err)
				}
			}
			before := r.s.Stats().Commits
			last := row.settings[len(row.settings)-1]
			if err := r.a.LearnTimers(bg, id, []event.ChatTimer{last}); err != nil {
				t.Fatal(err)
			}
			if n := r.s.Stats().Commits - before; n != 0 {
				t.Errorf("%d commits for a known setting", n)
			}
			got, err := r.a.TimerOf(id, both)
			if err != nil || (got == nil) != (row.want == 0) || got != nil && got.Seconds != row.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// chatTimer is a setting of seconds, made at set and carried by something of the time at, both in Unix seconds.
func chatTimer(chats []string, seconds uint32, set, at int64) event.ChatTimer {
	return event.ChatTimer{Chat: chats, Seconds: seconds, Set: set, At: at}
}
