package whatsapp

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
	"postern/sandbox"
)

// TestSilenceIsSuspiciousOnceAfterActivity tests the limits of the rule in a day of
// simulated time for each case. Steps are hours since the login.
func TestSilenceIsSuspiciousOnceAfterActivity(t *testing.T) {
	const period = 6 * time.Hour
	many := func(n int, at float64) (steps []float64) {
		for range n {
			steps = append(steps, at)
		}
		return steps
	}
	for name, tc := range map[string]struct {
		stanzas []float64 // when one comes
		logins  []float64 // when the session is reconnected, besides for the silence
		want    []float64 // when it is reconnected for the silence
	}{
		"nothing ever comes":                    {},
		"nine come and then nothing":            {stanzas: many(9, 1)},
		"ten come and then nothing":             {stanzas: many(10, 1), want: []float64{7}},
		"ten come over more than the period":    {stanzas: append(many(5, 1), many(5, 8)...), want: nil},
		"ten come within the period":            {stanzas: append(many(5, 1), many(5, 6)...), want: []float64{12}},
		"one comes just in time":                {stanzas: append(many(10, 1), 6.9), want: []float64{12.9}},
		"ten come, and after the silence one":   {stanzas: append(many(10, 1), 9), want: []float64{7}},
		"ten come before and after the silence": {stanzas: append(many(10, 1), many(10, 9)...), want: []float64{7, 15}},
		"a login in the silence restarts it":    {stanzas: many(10, 1), logins: []float64{4}, want: []float64{10}},
		"life and a login after the silence": {
			stanzas: append(many(10, 1), many(10, 9)...), logins: []float64{10}, want: []float64{7, 16},
		},
		"a login after the silence changes nothing": {
			stanzas: many(10, 1), logins: []float64{8}, want: []float64{7},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var q silence
				var got []float64
				var login func()
				login = func() {
					q.connected(period, func() {
						if q.suspicious(period) {
							got = append(got, time.Since(began).Hours())
							q.ended()
							login()
						}
					})
				}
				login()
				at := func(hours float64, do func()) {
					time.AfterFunc(time.Duration(hours*float64(time.Hour)), do)
				}
				for _, h := range tc.stanzas {
					at(h, func() { q.came(period) })
				}
				for _, h := range tc.logins {
					at(h, func() { q.ended(); login() })
				}
				time.Sleep(48 * time.Hour)
				q.ended()
				synctest.Wait()
				if fmt.Sprint(got) != fmt.Sprint(tc.want) {
					t.Errorf("reconnected at %v, want %v", got, tc.want)
				}
			})
		})
	}
}

// TestSilentConnectionReconnectsOnce: WhatsApp answers pings and delivers nothing;
// queued stanzas arrive after the new login.
func TestSilentConnectionReconnectsOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	const period = 2 * time.Second // ten texts come faster on any machine
	r := newRigWith(t, Config{QuietReconnect: period})
	phone, contact := r.pair(), r.contact()
	r.synced()
	r.say(contact, phone, "before", 12)
	r.acts(phone, `{"do":"quiet"}`)
	if _, err := contact.SendText(t.Context(), phone.JID(), "while it was silent"); err != nil {
		t.Fatal(err)
	}
	lost := r.await("loss", func(f event.Fact) bool { return f.Status == event.Reconnecting })
	if lost.Error == "" {
		t.Error("the loss has no reason")
	}
	r.await("message", message("while it was silent"))
	time.Sleep(3 * period / 2) // nothing more may happen
	if n := r.conn.Stats().QuietReconnects; n != 1 {
		t.Errorf("counted %d", n)
	}
}

func TestQuietConnectionIsKept(t *testing.T) {
	const period = 300 * time.Millisecond
	for name, tc := range map[string]struct {
		period time.Duration
		before int
	}{
		"few came before":     {period, 4},
		"the watchdog is off": {0, 12},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRigWith(t, Config{QuietReconnect: tc.period})
			phone, contact := r.pair(), r.contact()
			r.synced()
			time.Sleep(2 * period) // what the login brought lies longer ago
			logins := r.conn.Stats().QuietReconnects
			r.say(contact, phone, "before", tc.before)
			time.Sleep(3 * period)
			if n := r.conn.Stats().QuietReconnects; n != logins {
				t.Errorf("reconnected %d times", n-logins)
			}
		})
	}
}

// say makes a contact send texts, and waits until they are received.
func (r *rig) say(from, to *sandbox.Phone, text string, n int) {
	r.t.Helper()
	for i := range n {
		if _, err := from.SendText(r.t.Context(), to.JID(), fmt.Sprint(text, i)); err != nil {
			r.t.Fatal(err)
		}
	}
	r.await("message", message(fmt.Sprint(text, n-1)))
}
