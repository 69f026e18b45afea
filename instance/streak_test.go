package instance

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/event"
)

// refusing returns a rig with one instance online and a limit of five refusals.
func refusing(t *testing.T, fn func(r *refusals)) {
	t.Helper()
	known := map[string]bool{}
	inBubble(t, func(c *SupervisorConfig) {
		c.FailureStreak = 5
		c.Knows = func(_ int64, number string) bool { return known[number] }
		c.Person = func(jid string) string {
			number, _, _ := strings.Cut(jid, "@")
			return number + "@lid"
		}
	}, func(r *rig) {
		id := r.linked("a", event.Disconnected).ID
		if _, err := r.sup.Connect(bg, id, ""); err != nil {
			t.Fatal(err)
		}
		r.published()
		fn(&refusals{r, id, known})
	})
}

type refusals struct {
	*rig
	id    int64
	known map[string]bool
}

// ends makes a send to the nth person fail with err, and returns the caller's error.
func (r *refusals) ends(n int, err error) error {
	r.Helper()
	return r.endsAt(fmt.Sprintf("49%09d@s.whatsapp.net", n), err)
}

// endsAt is ends for a send to a JID.
func (r *refusals) endsAt(to string, err error) error {
	r.Helper()
	r.net.session(r.id).send = func() error { return err }
	_, got := r.sup.Send(bg, r.id, event.Outgoing{ID: "X", To: to})
	synctest.Wait()
	return got
}

func (r *refusals) refused(code int, people ...int) {
	r.Helper()
	for _, n := range people {
		if err := r.ends(n, &event.RefusedError{Code: code, Cause: errors.New("no")}); !errors.Is(err, event.ErrSendRefused) {
			r.Fatal(err)
		}
	}
}

func (r *refusals) kind() string {
	r.Helper()
	one, ok := r.record(r.id).Restriction(time.Now())
	if !ok {
		return ""
	}
	return one.Kind()
}

func (r *refusals) dials() int { return len(r.net.session(r.id).dials) }

func TestConsecutiveRefusalsBenchForAnHour(t *testing.T) {
	for rule, tc := range map[string]struct {
		run     func(r *refusals)
		benched bool
	}{
		"five people":       {func(r *refusals) { r.refused(479, 1, 2, 3, 4, 5) }, true},
		"four people":       {func(r *refusals) { r.refused(479, 1, 2, 3, 4) }, false},
		"one of them twice": {func(r *refusals) { r.refused(479, 1, 2, 2, 3, 4) }, false},
		"one of them by both addresses": {func(r *refusals) {
			r.refused(479, 1, 2, 3, 4)
			_ = r.endsAt("49000000004@lid", &event.RefusedError{Code: 479, Cause: errors.New("no")})
		}, false},
		"a channel, a group and a status": {func(r *refusals) {
			r.refused(479, 1, 2, 3)
			for _, to := range []string{"1@newsletter", "2@g.us", "status@broadcast"} {
				_ = r.endsAt(to, &event.RefusedError{Code: 479, Cause: errors.New("no")})
			}
		}, false},
		"another code in between": {func(r *refusals) { r.refused(479, 1, 2); r.refused(480, 3); r.refused(479, 4, 5, 6) }, false},
		"a success in between":    {func(r *refusals) { r.refused(479, 1, 2, 3); _ = r.ends(9, nil); r.refused(479, 4, 5) }, false},
		"what says nothing in between": {func(r *refusals) {
			r.refused(479, 1, 2)
			_ = r.ends(9, event.ErrNotOnWhatsApp)
			r.refused(479, 3, 4, 5)
		}, true},
		"a refusal of this side":               {func(r *refusals) { _ = r.ends(1, fmt.Errorf("%w: too large", event.ErrSendRefused)) }, false},
		"463, which is about the account":      {func(r *refusals) { r.refused(479, 1, 2, 3, 4); _ = r.ends(5, event.ErrTimelocked) }, false},
		"463 in between neither adds nor ends": {func(r *refusals) { r.refused(479, 1, 2); _ = r.ends(9, event.ErrTimelocked); r.refused(479, 3, 4, 5) }, true},
	} {
		t.Run(rule, func(t *testing.T) {
			refusing(t, func(r *refusals) {
				begin := time.Now()
				tc.run(r)
				if got := r.kind() == "failure_streak"; got != tc.benched {
					t.Fatalf("benched = %t (%q)", got, r.kind())
				}
				if !tc.benched {
					return
				}
				one, _ := r.record(r.id).last(event.StatusAccountRestricted)
				if one.Code != 479 || one.Count != 5 || !one.Inferred || one.Until.Before(begin.Add(time.Hour)) || one.Until.After(time.Now().Add(time.Hour)) {
					t.Errorf("%+v", one)
				}
			})
		})
	}
}

func TestStreakSurvivesBenchAndRestart(t *testing.T) {
	refusing(t, func(r *refusals) {
		r.refused(479, 1, 2, 3, 4, 5)
		r.reboot()
		if r.kind() != "failure_streak" {
			t.Fatal("a restart ended the bench")
		}
		if _, err := r.sup.Connect(bg, r.id, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if r.kind() != "" {
			t.Fatal("benched for more than an hour")
		}
		r.refused(479, 6)
		if r.kind() != "failure_streak" {
			t.Error("the sixth refusal in a row is taken for the first")
		}
		time.Sleep(time.Hour)
		if err := r.ends(7, nil); err != nil {
			t.Fatal(err)
		}
		r.refused(479, 8, 9, 10, 11)
		if r.kind() != "" {
			t.Error("a message that went out did not end the streak")
		}
	})
}

func TestThreeRefusalsReconnectOnceAnHour(t *testing.T) {
	refusing(t, func(r *refusals) {
		before := r.dials()
		want := func(n int, rule string) {
			t.Helper()
			synctest.Wait()
			if got := r.dials() - before; got != n {
				t.Fatalf("%s: %d dials", rule, got)
			}
		}
		r.refused(500, 1, 2, 3)
		want(0, "a 500")
		r.refused(479, 1, 2)
		want(0, "two people")
		r.refused(479, 3)
		want(1, "three people")
		r.refused(479, 4, 5)
		want(1, "the same streak")
		if r.kind() != "failure_streak" {
			t.Error("the reconnect ended the streak")
		}
		_ = r.ends(9, nil)
		r.refused(480, 1, 2, 3)
		want(1, "another streak within the hour")
		time.Sleep(time.Hour)
		_ = r.ends(9, nil)
		r.refused(480, 1, 2, 3)
		want(2, "another streak an hour later")
	})
}

func TestRefusal463InfersTimeLock(t *testing.T) {
	refusing(t, func(r *refusals) {
		begin := time.Now()
		err := r.ends(1, event.ErrTimelocked)
		held, ok := errors.AsType[*event.NotNowError](err)
		if !ok || !held.Until.Equal(begin.Add(6*time.Hour)) {
			t.Fatalf("%v", err)
		}
		one, _ := r.record(r.id).Restriction(time.Now())
		if one.Kind() != "reachout_timelock" || one.Source() != "inferred" || !one.Strangers() || !one.Until.Equal(begin.Add(6*time.Hour)) {
			t.Errorf("%+v", one)
		}
		n := r.one()
		data := fields(t, n.Body)["data"].(map[string]any)
		if reason, _ := data["reason"].(map[string]any); data["type"] != "account.restricted" || reason["code"] != 463.0 || reason["count"] != 1.0 || reason["until"] == nil {
			t.Errorf("published %v", data)
		}
		_ = r.ends(2, event.ErrTimelocked)
		if published := r.published(); len(published) != 0 {
			t.Errorf("published again: %v", kinds(published))
		}
		end := time.Now().Add(time.Hour)
		r.report(r.id, timelock(end))
		_ = r.ends(3, event.ErrTimelocked)
		if one, _ := r.record(r.id).Restriction(time.Now()); one.Source() != "notified" || !one.Until.Equal(end) {
			t.Errorf("a notice, and a refusal after it: %+v", one)
		}
		r.report(r.id, lifted())
		if r.kind() != "" {
			t.Error("a lifting notice did not end it")
		}
		_ = r.ends(4, event.ErrTimelocked)
		r.report(r.id, lifted())
		if r.kind() != "" {
			t.Error("a lifting notice did not end what refusals showed")
		}
	})
}

func TestRefusalAfterEndAllowsForClockSkew(t *testing.T) {
	refusing(t, func(r *refusals) {
		r.report(r.id, timelock(time.Now().Add(time.Hour)))
		time.Sleep(time.Hour + time.Second)
		_ = r.ends(1, event.ErrTimelocked)
		if one, _ := r.record(r.id).Restriction(time.Now()); !one.Until.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("until %s", one.Until)
		}
		time.Sleep(time.Minute + time.Second)
		_ = r.ends(1, event.ErrTimelocked)
		if one, _ := r.record(r.id).Restriction(time.Now()); !one.Until.Equal(time.Now().Add(6 * time.Hour)) {
			t.Errorf("again: until %s", one.Until)
		}
	})
}

func TestManyRefusedKnownContactsRestrictEveryone(t *testing.T) {
	refusing(t, func(r *refusals) {
		for n := range refusedKept + 1 {
			number := fmt.Sprintf("49%09d", n)
			r.known[number] = true
			if one, ok := r.record(r.id).Restriction(time.Now()); ok && !one.Strangers() {
				t.Fatalf("everybody is kept back after %d", n)
			}
			_ = r.ends(n, event.ErrTimelocked)
			one, _ := r.record(r.id).Restriction(time.Now())
			if len(one.Refused) != n+1 || one.Refused[n] != number {
				t.Fatalf("remembered %v", one.Refused)
			}
		}
		if one, _ := r.record(r.id).Restriction(time.Now()); one.Strangers() {
			t.Error("the known are still tried")
		}
	})
}

func TestStrangersMessageIsReportedDuringRestriction(t *testing.T) {
	refusing(t, func(r *refusals) {
		in := func(key, from string) {
			m := text(key, from, false)
			m.MessageTimestamp = time.Now().Unix()
			r.report(r.id, event.Fact{Kind: event.MessagesUpsert, Data: m})
		}
		r.seen()
		in("A", "491@s.whatsapp.net")
		if n := len(r.seen()); n != 0 {
			t.Errorf("without a restriction: published %d times", n)
		}
		_ = r.ends(1, event.ErrTimelocked)
		r.seen()
		in("B", "492@s.whatsapp.net")
		if n := len(r.seen()); n != 1 {
			t.Errorf("a stranger: published %d times", n)
		}
		in("C", "492@s.whatsapp.net")
		in("D", "491@s.whatsapp.net")
		if n := len(r.seen()); n != 0 {
			t.Errorf("those who are known: published %d times", n)
		}
	})
}
