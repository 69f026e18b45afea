package pull

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

const shop = 7

// rig is a data file with a ledger and consumers.
type rig struct {
	t      testing.TB
	store  *store.Store
	ledger *delivery.Ledger
	all    *Consumers
}

func newRig(t testing.TB) *rig {
	t.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "postern.db"), Buckets: append(delivery.Buckets(), Buckets()...)})
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := delivery.Open(s, delivery.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = ledger.Stop(context.Background())
		_ = s.Close()
	})
	return &rig{t, s, ledger, New(s, func(*store.Tx, int64) error { return nil }, func() <-chan struct{} { return nil }, slog.New(slog.DiscardHandler))}
}

// emit stores an event with a body of so many bytes.
func (r *rig) emit(size int) {
	r.t.Helper()
	err := r.store.Update(r.t.Context(), func(tx *store.Tx) error {
		body := []byte(`{"text":"` + strings.Repeat("x", size) + `"}`)
		e := delivery.Event{Kind: event.MessagesUpsert, Instance: shop, Name: "shop", Body: body, ExpiresAt: tx.Steady().Add(time.Hour)}
		_, err := r.ledger.Emit(tx, e, true, nil)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) pull(q Request) (Page, error) {
	if q.Limit == 0 {
		q.Limit = MaxLimit
	}
	q.Wants = Wanted(nil)
	return r.all.Pull(r.t.Context(), shop, "crm", q, func() error { return nil })
}

func (r *rig) want(sequences string) {
	r.t.Helper()
	p, err := r.pull(Request{})
	var got []uint64
	for _, i := range p.Items {
		got = append(got, i.Sequence)
	}
	if err != nil || fmt.Sprint(got) != sequences {
		r.t.Errorf("%v %v, not %s", got, err, sequences)
	}
}

// TestEventsThatWereNotStoredAreALoss: the consumer gets GoneError when it reaches the place, until a seek.
func TestEventsThatWereNotStoredAreALoss(t *testing.T) {
	r := newRig(t)
	r.emit(1)
	r.want("[1]")
	r.all.Lost(shop)
	r.all.Lost(shop)
	r.emit(1)
	r.want("[1]") // what is before the loss
	if _, err := r.all.Ack(t.Context(), shop, "crm", 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var gone *GoneError
		if _, err := r.pull(Request{}); !errors.As(err, &gone) || gone.Oldest != 2 {
			t.Fatalf("%v", err)
		}
	}
	if _, err := r.all.Seek(t.Context(), shop, "crm", 1); err != nil {
		t.Fatal(err)
	}
	r.want("[2]")
	r.all.Lost(shop) // another one, at the end
	if _, err := r.all.Ack(t.Context(), shop, "crm", 2); err != nil {
		t.Fatal(err)
	}
	var gone *GoneError
	if _, err := r.pull(Request{Wait: time.Minute}); !errors.As(err, &gone) || gone.Oldest != 3 {
		t.Errorf("%v", err)
	}
	second, err := r.all.Pull(t.Context(), shop, "later", Request{Limit: 1, Wants: Wanted(nil), FromNow: true}, nil)
	if err != nil || len(second.Items) > 0 {
		t.Errorf("a consumer that begins after the loss: %v %v", second, err)
	}
}

// TestLossOfACommitSurvivesAKill, since the commit of the cause has it.
func TestLossOfACommitSurvivesAKill(t *testing.T) {
	r := newRig(t)
	r.emit(1)
	r.want("[1]")
	failed := errors.New("the commit fails")
	for _, outcome := range []error{failed, nil} {
		err := r.store.Update(t.Context(), func(tx *store.Tx) error { return errors.Join(r.all.NoteLost(tx, shop, 2), outcome) })
		if !errors.Is(err, outcome) {
			t.Fatal(err)
		}
		if outcome != nil {
			r.ack(1)
			r.want("[]")
		}
	}
	r.all = New(r.store, r.all.there, r.all.emitted, r.all.log) // nothing was in memory
	r.wantGone(2)
	r.emit(1)
	r.wantGone(2)
	if _, err := r.all.Seek(t.Context(), shop, "crm", 1); err != nil {
		t.Fatal(err)
	}
	r.want("[2]")
}

// TestPageHasFourMebibytes of bodies, but one event at least.
func TestPageHasFourMebibytes(t *testing.T) {
	r := newRig(t)
	for _, size := range []int{5 << 20, 2 << 20, 3 << 20, 1 << 10} {
		r.emit(size)
	}
	for position, want := range []string{"[1]", "[2]", "[3 4]"} {
		r.want(want)
		p, _ := r.pull(Request{})
		if more := position < 2; p.More != more {
			t.Errorf("%s: more %v", want, p.More)
		}
		if _, err := r.all.Ack(t.Context(), shop, "crm", p.Next); err != nil {
			t.Fatal(err)
		}
	}
	r.want("[]")
}

// TestSixtyFourPullsOfAnInstanceWait, and the next one is refused.
func TestSixtyFourPullsOfAnInstanceWait(t *testing.T) {
	r := newRig(t)
	r.want("[]")
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range MaxWaiting {
		waiting.Go(func() {
			_, _ = r.all.Pull(ctx, shop, "crm", Request{Limit: 1, Wait: time.Minute, Wants: Wanted(nil)}, func() error { return nil })
		})
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		r.all.mu.Lock()
		n := r.all.waiting[shop]
		r.all.mu.Unlock()
		if n == MaxWaiting || time.Now().After(deadline) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := r.pull(Request{Wait: time.Minute}); !errors.Is(err, ErrManyWaiting) {
		t.Errorf("%v", err)
	}
	if p, err := r.all.Pull(ctx, shop+1, "crm", Request{Limit: 1, Wait: time.Millisecond, Wants: Wanted(nil)}, func() error { return nil }); err != nil {
		t.Errorf("of another instance: %v %v", p, err)
	}
	r.emit(1) // wakes them all
	waiting.Wait()
	cancel()
	if len(r.all.waiting) > 0 {
		t.Errorf("still counted: %v", r.all.waiting)
	}
}

// kind stores an event of a kind.
func (r *rig) kind(k event.Kind) {
	r.t.Helper()
	err := r.store.Update(r.t.Context(), func(tx *store.Tx) error {
		e := delivery.Event{Kind: k, Instance: shop, Name: "shop", Body: []byte(`{}`), ExpiresAt: tx.Steady().Add(time.Hour)}
		_, err := r.ledger.Emit(tx, e, true, nil)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) ack(sequence uint64) State {
	r.t.Helper()
	s, err := r.all.Ack(r.t.Context(), shop, "crm", sequence)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) wantGone(oldest uint64) {
	r.t.Helper()
	var gone *GoneError
	if p, err := r.pull(Request{}); !errors.As(err, &gone) || gone.Oldest != oldest {
		r.t.Errorf("%v %v, not gone until %d", p, err, oldest)
	}
}

// TestMoreMeansAnotherPullAnswersAtOnce: events that are not asked for do not count.
func TestMoreMeansAnotherPullAnswersAtOnce(t *testing.T) {
	r := newRig(t)
	only := Request{Limit: 2, Wants: Wanted([]event.Kind{event.MessagesUpsert})}
	pull := func() Page {
		t.Helper()
		p, err := r.all.Pull(t.Context(), shop, "crm", only, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	r.emit(1)
	r.emit(1)
	r.kind(event.PresenceUpdated)
	if p := pull(); len(p.Items) != 2 || p.More || p.Next != 2 {
		t.Errorf("%d events, more %v, next %d", len(p.Items), p.More, p.Next)
	}
	r.emit(1)
	if p := pull(); len(p.Items) != 2 || !p.More || p.Next != 2 {
		t.Errorf("with one more: %d events, more %v, next %d", len(p.Items), p.More, p.Next)
	}
}

// TestPageIsNoLargerThanFourMebibytes with what is written around the bodies.
func TestPageIsNoLargerThanFourMebibytes(t *testing.T) {
	r := newRig(t)
	for range 1000 {
		r.emit(4100)
	}
	p, err := r.pull(Request{})
	size := 0
	for _, i := range p.Items {
		size += len(i.Body) + 200
	}
	if err != nil || size > 4<<20 || !p.More {
		t.Errorf("%d events, %d bytes, more %v: %v", len(p.Items), size, p.More, err)
	}
}

// TestSeekPassesNoLossThatIsAhead: it is reported when the consumer comes to it.
func TestSeekPassesNoLossThatIsAhead(t *testing.T) {
	r := newRig(t)
	r.emit(1)
	r.emit(1)
	r.want("[1 2]")
	r.all.Lost(shop)
	r.emit(1)
	for _, seek := range []func() (State, error){
		func() (State, error) { return r.all.Seek(t.Context(), shop, "crm", 0) },
		func() (State, error) { return r.all.Seek(t.Context(), shop, "crm", 1) },
		func() (State, error) { return r.all.SeekTime(t.Context(), shop, "crm", time.Unix(1, 0)) },
	} {
		if _, err := seek(); err != nil {
			t.Fatal(err)
		}
		r.ack(2)
		r.wantGone(3)
		if err := r.all.Delete(t.Context(), shop, "crm"); err != nil {
			t.Fatal(err)
		}
		r.want("[1 2]") // a consumer that is made after the loss
		r.ack(2)
		r.wantGone(3)
		if err := r.all.Delete(t.Context(), shop, "crm"); err != nil {
			t.Fatal(err)
		}
		r.want("[1 2]")
	}
	r.ack(2)
	r.wantGone(3)
	if _, err := r.all.Seek(t.Context(), shop, "crm", 0); err != nil {
		t.Fatal(err)
	}
	r.want("[1 2 3]") // this consumer knows
}

// TestSeekToTimeNeverPrecedesAHole: the next event is one that is kept.
func TestSeekToTimeNeverPrecedesAHole(t *testing.T) {
	r := newRig(t)
	for range 3 {
		r.emit(1)
		time.Sleep(2 * time.Millisecond) // a time of its own
	}
	r.want("[1 2 3]")
	err := r.store.Update(t.Context(), func(tx *store.Tx) error { return tx.Delete("delivery_position", store.Key(shop, 2)) })
	if err != nil {
		t.Fatal(err)
	}
	var third time.Time
	err = r.store.View(func(tx *store.Tx) error {
		return delivery.EachAfter(tx, shop, 2, func(e delivery.Event) bool { third = e.CreatedAt; return false })
	})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := r.all.SeekTime(t.Context(), shop, "crm", third); err != nil || s.Position != 2 {
		t.Errorf("%+v %v", s, err)
	}
	r.want("[3]")
	if s, err := r.all.SeekTime(t.Context(), shop, "crm", third.Add(time.Millisecond)); err != nil || s.Position != 3 {
		t.Errorf("%+v %v", s, err)
	}
}

// TestAckBelowThePositionChangesNothing, not even when the consumer acknowledged last.
func TestAckBelowThePositionChangesNothing(t *testing.T) {
	r := newRig(t)
	r.emit(1)
	r.emit(1)
	r.want("[1 2]")
	before := r.ack(2)
	time.Sleep(2 * time.Millisecond)
	if after := r.ack(1); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	if after := r.ack(2); !after.LastAck.After(before.LastAck) {
		t.Errorf("an acknowledgement of the position itself: %+v after %+v", after, before)
	}
}

// TestDeletedConsumersLeaveNothingInMemory, so that names that are used once cost nothing.
func TestDeletedConsumersLeaveNothingInMemory(t *testing.T) {
	r := newRig(t)
	r.want("[]")
	if err := r.all.Delete(t.Context(), shop, "crm"); err != nil {
		t.Fatal(err)
	}
	if len(r.all.pulled) > 0 {
		t.Errorf("%v", r.all.pulled)
	}
}

// TestSeekAndDeletionEndAWait of a pull of the same consumer.
func TestSeekAndDeletionEndAWait(t *testing.T) {
	r := newRig(t)
	r.emit(1)
	r.want("[1]")
	r.ack(1)
	type outcome struct {
		Page
		err error
	}
	ended := make(chan outcome, 1)
	wait := func() {
		t.Helper()
		go func() {
			p, err := r.pull(Request{Wait: time.Minute})
			ended <- outcome{p, err}
		}()
		for {
			r.all.mu.Lock()
			n := r.all.waiting[shop]
			r.all.mu.Unlock()
			if n == 1 {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	next := func() outcome {
		t.Helper()
		select {
		case o := <-ended:
			return o
		case <-time.After(10 * time.Second):
			t.Fatal("still waiting")
			return outcome{}
		}
	}
	wait()
	if _, err := r.all.Seek(t.Context(), shop, "crm", 0); err != nil {
		t.Fatal(err)
	}
	if o := next(); o.err != nil || len(o.Items) != 1 {
		t.Errorf("after a seek: %+v", o)
	}
	r.ack(1)
	wait()
	if err := r.all.Delete(t.Context(), shop, "crm"); err != nil {
		t.Fatal(err)
	}
	if o := next(); !errors.Is(o.err, ErrNotFound) {
		t.Errorf("after the deletion: %+v", o)
	}
}
