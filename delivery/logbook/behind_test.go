package logbook

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/delivery"
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
	if err := r.log.Flush(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// list returns the records of the first page of a filter.
func (r *rig) list(f delivery.Filter) []delivery.Listed {
	r.t.Helper()
	page, err := r.log.List(context.Background(), f, "", 200)
	if err != nil {
		r.t.Fatal(err)
	}
	return page.Records
}

func TestMemoryDeliveryLeavesOneRecordWithAttempt(t *testing.T) {
	r := newRig(t, options{Log: true})
	n := notice(3)
	e := r.log.Queued(n, oldWay())
	began := time.Now().Add(-time.Second).UTC().Truncate(time.Millisecond)
	e.Done(delivery.Failed, delivery.Attempt{StartedAt: began, Duration: 40 * time.Millisecond, Status: 500, Error: "receiver answered 500", RequestID: n.RequestID, Answer: "no"})
	e.Done(delivery.Delivered, delivery.Attempt{}) // it ends once
	all := r.list(delivery.Filter{})
	if len(all) != 1 {
		t.Fatalf("%d records", len(all))
	}
	got, attempts, body, err := r.log.Record(t.Context(), all[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.State != delivery.Failed || got.URL != "https://a.example:8443/in" || got.Attempts != 1 || got.LastStatus != 500 || got.LastError != "receiver answered 500" ||
		got.EventID != n.ID || got.Instance != 3 || got.Name != "shop" || got.Bytes != len(n.Body) || got.Chat != n.About.Chat || !got.Once || !got.Replayable {
		t.Errorf("%+v", got)
	}
	want := delivery.Attempt{Number: 1, StartedAt: began, Duration: 40 * time.Millisecond, Status: 500, Error: "receiver answered 500", RequestID: n.RequestID, Answer: "no"}
	if len(attempts) != 1 || attempts[0] != want {
		t.Errorf("%+v, want %+v", attempts, want)
	}
	if string(body) != string(n.Body) {
		t.Errorf("body %q", body)
	}
}

func TestBodiesAreKeptAsConfigured(t *testing.T) {
	for _, c := range []struct {
		bodies                   delivery.Bodies
		delivered, lost, waiting bool
	}{{delivery.BodiesFailed, false, true, true}, {delivery.BodiesAll, true, true, true}, {delivery.BodiesNone, false, false, false}} {
		t.Run(string(c.bodies), func(t *testing.T) {
			r := newRig(t, options{Log: true, Bodies: c.bodies})
			// The first ones are in the file while they wait, the others are not.
			early := []*Entry{r.log.Queued(notice(1), oldWay()), r.log.Queued(notice(1), oldWay()), r.log.Queued(notice(1), oldWay())}
			for _, rec := range r.list(delivery.Filter{}) {
				if rec.State != delivery.Pending || rec.Replayable != c.waiting {
					t.Errorf("%+v", rec)
				}
			}
			late := []*Entry{r.log.Queued(notice(1), oldWay()), r.log.Queued(notice(1), oldWay()), r.log.Queued(notice(1), oldWay())}
			for _, some := range [][]*Entry{early, late} {
				for i, state := range []delivery.State{delivery.Delivered, delivery.Failed, delivery.Dropped} {
					some[i].Done(state, delivery.Attempt{Error: "x"})
				}
			}
			all := r.list(delivery.Filter{})
			if len(all) != 6 {
				t.Fatalf("%d records", len(all))
			}
			for _, rec := range all {
				want := c.lost
				if rec.State == delivery.Delivered {
					want = c.delivered
				}
				_, _, body, err := r.log.Record(t.Context(), rec.ID)
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
		bodies   delivery.Bodies
		accepted bool
		kept     bool
	}{{delivery.BodiesFailed, true, false}, {delivery.BodiesFailed, false, true}, {delivery.BodiesAll, true, true}} {
		r := newRig(t, options{Log: true, Bodies: c.bodies})
		r.log.Queued(notice(1), oldWay()).Done(delivery.Failed, delivery.Attempt{Error: "x"})
		id := r.list(delivery.Filter{})[0].ID
		r.update(func(tx *store.Tx) error { _, _, err := r.l.Retry(tx, id); return err })
		r.settle(id, c.accepted, time.Time{})
		rec := r.list(delivery.Filter{})[0]
		_, _, body, err := r.log.Record(t.Context(), id)
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

func TestEndedRecordsAreWrittenWithinASecond(t *testing.T) {
	r := newRig(t, options{Log: true})
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.stop(context.Background())
	slow := r.log.Queued(notice(1), oldWay())
	began := time.Now()
	r.log.Queued(notice(1), oldWay()).Done(delivery.Delivered, delivery.Attempt{})
	waitFor(t, func() bool { rec, found := r.record(slow.id + 1); return found && rec.State == delivery.Delivered })
	waitFor(t, func() bool { rec, found := r.record(slow.id); return found && rec.State == delivery.Pending })
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	slow.Done(delivery.Failed, delivery.Attempt{})
	waitFor(t, func() bool { rec, _ := r.record(slow.id); return rec.State == delivery.Failed })
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
	r := newRig(t, options{Log: true})
	for range 200 {
		r.log.Queued(notice(1), oldWay()).Done(delivery.Delivered, delivery.Attempt{})
	}
	before := r.s.Stats().Commits
	r.flush()
	if n := r.s.Stats().Commits - before; n != 1 {
		t.Errorf("%d commits", n)
	}
	if n := len(r.list(delivery.Filter{})); n != 200 {
		t.Errorf("%d records", n)
	}
}

func TestStopWritesWhatIsInMemory(t *testing.T) {
	r := newRig(t, options{Log: true})
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := r.log.Queued(notice(1), oldWay())
	e.Done(delivery.Dropped, delivery.Attempt{Error: "the program stops"})
	if err := r.stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rec, _ := r.record(e.id); rec.State != delivery.Dropped || rec.LastError != "the program stops" || rec.Attempts != 0 {
		t.Errorf("%+v", rec)
	}
}

func TestInFlightDeliveryOfKilledProcessIsDropped(t *testing.T) {
	r := newRig(t, options{Log: true})
	e := r.log.Queued(notice(1), oldWay())
	durable := r.emit(event.About{}, hook(event.OrderNone))
	r.flush()
	r.reopen()
	if rec, _ := r.record(e.id); rec.State != delivery.Dropped || rec.LastError != interrupted {
		t.Errorf("%+v", rec)
	}
	if rec, _ := r.record(durable.First()); rec.State != delivery.Pending {
		t.Errorf("%+v", rec)
	}
}

func TestDisabledLogKnowsOnlyPendingDeliveries(t *testing.T) {
	r := newRig(t, options{Log: true})
	r.log.Queued(notice(1), oldWay()).Done(delivery.Failed, delivery.Attempt{})
	e := r.emit(event.About{}, hook(event.OrderNone))
	r.flush()
	r.cfg.Log = false
	r.reopen()
	if entry := r.log.Queued(notice(1), oldWay()); entry != nil {
		t.Error("a record was begun")
	} else {
		entry.Done(delivery.Delivered, delivery.Attempt{})
	}
	page, err := r.log.List(t.Context(), delivery.Filter{}, "", 50)
	if err != nil || page.Total != 1 || len(page.Records) != 1 || page.Records[0].ID != e.First() {
		t.Errorf("%+v, %v", page, err)
	}
	if page, _ := r.log.List(t.Context(), delivery.Filter{States: []delivery.State{delivery.Failed}}, "", 50); page.Total != 0 || len(page.Records) != 0 {
		t.Errorf("%+v", page)
	}
	if _, _, _, err := r.log.Record(t.Context(), page.Records[0].ID-1); !errors.Is(err, delivery.ErrNotFound) {
		t.Errorf("a record of before: %v", err)
	}
	if _, err := r.log.Replays.Start(t.Context(), ReplayRequest{}); !errors.Is(err, delivery.ErrLogOff) {
		t.Errorf("replay: %v", err)
	}
	r.update(func(tx *store.Tx) error {
		if _, _, err := r.l.Retry(tx, e.First()-1); !errors.Is(err, delivery.ErrLogOff) {
			t.Errorf("retry of a record of before: %v", err)
		}
		return nil
	})
	r.settle(e.First(), true, time.Time{})
	if page, _ := r.log.List(t.Context(), delivery.Filter{}, "", 50); page.Total != 0 {
		t.Errorf("what ended is still there: %+v", page)
	}
}

func TestWriterOverflowIsCountedAndDoesNotBlock(t *testing.T) {
	r := newRig(t, options{Log: true})
	var wg sync.WaitGroup
	hold, held := make(chan struct{}), make(chan struct{})
	wg.Go(func() { // the file is busy
		_ = r.s.Update(context.Background(), func(*store.Tx) error { close(held); <-hold; return nil })
	})
	<-held
	var last *Entry
	for range maxBehind + 10 {
		if e := r.log.Queued(notice(1), oldWay()); e != nil {
			e.Done(delivery.Failed, delivery.Attempt{})
			last = e
		}
	}
	close(hold)
	wg.Wait()
	if n := r.log.LogDropped(); n == 0 || last == nil {
		t.Errorf("%d were dropped", n)
	}
	r.flush()
	sum, err := r.log.Counts(t.Context())
	if n := uint64(sum[delivery.Failed]) + r.log.LogDropped(); err != nil || n != maxBehind+10 {
		t.Errorf("%d records and %d dropped", sum[delivery.Failed], r.log.LogDropped())
	}
}

func TestAnswerIsCutToTwoKibibytes(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"no", "no"},
		{"\xff\xfe<html>", "\uFFFD<html>"},
		{strings.Repeat("é", delivery.MaxAnswer), strings.Repeat("é", delivery.MaxAnswer/2)},
		{"x" + strings.Repeat("é", delivery.MaxAnswer), "x" + strings.Repeat("é", delivery.MaxAnswer/2-1)},
		{strings.Repeat("\xff", 3*delivery.MaxAnswer), "\uFFFD"},
	} {
		got := delivery.CutAnswer(c.in)
		if got != c.want || !utf8.ValidString(got) || len(got) > delivery.MaxAnswer {
			t.Errorf("%d bytes became %d: %.20q", len(c.in), len(got), got)
		}
	}
	wild := strings.Repeat("a\xff", delivery.MaxAnswer)
	if got := delivery.CutAnswer(wild); !utf8.ValidString(got) || len(got) > delivery.MaxAnswer || len(got) < delivery.MaxAnswer-3 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestFullDiskCountsRecordsAndListsStillWork(t *testing.T) {
	r := newRig(t, options{Log: true})
	r.failed(1, 1)
	r.flush()
	if err := r.s.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.s, err = store.Open(store.Options{Path: r.path, Buckets: buckets(), NoSync: true, MinFree: 1 << 62}); err != nil {
		t.Fatal(err)
	}
	if r.l, r.log, err = r.cfg.open(r.s, nil); err != nil {
		t.Fatal(err)
	}
	r.failed(1, 3)
	if err := r.log.Flush(t.Context()); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("%v", err)
	}
	if n := r.log.LogDropped(); n != 3 {
		t.Errorf("%d were dropped", n)
	}
	if n := len(r.list(delivery.Filter{})); n != 1 {
		t.Errorf("%d records", n)
	}
	r.failed(1, 1)
	if err := r.stop(t.Context()); !errors.Is(err, store.ErrDiskFull) || r.log.LogDropped() != 4 {
		t.Errorf("stop: %v, %d were dropped", err, r.log.LogDropped())
	}
}

// TestFailedWriteIsRepeatedWithTheNext makes commits fail.
func TestFailedWriteIsRepeatedWithTheNext(t *testing.T) {
	r := newRig(t, options{Log: true})
	known := r.log.Queued(notice(1), oldWay())
	r.flush()
	fresh := r.log.Queued(notice(1), oldWay())
	no := errors.New("no")
	r.log.behind.written(r.log.behind.take(true), no) // fresh as pending
	known.Done(delivery.Failed, delivery.Attempt{Status: 500})
	r.log.behind.written(r.log.behind.take(true), no) // the end of known
	fresh.Done(delivery.Failed, delivery.Attempt{Status: 501})
	r.flush()
	for e, status := range map[*Entry]int{fresh: 501, known: 500} {
		if rec, found := r.record(e.id); !found || rec.State != delivery.Failed || rec.LastStatus != status {
			t.Errorf("%+v, %v", rec, found)
		}
	}
	if n := r.log.LogDropped(); n != 0 {
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
