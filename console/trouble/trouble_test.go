package trouble

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"postern/delivery/receivers"
	"postern/event"
)

// scene is a watch over parts that a test sets, with a clock that it moves.
type scene struct {
	t       *testing.T
	now     time.Time
	told    int
	touched int
	watched bool

	accounts []Account
	rows     []receivers.Row
	rowsErr  error
	jobs     []Job
	program  []Condition
	*Watch
}

func newScene(t *testing.T) *scene {
	s := &scene{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s.Watch = New(Config{
		Accounts: func() []Account { return s.accounts }, Receivers: func() ([]receivers.Row, error) { return s.rows, s.rowsErr },
		Jobs: func() []Job { return s.jobs }, Program: func() []Condition { return s.program },
		Changed: func() { s.told++ }, Touched: func(int64) { s.touched++ }, Watched: func() bool { return s.watched }, Now: func() time.Time { return s.now }, Logger: slog.New(slog.DiscardHandler),
		PhoneAttention: 7 * 24 * time.Hour, PhoneBroken: 12 * 24 * time.Hour,
	})
	return s
}

// after lets time pass, second by second up to a minute and then at once, and returns the items of the operator.
func (s *scene) after(d time.Duration) []Item {
	s.now = s.now.Add(d)
	s.Look()
	return s.Items(Everything())
}

// is compares the only item with a kind and a severity, "" for none.
func (s *scene) is(what string, items []Item, k Kind, severity Severity) {
	s.t.Helper()
	if k == "" && len(items) == 0 {
		return
	}
	if len(items) != 1 || items[0].Kind != k || items[0].Severity != severity {
		s.t.Errorf("%s: %+v, want %s %s", what, items, k, severity)
	}
}

// TestOfflineBeginsAfterTwoMinutes, is broken after ten, and ends after ten seconds online.
func TestOfflineBeginsAfterTwoMinutes(t *testing.T) {
	s := newScene(t)
	shop := Account{ID: 1, Name: "shop", State: event.Reconnecting, Paired: true, Dials: true}
	s.accounts = []Account{shop}
	began := s.now
	s.is("at first", s.after(0), "", "")
	s.is("after 119 s", s.after(119*time.Second), "", "")
	items := s.after(time.Second)
	s.is("after two minutes", items, InstanceOffline, Attention)
	if s.touched != 1 || !slices.Equal(s.Of()[1], []Kind{InstanceOffline}) {
		t.Errorf("the row of the instance changed %d times: %v", s.touched, s.Of())
	}
	if !items[0].Since.Equal(began) || items[0].Subjects[0].ID != "shop" {
		t.Errorf("since %v: %+v", items[0].Since, items[0])
	}
	s.is("after ten minutes", s.after(8*time.Minute), InstanceOffline, Broken)
	shop.State = event.Online
	s.accounts = []Account{shop}
	s.is("online for a moment", s.after(time.Second), InstanceOffline, Broken)
	shop.State = event.Reconnecting
	s.accounts = []Account{shop}
	if items = s.after(time.Second); !items[0].Since.Equal(began) {
		t.Errorf("a moment online was a break: %v", items[0].Since)
	}
	shop.State = event.Online
	s.accounts = []Account{shop}
	s.after(time.Second)
	s.is("online for ten seconds", s.after(10*time.Second), "", "")
}

// TestOneKindPerInstance: the first in the order of the kinds.
func TestOneKindPerInstance(t *testing.T) {
	long := time.Hour
	for _, row := range []struct {
		what     string
		account  Account
		kind     Kind
		severity Severity
	}{
		{"never linked", Account{State: event.Offline}, "", ""},
		{"being linked", Account{State: event.QRCodeState}, "", ""},
		{"logged out by a call", Account{State: event.LoggedOut, ByCall: true}, "", ""},
		{"moved", Account{State: event.Disconnected, Paired: true, Moved: true}, "", ""},
		{"logged out by WhatsApp", Account{State: event.LoggedOut}, InstanceLoggedOut, Broken},
		{"session gone", Account{State: event.SessionMissing, Paired: true, Elsewhere: true}, InstanceLoggedOut, Broken},
		{"another network", Account{State: event.Offline, Paired: true, Elsewhere: true}, InstanceWrongNetwork, Broken},
		{"outdated", Account{State: event.ClientOutdated, Paired: true}, InstanceOutdated, Broken},
		{"replaced", Account{State: event.StreamReplaced, Paired: true, Restricted: time.Unix(1, 0)}, InstanceStopped, Broken},
		{"restricted", Account{State: event.Online, Paired: true, Dials: true, Restricted: time.Unix(1, 0)}, InstanceRestricted, Attention},
		{"offline", Account{State: event.Reconnecting, Paired: true, Dials: true}, InstanceOffline, Broken},
		{"online", Account{State: event.Online, Paired: true, Dials: true}, "", ""},
	} {
		s := newScene(t)
		row.account.ID, row.account.Name = 1, "shop"
		s.accounts = []Account{row.account}
		s.after(0)
		s.is(row.what, s.after(long), row.kind, row.severity)
	}
}

// TestPhoneNotSeenForDays of an online account: attention, then broken, gone with the next sign.
func TestPhoneNotSeenForDays(t *testing.T) {
	s := newScene(t)
	seen := s.now
	shop := Account{ID: 1, Name: "shop", State: event.Online, Paired: true, Dials: true, PhoneSeen: seen}
	s.accounts = []Account{shop}
	s.is("at first", s.after(7*24*time.Hour-time.Second), "", "")
	s.is("after a week", s.after(time.Second), PhoneNotSeen, Attention)
	s.is("after twelve days", s.after(5*24*time.Hour), PhoneNotSeen, Broken)
	shop.PhoneSeen = s.now
	s.accounts = []Account{shop}
	s.is("after a sign", s.after(time.Second), "", "")
	shop.PhoneSeen = time.Time{}
	s.accounts = []Account{shop}
	s.is("with no sign yet", s.after(30*24*time.Hour), "", "")
}

// TestReceiverTroubles: failing, waiting, lost, by origin.
func TestReceiverTroubles(t *testing.T) {
	s := newScene(t)
	began := s.now
	row := receivers.Row{ID: "1:webhook", Origin: "https://hooks.example.org:443", Instance: 1, Name: "shop", Target: receivers.TargetWebhook, Waiting: 2, Oldest: began, MaxAge: time.Hour}
	row.State, row.Since, row.Failures = receivers.Failing, began, 3
	s.rows = []receivers.Row{row}
	items := s.after(0)
	s.is("at once", items, ReceiverFailing, Attention)
	if i := items[0]; i.Waiting != 2 || *i.Origin != row.Origin || i.Subjects[0].ID != "1:webhook" || i.Text != "https://hooks.example.org:443 does not accept events; 2 events wait" || !strings.HasSuffix(i.Link, "origin=https%3A%2F%2Fhooks.example.org%3A443") {
		t.Errorf("%+v", i)
	}
	s.is("after a minute", s.after(time.Minute), ReceiverFailing, Broken)
	kinds := func(items []Item) (all []string) {
		for _, i := range items {
			all = append(all, string(i.Kind)+" "+string(i.Severity))
		}
		slices.Sort(all)
		return all
	}
	if got := kinds(s.after(5 * time.Minute)); !slices.Equal(got, []string{"EVENTS_WAITING attention", "RECEIVER_FAILING broken"}) {
		t.Errorf("after six minutes: %v", got)
	}
	if got := kinds(s.after(25 * time.Minute)); !slices.Equal(got, []string{"EVENTS_WAITING broken", "RECEIVER_FAILING broken"}) {
		t.Errorf("past half of maxAge: %v", got)
	}
	row.State, row.Oldest = receivers.Paused, s.now
	s.rows = []receivers.Row{row}
	s.is("paused", s.after(20*time.Minute), "", "")
	s.is("paused past half of maxAge", s.after(20*time.Minute), EventsWaiting, Broken)
	row.Waiting, row.Lost, row.LostSince = 0, 7, s.now
	s.rows = []receivers.Row{row}
	s.is("events were lost", s.after(10*time.Second), EventsLost, Attention)
}

// TestUnreadReceiversStayInTrouble as they were at the last look that could read them.
func TestUnreadReceiversStayInTrouble(t *testing.T) {
	s := newScene(t)
	row := receivers.Row{ID: "1:webhook", Origin: "https://hooks.example.org:443", Instance: 1, Name: "shop"}
	row.State, row.Since = receivers.Failing, s.now
	s.rows = []receivers.Row{row}
	s.is("at once", s.after(0), ReceiverFailing, Attention)
	s.rows, s.rowsErr = nil, errors.New("the file is closed")
	s.is("unread", s.after(time.Minute), ReceiverFailing, Broken)
	s.rowsErr = nil
	s.is("gone", s.after(time.Second), "", "")
}

// TestBatchStuckWithoutAnInstance online, and failing with a fifth of its messages.
func TestBatchStuckWithoutAnInstance(t *testing.T) {
	s := newScene(t)
	id, owner := uuid.New(), uuid.New()
	job := Job{ID: id, Owner: owner, Name: "offer", Status: event.BatchWaitingForInstance, UpdatedAt: s.now, Instances: []int64{1}}
	s.jobs = []Job{job}
	s.is("at first", s.after(time.Minute), "", "")
	s.is("after two minutes", s.after(time.Minute), BatchStuck, Broken)
	s.accounts = []Account{{ID: 1, Name: "shop", State: event.Online, Paired: true, Dials: true}}
	s.is("with an instance online, so a limit holds it", s.after(time.Minute), "", "")
	job.Status, job.Ended, job.Failed = event.BatchProcessing, 19, 19
	s.jobs = []Job{job}
	s.is("19 of 19 failed", s.after(time.Second), "", "")
	job.Ended, job.Failed = 50, 10
	s.jobs = []Job{job}
	s.is("10 of 50 failed", s.after(time.Second), BatchFailing, Attention)
	if n := len(s.Items(Viewer{Batch: func(o, b uuid.UUID) bool { return o == owner && b == id }})); n != 1 {
		t.Errorf("its user sees %d items", n)
	}
	if n := len(s.Items(Viewer{Instance: func(int64) bool { return true }, Deliveries: true, Global: true})); n != 0 {
		t.Errorf("a key without batches sees %d items", n)
	}
	job.Failed = 9
	s.jobs = []Job{job}
	s.is("9 of 50 failed", s.after(time.Second), "", "")
}

// TestManySubjectsAreOneItem of bounded size, whatever their number.
func TestManySubjectsAreOneItem(t *testing.T) {
	s := newScene(t)
	for i := range 2000 {
		s.accounts = append(s.accounts, Account{ID: int64(i + 1), Name: fmt.Sprintf("shop-%04d", i), State: event.LoggedOut, StateSince: s.now.Add(-time.Duration(i) * time.Minute)})
		for n := range 2 {
			row := receivers.Row{ID: receivers.ID(fmt.Sprintf("%d:endpoint:%d", i+1, n)), Origin: fmt.Sprintf("https://%s%d.example.org:443", strings.Repeat("x", 40), i), Instance: int64(i + 1), Name: fmt.Sprintf("shop-%04d", i), Waiting: 1, Oldest: s.now.Add(-time.Hour)}
			row.State, row.Since, row.Lost, row.LostSince = receivers.Failing, s.now.Add(-time.Hour), 1, s.now
			s.rows = append(s.rows, row)
		}
	}
	items := s.after(0)
	raw, err := json.Marshal(items)
	if err != nil || len(items) > 200 || len(raw) > 256<<10 {
		t.Fatalf("%d items of %d bytes, %v", len(items), len(raw), err)
	}
	if i := items[slices.IndexFunc(items, func(i Item) bool { return i.Kind == InstanceLoggedOut })]; i.Count != 2000 || i.Subjects[0].ID != "shop-1999" || i.Text != "2000 instances are logged out" {
		t.Errorf("logged out: %+v", i)
	}
	count, rest := 0, 0
	for _, i := range items {
		if i.Kind == ReceiverFailing {
			if count += i.Count; i.Origin == nil {
				rest++
			}
		}
	}
	if count != 4000 || rest != 1 {
		t.Errorf("%d failing receivers, %d items with the rest", count, rest)
	}
	own := s.Items(Viewer{Instance: func(id int64) bool { return id == 7 }})
	if len(own) != 1 || own[0].Count != 1 || !strings.HasPrefix(own[0].Text, "1 instance is") {
		t.Errorf("a key for one instance without deliveries: %+v", own)
	}
}

// TestUnchangedTroublesAreToldOnce: a clock alone changes nothing, waiting events change it every five seconds.
func TestUnchangedTroublesAreToldOnce(t *testing.T) {
	s := newScene(t)
	s.program = []Condition{{Kind: Warning, Severity: Attention, Text: "the clock is wrong"}}
	row := receivers.Row{ID: "1:webhook", Instance: 1, Waiting: 1, Oldest: s.now}
	row.State, row.Since = receivers.Failing, s.now.Add(-time.Hour)
	s.rows = []receivers.Row{row}
	first := s.after(0)
	for range 30 {
		if again := s.after(time.Second); ETag(again) != ETag(first) {
			t.Fatalf("%+v became %+v", first, again)
		}
	}
	if s.told != 1 {
		t.Errorf("told %d times", s.told)
	}
	for range 10 {
		row.Waiting++
		s.rows, s.rowsNext = []receivers.Row{row}, time.Time{}
		s.after(time.Second)
	}
	if s.told < 2 || s.told > 4 {
		t.Errorf("told %d times while the number of waiting events changed for ten seconds", s.told)
	}
}

// TestWatchedWatchLooksOnceASecond, and otherwise every ten.
func TestWatchedWatchLooksOnceASecond(t *testing.T) {
	for watched, want := range map[bool]int{false: 4, true: 31} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			s.watched = watched
			looks := 0
			s.cfg.Now, s.cfg.Program = time.Now, func() []Condition { looks++; return nil }
			s.Start()
			time.Sleep(30*time.Second + time.Millisecond)
			if err := s.Stop(t.Context()); err != nil || looks != want {
				t.Errorf("watched %t: %d looks in 30 s, want %d: %v", watched, looks, want, err)
			}
		})
	}
}

// BenchmarkLook looks at 2,000 instances with two receivers each.
func BenchmarkLook(b *testing.B) {
	s := newScene(nil)
	for i := range 2000 {
		s.accounts = append(s.accounts, Account{ID: int64(i + 1), Name: fmt.Sprintf("shop-%04d", i), State: event.Online, Paired: true, Dials: true})
		for n := range 2 {
			row := receivers.Row{ID: receivers.ID(fmt.Sprintf("%d:endpoint:%d", i+1, n)), Origin: "https://hooks.example.org:443", Instance: int64(i + 1)}
			row.State = receivers.OK
			s.rows = append(s.rows, row)
		}
	}
	for b.Loop() {
		s.Look()
	}
}
