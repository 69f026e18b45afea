package delivery

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

func notice(instance int64) event.Notice {
	return event.Notice{
		Kind: event.MessagesUpsert, Body: []byte(`{"event":"messages.upsert"}`), InstanceID: instance, InstanceName: "shop",
		OwnerJID: "5511999990000@s.whatsapp.net", RequestID: uuid.NewString(), ID: uuid.New(), About: event.About{Chat: "5511900000001@s.whatsapp.net"},
	}
}

func oldWay() event.Destination {
	return event.Destination{Target: event.TargetWebhook, URL: "https://user:pw@a.example:8443/in?key=1"}
}

func (r *rig) flush() {
	r.t.Helper()
	if err := r.l.Flush(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// list returns the records of the first page of a filter.
func (r *rig) list(f Filter) []Listed {
	r.t.Helper()
	page, err := r.l.List(context.Background(), f, "", 200)
	if err != nil {
		r.t.Fatal(err)
	}
	return page.Records
}

func TestADeliveryOfTheOldWayLeavesOneRecordWithItsAttempt(t *testing.T) {
	r := newRig(t, Config{Log: true})
	n := notice(3)
	e := r.l.Queued(n, oldWay())
	began := time.Now().Add(-time.Second).UTC().Truncate(time.Millisecond)
	e.Done(Failed, Attempt{StartedAt: began, Duration: 40 * time.Millisecond, Status: 500, Error: "receiver answered 500", RequestID: n.RequestID, Answer: "no"})
	e.Done(Delivered, Attempt{}) // it ends once
	all := r.list(Filter{})
	if len(all) != 1 {
		t.Fatalf("%d records", len(all))
	}
	got, attempts, body, err := r.l.Record(t.Context(), all[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.State != Failed || got.URL != "https://a.example:8443/in" || got.Attempts != 1 || got.LastStatus != 500 || got.LastError != "receiver answered 500" ||
		got.EventID != n.ID || got.Instance != 3 || got.Name != "shop" || got.Bytes != len(n.Body) || got.Chat != n.About.Chat || !got.Once || !got.Replayable {
		t.Errorf("%+v", got)
	}
	want := Attempt{Number: 1, StartedAt: began, Duration: 40 * time.Millisecond, Status: 500, Error: "receiver answered 500", RequestID: n.RequestID, Answer: "no"}
	if len(attempts) != 1 || attempts[0] != want {
		t.Errorf("%+v, want %+v", attempts, want)
	}
	if string(body) != string(n.Body) {
		t.Errorf("body %q", body)
	}
}

func TestBodiesAreKeptAsConfigured(t *testing.T) {
	for _, c := range []struct {
		bodies                   Bodies
		delivered, lost, waiting bool
	}{{BodiesFailed, false, true, true}, {BodiesAll, true, true, true}, {BodiesNone, false, false, false}} {
		t.Run(string(c.bodies), func(t *testing.T) {
			r := newRig(t, Config{Log: true, Bodies: c.bodies})
			// The first ones are in the file while they wait, the others are not.
			early := []*Entry{r.l.Queued(notice(1), oldWay()), r.l.Queued(notice(1), oldWay()), r.l.Queued(notice(1), oldWay())}
			for _, rec := range r.list(Filter{}) {
				if rec.State != Pending || rec.Replayable != c.waiting {
					t.Errorf("%+v", rec)
				}
			}
			late := []*Entry{r.l.Queued(notice(1), oldWay()), r.l.Queued(notice(1), oldWay()), r.l.Queued(notice(1), oldWay())}
			for _, some := range [][]*Entry{early, late} {
				for i, state := range []State{Delivered, Failed, Dropped} {
					some[i].Done(state, Attempt{Error: "x"})
				}
			}
			all := r.list(Filter{})
			if len(all) != 6 {
				t.Fatalf("%d records", len(all))
			}
			for _, rec := range all {
				want := c.lost
				if rec.State == Delivered {
					want = c.delivered
				}
				_, _, body, err := r.l.Record(t.Context(), rec.ID)
				if rec.Replayable != want || (body != nil) != want || err != nil {
					t.Errorf("%s: replayable %v, body %q, want %v", rec.State, rec.Replayable, body, want)
				}
			}
		})
	}
}

// TestABodyIsKeptForEverythingButDelivered: a delivery of the in-memory flow that a retry or a
// replay delivered counts as any other delivered one, and its body is not kept.
func TestABodyIsKeptForEverythingButDelivered(t *testing.T) {
	for _, c := range []struct {
		bodies   Bodies
		accepted bool
		kept     bool
	}{{BodiesFailed, true, false}, {BodiesFailed, false, true}, {BodiesAll, true, true}} {
		r := newRig(t, Config{Log: true, Bodies: c.bodies})
		r.l.Queued(notice(1), oldWay()).Done(Failed, Attempt{Error: "x"})
		id := r.list(Filter{})[0].ID
		r.update(func(tx *store.Tx) error { _, _, err := r.l.Retry(tx, id); return err })
		r.settle(id, c.accepted, time.Time{})
		rec := r.list(Filter{})[0]
		_, _, body, err := r.l.Record(t.Context(), id)
		if rec.Replayable != c.kept || (body != nil) != c.kept || err != nil {
			t.Errorf("%s, %s: replayable %v, body %q, %v", c.bodies, rec.State, rec.Replayable, body, err)
		}
		r.view(func(tx *store.Tx) error {
			if tx.Has(bodies, store.Key(id)) != c.kept {
				t.Errorf("%s, %s: in the file %v", c.bodies, rec.State, !c.kept)
			}
			return nil
		})
	}
}

func TestWhatEndedIsWrittenWithinASecondWithoutBeingAsked(t *testing.T) {
	r := newRig(t, Config{Log: true})
	if err := r.l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.l.Stop(context.Background())
	slow := r.l.Queued(notice(1), oldWay())
	began := time.Now()
	r.l.Queued(notice(1), oldWay()).Done(Delivered, Attempt{})
	waitFor(t, func() bool { rec, found := r.record(slow.id + 1); return found && rec.State == Delivered })
	waitFor(t, func() bool { rec, found := r.record(slow.id); return found && rec.State == Pending })
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	slow.Done(Failed, Attempt{})
	waitFor(t, func() bool { rec, _ := r.record(slow.id); return rec.State == Failed })
}

func waitFor(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
	}
}

func TestManyDeliveriesShareACommit(t *testing.T) {
	r := newRig(t, Config{Log: true})
	for range 200 {
		r.l.Queued(notice(1), oldWay()).Done(Delivered, Attempt{})
	}
	before := r.s.Stats().Commits
	r.flush()
	if n := r.s.Stats().Commits - before; n != 1 {
		t.Errorf("%d commits", n)
	}
	if n := len(r.list(Filter{})); n != 200 {
		t.Errorf("%d records", n)
	}
}

func TestStopWritesWhatIsInMemory(t *testing.T) {
	r := newRig(t, Config{Log: true})
	if err := r.l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := r.l.Queued(notice(1), oldWay())
	e.Done(Dropped, Attempt{Error: "the program stops"})
	if err := r.l.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rec, _ := r.record(e.id); rec.State != Dropped || rec.LastError != "the program stops" || rec.Attempts != 0 {
		t.Errorf("%+v", rec)
	}
}

func TestWhatWasOnItsWayInAKilledProcessIsDropped(t *testing.T) {
	r := newRig(t, Config{Log: true})
	e := r.l.Queued(notice(1), oldWay())
	durable := r.emit(event.About{}, hook(event.OrderNone))
	r.flush()
	r.reopen()
	if rec, _ := r.record(e.id); rec.State != Dropped || rec.LastError != interrupted {
		t.Errorf("%+v", rec)
	}
	if rec, _ := r.record(durable.First()); rec.State != Pending {
		t.Errorf("%+v", rec)
	}
}

func TestALogThatIsOffKnowsNothingButWhatWaitsInTheFile(t *testing.T) {
	r := newRig(t, Config{Log: true})
	r.l.Queued(notice(1), oldWay()).Done(Failed, Attempt{})
	e := r.emit(event.About{}, hook(event.OrderNone))
	r.flush()
	r.cfg.Log = false
	r.reopen()
	if entry := r.l.Queued(notice(1), oldWay()); entry != nil {
		t.Error("a record was begun")
	} else {
		entry.Done(Delivered, Attempt{})
	}
	page, err := r.l.List(t.Context(), Filter{}, "", 50)
	if err != nil || page.Total != 1 || len(page.Records) != 1 || page.Records[0].ID != e.First() {
		t.Errorf("%+v, %v", page, err)
	}
	if page, _ := r.l.List(t.Context(), Filter{States: []State{Failed}}, "", 50); page.Total != 0 || len(page.Records) != 0 {
		t.Errorf("%+v", page)
	}
	if _, _, _, err := r.l.Record(t.Context(), page.Records[0].ID-1); !errors.Is(err, ErrNotFound) {
		t.Errorf("a record of before: %v", err)
	}
	if _, err := r.l.Replay(t.Context(), ReplayRequest{}); !errors.Is(err, ErrLogOff) {
		t.Errorf("replay: %v", err)
	}
	r.update(func(tx *store.Tx) error {
		if _, _, err := r.l.Retry(tx, e.First()-1); !errors.Is(err, ErrLogOff) {
			t.Errorf("retry of a record of before: %v", err)
		}
		return nil
	})
	r.settle(e.First(), true, time.Time{})
	if page, _ := r.l.List(t.Context(), Filter{}, "", 50); page.Total != 0 {
		t.Errorf("what ended is still there: %+v", page)
	}
}

func TestWhatTheWriterCannotFollowIsCountedAndNotWaitedFor(t *testing.T) {
	r := newRig(t, Config{Log: true})
	var wg sync.WaitGroup
	hold, held := make(chan struct{}), make(chan struct{})
	wg.Go(func() { // the file is busy
		_ = r.s.Update(context.Background(), func(*store.Tx) error { close(held); <-hold; return nil })
	})
	<-held
	var last *Entry
	for range maxBehind + 10 {
		if e := r.l.Queued(notice(1), oldWay()); e != nil {
			e.Done(Failed, Attempt{})
			last = e
		}
	}
	close(hold)
	wg.Wait()
	if n := r.l.LogDropped(); n == 0 || last == nil {
		t.Errorf("%d were dropped", n)
	}
	r.flush()
	sum, err := r.l.Counts(t.Context())
	if n := uint64(sum[Failed]) + r.l.LogDropped(); err != nil || n != maxBehind+10 {
		t.Errorf("%d records and %d dropped", sum[Failed], r.l.LogDropped())
	}
}

func TestAnAnswerIsKeptAsTextOfTwoKiB(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"no", "no"},
		{"\xff\xfe<html>", "\uFFFD<html>"},
		{strings.Repeat("é", MaxAnswer), strings.Repeat("é", MaxAnswer/2)},
		{"x" + strings.Repeat("é", MaxAnswer), "x" + strings.Repeat("é", MaxAnswer/2-1)},
		{strings.Repeat("\xff", 3*MaxAnswer), "\uFFFD"},
	} {
		got := CutAnswer(c.in)
		if got != c.want || !utf8.ValidString(got) || len(got) > MaxAnswer {
			t.Errorf("%d bytes became %d: %.20q", len(c.in), len(got), got)
		}
	}
	wild := strings.Repeat("a\xff", MaxAnswer)
	if got := CutAnswer(wild); !utf8.ValidString(got) || len(got) > MaxAnswer || len(got) < MaxAnswer-3 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestOnAFullDiskRecordsAreCountedAndListsGoOn(t *testing.T) {
	r := newRig(t, Config{Log: true})
	r.failed(1, 1)
	r.flush()
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.s, err = store.Open(store.Options{Path: r.path, Buckets: Buckets(), NoSync: true, MinFree: 1 << 62}); err != nil {
		t.Fatal(err)
	}
	if r.l, err = Open(r.s, r.cfg); err != nil {
		t.Fatal(err)
	}
	r.failed(1, 3)
	if err := r.l.Flush(t.Context()); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("%v", err)
	}
	if n := r.l.LogDropped(); n != 3 {
		t.Errorf("%d were dropped", n)
	}
	if n := len(r.list(Filter{})); n != 1 {
		t.Errorf("%d records", n)
	}
	r.failed(1, 1)
	if err := r.l.Stop(t.Context()); !errors.Is(err, store.ErrDiskFull) || r.l.LogDropped() != 4 {
		t.Errorf("stop: %v, %d were dropped", err, r.l.LogDropped())
	}
}

// TestWhatCouldNotBeWrittenIsWrittenWithTheNext makes commits fail.
func TestWhatCouldNotBeWrittenIsWrittenWithTheNext(t *testing.T) {
	r := newRig(t, Config{Log: true})
	known := r.l.Queued(notice(1), oldWay())
	r.flush()
	fresh := r.l.Queued(notice(1), oldWay())
	no := errors.New("no")
	r.l.behind.written(r.l.behind.take(true), no) // fresh as pending
	known.Done(Failed, Attempt{Status: 500})
	r.l.behind.written(r.l.behind.take(true), no) // the end of known
	fresh.Done(Failed, Attempt{Status: 501})
	r.flush()
	for e, status := range map[*Entry]int{fresh: 501, known: 500} {
		if rec, found := r.record(e.id); !found || rec.State != Failed || rec.LastStatus != status {
			t.Errorf("%+v, %v", rec, found)
		}
	}
	if n := r.l.LogDropped(); n != 0 {
		t.Errorf("%d were dropped", n)
	}
}

func TestAReplayEndsWhenTheLogIsOff(t *testing.T) {
	r := newRig(t, oldSettings().config())
	r.failed(1, 3)
	id := r.replay(ReplayRequest{}).ID
	r.cfg.Log = false
	r.reopen()
	r.turns()
	if got := r.replayNow(id); got.State != ReplayCancelled || got.Sent != 0 {
		t.Errorf("%+v", got)
	}
}

func FuzzDecodeOwn(f *testing.F) {
	f.Add(store.Key(uint16(3), "jid", "body"))
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		owner, body, ok := decodeOwn(raw)
		if ok && string(store.Key(uint16(len(owner)), owner, body)) != string(raw) {
			t.Errorf("%q and %q are not %q", owner, body, raw)
		}
	})
}
