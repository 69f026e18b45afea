package logbook

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

// failed queues deliveries of an instance that failed at their one attempt.
func (r *rig) failed(instance int64, n int) (ids []uint64) {
	r.t.Helper()
	for range n {
		e := r.log.Queued(notice(instance), oldWay())
		e.Done(delivery.Failed, delivery.Attempt{StartedAt: time.Now(), Status: 500, Error: "receiver answered 500", RequestID: "first"})
		ids = append(ids, e.id)
	}
	return ids
}

// settings is what Resolve returns; a test may change it while it runs.
type settings struct {
	mu     sync.Mutex
	to     event.Destination
	status delivery.Status
	made   []delivery.Due
}

func (s *settings) config() options {
	return options{Log: true, ReplayRate: 10_000, Resolve: s.resolve, Made: func(_ delivery.Lane, dues []delivery.Due) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.made = append(s.made, dues...)
	}}
}

func (s *settings) resolve(delivery.Lane) (event.Destination, delivery.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to, s.status
}

func oldSettings() *settings { return &settings{to: oldWay(), status: delivery.Ready} }

func (r *rig) replay(q ReplayRequest) Replay {
	r.t.Helper()
	made, err := r.log.Replays.Start(r.t.(*testing.T).Context(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func (r *rig) replayNow(id uint64) Replay {
	r.t.Helper()
	got, err := r.log.Replays.Status(context.Background(), 0, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// turn makes the runner take one step.
func (r *rig) turn() int {
	r.t.Helper()
	n, err := r.log.Replays.repeatTurn(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func (r *rig) turns() {
	for r.turn() > 0 {
	}
}

// repeats returns the records that a replay made, the oldest first.
func (r *rig) repeats(replay uint64) (all []delivery.Listed) {
	for _, rec := range r.list(delivery.Filter{}) {
		if rec.Replay == replay {
			all = append(all, rec)
		}
	}
	slices.Reverse(all)
	return all
}

func TestAReplayRepeatsWhatFailedTheOldestFirst(t *testing.T) {
	s := oldSettings()
	r := newRig(t, s.config())
	lost := r.failed(1, 3)
	r.log.Queued(notice(1), oldWay()).Done(delivery.Delivered, delivery.Attempt{})
	r.failed(2, 2)
	got := r.replay(ReplayRequest{Instance: 1})
	if got.Matched != 3 || got.State != ReplayRunning || got.Sent != 0 {
		t.Fatalf("%+v", got)
	}
	r.turns()
	again := r.repeats(got.ID)
	if len(again) != 3 || len(s.made) != 3 {
		t.Fatalf("%d records, %v told", len(again), s.made)
	}
	for i, rec := range again {
		o, _ := r.record(lost[i])
		if rec.ReplayOf != o.ID || rec.EventID != o.EventID || rec.Lane != o.Lane || rec.RequestID == o.RequestID || rec.State != delivery.Pending || !rec.Once ||
			rec.Chat != o.Chat || rec.Name != o.Name || o.State != delivery.Failed || rec.Line != 0 {
			t.Errorf("%+v repeats %+v", rec.Record, o)
		}
		r.view(func(tx *store.Tx) error {
			_, e, found, err := r.l.Load(tx, rec.ID)
			if !found || string(e.Body) != string(notice(1).Body) || e.OwnerJID != notice(1).OwnerJID || e.ID != o.EventID {
				t.Errorf("what is sent: %+v, %v", e, found)
			}
			return err
		})
	}
	if got := r.due(delivery.Lane{Flow: delivery.FlowInstance, Instance: 1, Target: event.TargetWebhook}); len(got) != 3 {
		t.Errorf("%v are due", got)
	}
}

func TestTheNumbersOfAReplayAreExact(t *testing.T) {
	r := newRig(t, oldSettings().config())
	lost := r.failed(1, 3)
	id := r.replay(ReplayRequest{}).ID
	r.turns()
	again := r.repeats(id)
	check := func(want Replay) {
		t.Helper()
		got := r.replayNow(id)
		want.ID, want.CreatedAt, want.Matched, want.Sent = id, got.CreatedAt, 3, 3
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	check(Replay{State: ReplayRunning})
	r.settle(again[0].ID, true, time.Time{})
	check(Replay{Delivered: 1, State: ReplayRunning})
	r.reopen()
	r.settle(again[1].ID, false, time.Now().Add(time.Hour))
	check(Replay{Delivered: 1, Failed: 1, State: ReplayRunning})
	r.settle(again[2].ID, true, time.Time{})
	check(Replay{Delivered: 2, Failed: 1, State: ReplayDone})
	if o, _ := r.record(lost[0]); !o.Replayed || o.State != delivery.Failed {
		t.Errorf("%+v", o)
	}
	if o, _ := r.record(lost[1]); o.Replayed {
		t.Errorf("%+v", o)
	}
	// Delivered records are not repeated again, and records made by a replay never are.
	if got := r.replay(ReplayRequest{}); got.Matched != 1 {
		t.Errorf("%+v", got)
	}
	// A retry of a failed one counts for its replay.
	r.update(func(tx *store.Tx) error { _, _, err := r.l.Retry(tx, again[1].ID); return err })
	check(Replay{Delivered: 2, Failed: 1, State: ReplayDone})
	r.settle(again[1].ID, true, time.Time{})
	check(Replay{Delivered: 3, State: ReplayDone})
}

func TestAReplayMatchesWhatItsFiltersSelect(t *testing.T) {
	r := newRig(t, oldSettings().config())
	since := time.Now().UTC().Truncate(time.Millisecond)
	add := func(instance int64, kind event.Kind, to event.Destination, state delivery.State) uint64 {
		n := notice(instance)
		n.Kind = kind
		e := r.log.Queued(n, to)
		e.Done(state, delivery.Attempt{})
		return e.id
	}
	crm := "crm"
	to := oldWay()
	to.Target, to.Endpoint = event.TargetEndpoint, crm
	everywhere := oldWay()
	everywhere.Target = event.TargetGlobal
	add(1, event.MessagesUpsert, oldWay(), delivery.Failed)
	add(1, event.CallUpsert, oldWay(), delivery.Dropped)
	add(1, event.CallUpsert, to, delivery.Failed)
	add(1, event.MessagesUpsert, everywhere, delivery.Failed)
	add(1, event.MessagesUpsert, oldWay(), delivery.Delivered)
	add(2, event.MessagesUpsert, oldWay(), delivery.Failed)
	r.log.Queued(notice(1), oldWay())
	for name, c := range map[string]struct {
		q    ReplayRequest
		want int
	}{
		"all":                   {ReplayRequest{}, 5},
		"an instance":           {ReplayRequest{Instance: 1}, 4},
		"its own log":           {ReplayRequest{Instance: 1, NoGlobal: true}, 3},
		"a state":               {ReplayRequest{States: []delivery.State{delivery.Dropped}}, 1},
		"delivered, no body":    {ReplayRequest{States: []delivery.State{delivery.Delivered}}, 0},
		"events":                {ReplayRequest{Events: []event.Kind{event.CallUpsert, event.PresenceUpdated}}, 2},
		"a target":              {ReplayRequest{Target: event.TargetWebhook}, 3},
		"an endpoint":           {ReplayRequest{Endpoint: &crm}, 1},
		"from":                  {ReplayRequest{From: since}, 5},
		"from later":            {ReplayRequest{From: time.Now().Add(time.Hour)}, 0},
		"to before":             {ReplayRequest{To: since.Add(-time.Hour)}, 0},
		"at most":               {ReplayRequest{Limit: 2}, 2},
		"what waits is no part": {ReplayRequest{States: []delivery.State{delivery.Pending}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.replay(c.q)
			if got.Matched != c.want || (got.State == ReplayDone) != (c.want == 0) {
				t.Errorf("%+v, want %d", got, c.want)
			}
			if got, err := r.log.Replays.Cancel(t.Context(), 0, got.ID); err != nil || (got.State == ReplayDone) != (c.want == 0) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestSecondReplayOfAnInstanceIsRefused(t *testing.T) {
	r := newRig(t, oldSettings().config())
	r.failed(1, 1)
	r.failed(2, 1)
	first := r.replay(ReplayRequest{Instance: 1})
	if _, err := r.log.Replays.Start(t.Context(), ReplayRequest{Instance: 1}); !errors.Is(err, ErrReplayRuns) {
		t.Errorf("%v", err)
	}
	r.replay(ReplayRequest{Instance: 2}) // another one
	r.replay(ReplayRequest{})            // that of all is its own
	if _, err := r.log.Replays.Start(t.Context(), ReplayRequest{}); !errors.Is(err, ErrReplayRuns) {
		t.Errorf("%v", err)
	}
	if _, err := r.log.Replays.Cancel(t.Context(), 1, first.ID); err != nil {
		t.Fatal(err)
	}
	r.replay(ReplayRequest{Instance: 1})
	if _, err := r.log.Replays.Status(t.Context(), 2, first.ID); !errors.Is(err, delivery.ErrNotFound) {
		t.Errorf("a replay of another instance: %v", err)
	}
	if _, err := r.log.Replays.Cancel(t.Context(), 2, first.ID); !errors.Is(err, delivery.ErrNotFound) {
		t.Errorf("a replay of another instance: %v", err)
	}
}

func TestStoppedReplayCancelsPendingDeliveries(t *testing.T) {
	s := oldSettings()
	cfg := s.config()
	cfg.ReplayRate = 20 // two at a time
	var ended []delivery.Ended
	cfg.Ended = func(some []delivery.Ended) { ended = append(ended, some...) }
	r := newRig(t, cfg)
	r.failed(1, 5)
	id := r.replay(ReplayRequest{}).ID
	r.turn()
	r.settle(r.repeats(id)[0].ID, true, time.Time{})
	got, err := r.log.Replays.Cancel(t.Context(), 0, id)
	if err != nil || got.State != ReplayCancelled || got.Sent != 2 || got.Delivered != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	r.reopen() // a crash does not bring it back
	r.turns()
	if got := r.replayNow(id); got.State != ReplayCancelled || got.Sent != 2 || got.Delivered != 1 || got.Failed != 1 {
		t.Errorf("%+v", got)
	}
	if rec := r.repeats(id)[1]; rec.State != delivery.Cancelled || rec.LastError != delivery.ReasonReplay {
		t.Errorf("%+v", rec)
	}
	if len(ended) != 1 {
		t.Errorf("%+v were told", ended)
	}
	if got, err := r.log.Replays.Cancel(t.Context(), 0, id); err != nil || got.State != ReplayCancelled {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestReplayResumesAfterAKill ends the process after each of its commits: each record
// is repeated once.
func TestReplayResumesAfterAKill(t *testing.T) {
	cfg := oldSettings().config()
	cfg.ReplayRate = 30 // three at a time
	r := newRig(t, cfg)
	lost := r.failed(1, 20)
	id := r.replay(ReplayRequest{}).ID
	for more := true; more; {
		more = r.turn() > 0
		r.reopen()
	}
	again := r.repeats(id)
	var got []uint64
	for _, rec := range again {
		got = append(got, rec.ReplayOf)
		r.settle(rec.ID, true, time.Time{})
	}
	if !slices.Equal(got, lost) {
		t.Errorf("%v, want %v", got, lost)
	}
	if got := r.replayNow(id); got.State != ReplayDone || got.Matched != 20 || got.Sent != 20 || got.Delivered != 20 || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
}

func TestReplayFollowsTheCurrentDestination(t *testing.T) {
	s := oldSettings()
	r := newRig(t, s.config())
	r.failed(1, 1)
	for _, c := range []struct {
		name   string
		to     event.Destination
		status delivery.Status
		want   func(delivery.Record) bool
	}{
		{"durable", hook(event.OrderChat), delivery.Ready, func(r delivery.Record) bool {
			return r.State == delivery.Pending && !r.Once && r.ExpiresAt.Equal(r.CreatedAt.Add(time.Hour)) && r.Line != 0
		}},
		{"another URL", event.Destination{Target: event.TargetWebhook, URL: "https://b.example/x?y=z"}, delivery.Ready, func(r delivery.Record) bool {
			return r.State == delivery.Pending && r.Once && r.URL == "https://b.example/x"
		}},
		{"disabled", event.Destination{}, delivery.Paused, func(r delivery.Record) bool {
			return r.State == delivery.Pending && r.URL == "https://a.example:8443/in"
		}},
		{"removed", event.Destination{}, delivery.Gone, func(r delivery.Record) bool {
			return r.State == delivery.Cancelled && r.LastError == delivery.ReasonRemoved
		}},
	} {
		if c.status != delivery.Gone {
			s.to, s.status = c.to, c.status
		}
		id := r.replay(ReplayRequest{}).ID
		s.to, s.status = c.to, c.status // maybe removed since it was accepted
		r.turns()
		if all := r.repeats(id); len(all) != 1 || !c.want(all[0].Record) {
			t.Errorf("%s: %+v", c.name, all)
		}
		if got := r.replayNow(id); (got.State == ReplayDone) != (c.status == delivery.Gone) || got.Sent != 1 {
			t.Errorf("%s: %+v", c.name, got)
		}
		if _, err := r.log.Replays.Cancel(t.Context(), 0, id); err != nil {
			t.Error(err)
		}
		r.turns()
	}
}

// TestReplayKeepsTheOrderOfItsDestination, in lines of its own, also when it is killed
// between two of its commits.
func TestReplayKeepsTheOrderOfItsDestination(t *testing.T) {
	s := oldSettings()
	s.to = hook(event.OrderChat)
	cfg := s.config()
	cfg.ReplayRate = 20 // two at a time
	r := newRig(t, cfg)
	var lost []uint64
	for range 2 {
		for _, about := range []event.About{{Chat: "a@lid"}, {Chat: "b@s.whatsapp.net"}, {Chat: "a@s.whatsapp.net", LID: "a@lid"}} {
			e := r.emit(about, s.to)
			r.settle(e.First(), false, time.Time{})
			lost = append(lost, e.First())
		}
	}
	live := r.emit(event.About{Chat: "b@s.whatsapp.net"}, s.to)
	id := r.replay(ReplayRequest{}).ID
	for more := true; more; {
		more = r.turn() > 0
		r.reopen()
	}
	lane := delivery.Lane{Flow: delivery.FlowInstance, Instance: 1, Target: event.TargetWebhook}
	var order []uint64 // of the originals
	for due := r.due(lane); len(due) > 0; due = r.due(lane) {
		if len(due) > 3 { // one of each chat, and the live one
			t.Fatalf("%v may leave together", due)
		}
		first := due[len(due)-1] // the worst that the relay may do
		if rec, _ := r.record(first); rec.Replay == id {
			order = append(order, rec.ReplayOf)
		}
		r.settle(first, true, time.Time{})
	}
	at := func(n int) int { return slices.Index(order, lost[n]) }
	if len(order) != 6 || at(0) >= at(2) || at(2) >= at(3) || at(3) >= at(5) || at(1) >= at(4) {
		t.Errorf("%v is the order of the replays of %v", order, lost)
	}
	for _, d := range s.made {
		if rec, _ := r.record(d.Record); rec.ReplayOf != lost[0] && rec.ReplayOf != lost[1] {
			t.Errorf("the replay of %d came before its turn", rec.ReplayOf)
		}
	}
	if rec, _ := r.record(live.First()); rec.State != delivery.Delivered {
		t.Errorf("the live event: %+v", rec)
	}
}

func TestWhatIsGoneBeforeItsTurnHasFailed(t *testing.T) {
	r := newRig(t, oldSettings().config())
	lost := r.failed(1, 3)
	id := r.replay(ReplayRequest{}).ID
	r.update(func(tx *store.Tx) error {
		return errors.Join(r.l.Remove(tx, lost[0]), tx.Delete(bodies, store.Key(lost[1])))
	})
	r.turns()
	if got := r.replayNow(id); got.Sent != 1 || got.Failed != 2 || got.State != ReplayRunning {
		t.Errorf("%+v", got)
	}
	r.settle(r.repeats(id)[0].ID, true, time.Time{})
	if got := r.replayNow(id); got.Delivered != 1 || got.Failed != 2 || got.State != ReplayDone {
		t.Errorf("%+v", got)
	}
}

func TestAReplayKeepsTheEventThatItRepeats(t *testing.T) {
	r := newRig(t, oldSettings().config())
	e := r.emit(event.About{}, hook(event.OrderNone))
	r.settle(e.First(), false, time.Time{})
	id := r.replay(ReplayRequest{}).ID
	r.turns()
	again := r.repeats(id)
	if len(again) != 1 || again[0].EventSeq != e.Seq || again[0].OwnBody {
		t.Fatalf("%+v", again)
	}
	if err := r.log.remove(t.Context(), []uint64{e.First()}); err != nil { // the original goes first
		t.Fatal(err)
	}
	r.update(func(tx *store.Tx) error {
		_, _, err := r.l.Expire(tx, time.Now().Add(2*time.Hour), 10)
		return err
	})
	r.view(func(tx *store.Tx) error {
		_, kept, found, err := r.l.Load(tx, again[0].ID)
		if !found || string(kept.Body) != string(e.Body) {
			t.Errorf("%+v, %v", kept, found)
		}
		return err
	})
}

func TestReplaysTogetherKeepTheRate(t *testing.T) {
	cfg := oldSettings().config()
	cfg.ReplayRate = 100
	r := newRig(t, cfg)
	r.failed(1, 40)
	r.failed(2, 40)
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.stop(context.Background())
	began := time.Now()
	a, b := r.replay(ReplayRequest{Instance: 1}), r.replay(ReplayRequest{Instance: 2})
	sent := func() int { return r.replayNow(a.ID).Sent + r.replayNow(b.ID).Sent }
	waitFor(t, func() bool {
		n, took := sent(), time.Since(began)
		if most := int(took.Seconds()*100) + 10; n > most {
			t.Fatalf("%d after %s", n, took)
		}
		return n == 80
	})
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("80 records took %s", took)
	}
}

// TestARestartKeepsTheRateOfAReplay: what was repeated right before the restart counts.
func TestARestartKeepsTheRateOfAReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := oldSettings().config()
		cfg.ReplayRate = 1
		r := newRig(t, cfg)
		r.failed(1, 3)
		id := r.replay(ReplayRequest{}).ID
		for life := range 3 {
			if err := r.start(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(1200 * time.Millisecond)
			r.stop(context.Background())
			r.reopen()
			if sent := r.replayNow(id).Sent; sent != life+1 {
				t.Errorf("after %d lives of 1.2 s each %d were sent", life+1, sent)
			}
		}
	})
}
