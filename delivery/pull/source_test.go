package pull

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/outbox"
	"postern/delivery/stream"
	"postern/event"
	"postern/store"
)

// allRig is a data file with events of instances and batches, and a clock.
type allRig struct {
	t     *testing.T
	store *store.Store
	box   *outbox.Outbox
	all   *Consumers
	owner uuid.UUID
	ahead time.Duration
	gone  map[int64]bool // deleted instances
}

func newAllRig(t *testing.T) *allRig {
	t.Helper()
	r := &allRig{t: t, owner: uuid.New(), gone: map[int64]bool{}}
	s, err := store.Open(store.Options{
		Path: filepath.Join(t.TempDir(), "postern.db"), Buckets: append(delivery.Buckets(), Buckets()...), NoSync: true, MinFree: 1,
		Now: func() time.Time { return time.Now().Add(r.ahead) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r.store = s
	if r.box, err = outbox.Open(s); err != nil {
		t.Fatal(err)
	}
	there := func(_ *store.Tx, id int64) error {
		if r.gone[id] {
			return errors.New("deleted")
		}
		return nil
	}
	r.all = New(s, there, r.box.Emitted, slog.New(slog.DiscardHandler))
	return r
}

func (r *allRig) change(fn func(tx *store.Tx) error) {
	r.t.Helper()
	if err := r.store.Update(r.t.Context(), fn); err != nil {
		r.t.Fatal(err)
	}
}

func (r *allRig) batch(id uuid.UUID) {
	r.t.Helper()
	r.change(func(tx *store.Tx) error {
		return r.box.Emit(tx, outbox.Emission{Kind: event.BatchCreated, Owner: r.owner, Batch: id, Data: 1})
	})
}

func (r *allRig) instance(id int64, age time.Duration) {
	r.t.Helper()
	r.change(func(tx *store.Tx) error {
		return stream.Add(tx, stream.Row{Kind: event.MessagesUpsert, Instance: id, CreatedAt: tx.Now(), ExpiresAt: tx.Steady().Add(age), Body: []byte("{}")})
	})
}

// numbers returns the rows of the stream, a minus before those without a body.
func (r *allRig) numbers() (all []int) {
	r.t.Helper()
	err := r.store.View(func(tx *store.Tx) error {
		return stream.After(tx, 0, func(row stream.Row) (bool, error) {
			n := int(row.Number)
			if row.Outbox == 0 && len(row.Body) == 0 {
				n = -n
			}
			all = append(all, n)
			return true, nil
		})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

func (r *allRig) wantRows(want string) {
	r.t.Helper()
	if got := fmt.Sprint(r.numbers()); got != want {
		r.t.Errorf("rows %s, not %s", got, want)
	}
}

func (r *allRig) trim() {
	r.t.Helper()
	if err := r.all.trim(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *allRig) pull() (Page, error) {
	return r.all.Pull(r.t.Context(), All, "crm", Request{Limit: MaxLimit, Wants: Wanted(nil)}, func() error { return nil })
}

func (r *allRig) want(sequences string) {
	r.t.Helper()
	p, err := r.pull()
	var got []uint64
	for _, i := range p.Items {
		got = append(got, i.Sequence)
	}
	if err != nil || fmt.Sprint(got) != sequences {
		r.t.Errorf("%v %v, not %s", got, err, sequences)
	}
}

func (r *allRig) wantGone(oldest uint64) {
	r.t.Helper()
	var gone *GoneError
	if p, err := r.pull(); !errors.As(err, &gone) || gone.Oldest != oldest {
		r.t.Errorf("%v %v, not gone until %d", p, err, oldest)
	}
}

func (r *allRig) ack(sequence uint64) {
	r.t.Helper()
	if _, err := r.all.Ack(r.t.Context(), All, "crm", sequence); err != nil {
		r.t.Fatal(err)
	}
}

// remove removes entries of the outbox as the retention does.
func (r *allRig) remove(seqs ...uint64) {
	r.t.Helper()
	r.change(func(tx *store.Tx) error {
		_, err := r.box.Remove(tx, seqs)
		return err
	})
}

// TestPendingBatchEventHoldsNoMessagesBack: the bodies behind it go at their age, and consumers that need them get
// GoneError.
func TestPendingBatchEventHoldsNoMessagesBack(t *testing.T) {
	r := newAllRig(t)
	r.batch(uuid.New())
	r.want("[1]")
	r.instance(1, time.Hour)
	r.instance(1, time.Hour)
	r.batch(uuid.New())
	r.trim()
	r.wantRows("[1 2 3 4]")
	r.ahead += 2 * time.Hour
	r.instance(1, time.Hour)
	r.trim()
	r.wantRows("[1 4 5]")
	r.want("[1]")
	r.ack(1)
	r.wantGone(4)
	if _, err := r.all.Seek(t.Context(), All, "crm", 3); err != nil {
		t.Fatal(err)
	}
	r.want("[4 5]")
	r.ahead += 2 * time.Hour
	r.trim() // goes on where it stopped
	r.wantRows("[1 4]")
}

// TestRowsOfBatchEventsGoWithTheirEntries.
func TestRowsOfBatchEventsGoWithTheirEntries(t *testing.T) {
	r := newAllRig(t)
	r.box.SetDelivery(false)
	for range 3 {
		r.batch(uuid.New())
	}
	r.want("[1 2 3]")
	r.remove(1, 2)
	r.trim()
	r.wantRows("[3]")
	r.wantGone(3)
}

// TestEventsRemovedWithTheirBatchArePassedOver, as over a WebSocket; they are not lost.
func TestEventsRemovedWithTheirBatchArePassedOver(t *testing.T) {
	r := newAllRig(t)
	r.box.SetDelivery(false)
	batch := uuid.New()
	r.batch(uuid.New())
	r.batch(batch)
	r.batch(batch)
	r.batch(uuid.New())
	r.batch(uuid.New())
	r.want("[1 2 3 4 5]")
	r.change(func(tx *store.Tx) error {
		if err := r.box.Forget(tx, batch); err != nil {
			return err
		}
		_, _, err := r.box.Sweep(tx, batch, 0, 100, 100)
		return err
	})
	r.want("[1 4 5]")
	r.ack(1)
	r.remove(1)
	r.all.trimmed = 0
	r.trim()
	r.want("[4 5]")
	r.remove(4)
	r.all.trimmed = 0
	r.trim()
	r.wantRows("[5]")
	r.wantGone(5)
}

// TestSeekToTimePassesDeletedBatches, which have no times, and finds the first event of that time behind them. The
// oldest event that waits is not one of them either.
func TestSeekToTimePassesDeletedBatches(t *testing.T) {
	r := newAllRig(t)
	r.box.SetDelivery(false)
	at := make([]time.Time, 11) // by number
	deleted := uuid.New()
	for n := 1; n <= 10; n++ {
		r.ahead += time.Minute
		at[n] = r.store.Now().Truncate(time.Millisecond)
		if n >= 4 && n <= 8 {
			r.batch(deleted)
		} else {
			r.batch(uuid.New())
		}
	}
	r.change(func(tx *store.Tx) error {
		if err := r.box.Forget(tx, deleted); err != nil {
			return err
		}
		_, _, err := r.box.Sweep(tx, deleted, 0, 100, 100)
		return err
	})
	r.want("[1 2 3 9 10]")
	for n, want := range []string{1: "[1 2 3 9 10]", 2: "[2 3 9 10]", 3: "[3 9 10]", 4: "[9 10]", 6: "[9 10]", 9: "[9 10]", 10: "[10]"} {
		if want == "" {
			continue
		}
		s, err := r.all.SeekTime(t.Context(), All, "crm", at[n])
		if err != nil {
			t.Fatal(err)
		}
		r.want(want)
		if first := s.OldestWaiting; first.IsZero() || first.Before(at[n]) {
			t.Errorf("from event %d on, the oldest that waits is of %v", n, first)
		}
	}
	if s, err := r.all.SeekTime(t.Context(), All, "crm", at[10].Add(time.Minute)); err != nil || s.Position != 10 || !s.OldestWaiting.IsZero() {
		t.Errorf("%+v %v", s, err)
	}
}

// TestPassedOverRowsGoWithTheNextOne, so that the last events of an owner do not stay for ever.
func TestPassedOverRowsGoWithTheNextOne(t *testing.T) {
	r := newAllRig(t)
	r.box.SetDelivery(false)
	batch := uuid.New()
	r.batch(batch)
	r.owner = uuid.New()
	r.batch(uuid.New())
	r.batch(uuid.New())
	r.change(func(tx *store.Tx) error {
		if err := r.box.Forget(tx, batch); err != nil {
			return err
		}
		_, _, err := r.box.Sweep(tx, batch, 0, 100, 100)
		return err
	})
	r.trim()
	r.wantRows("[1 2 3]")
	r.remove(2)
	r.all.trimmed = 0
	r.trim()
	r.wantRows("[3]")
}

// TestLossBeforeTheOldestEventIsReported to a consumer that stands there, also after a further loss.
func TestLossBeforeTheOldestEventIsReported(t *testing.T) {
	r := newAllRig(t)
	r.instance(1, time.Minute)
	r.all.Lost(All)
	r.instance(1, time.Minute)
	r.want("[1]")
	if _, err := r.all.Seek(t.Context(), All, "crm", 1); err != nil { // passes the first loss
		t.Fatal(err)
	}
	r.ack(2)
	r.all.Lost(All)
	r.instance(1, time.Hour)
	r.ahead += 30 * time.Minute // 1 and 2 expire
	r.all.Lost(All)
	r.wantGone(3)
	err := r.store.View(func(tx *store.Tx) error {
		n, err := tx.CountSome(losses, store.Key(All), 10)
		if n != 2 {
			t.Errorf("%d losses are noted, not 2", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLossesWithoutRoomAreNotedLater without a pull: while the program runs, and when it stops.
func TestLossesWithoutRoomAreNotedLater(t *testing.T) {
	for name, later := range map[string]func(r *allRig){
		"runs": func(r *allRig) {
			r.t.Cleanup(r.all.Stop)
			noted := r.store.Woken()
			r.all.Start()
			select {
			case <-noted:
			case <-time.After(10 * time.Second):
				r.t.Error("not noted")
			}
		},
		"stops": func(r *allRig) { r.all.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newAllRig(t)
			r.want("[]")
			r.all.unnoted[All] = 1
			later(r)
			r.all = New(r.store, r.all.there, r.box.Emitted, r.all.log) // as after a kill
			r.wantGone(1)
		})
	}
}

// TestEventsGoWithTheirInstance at once for readers, and then from the file, also when a kill came between.
func TestEventsGoWithTheirInstance(t *testing.T) {
	r := newAllRig(t)
	r.instance(1, time.Hour)
	r.instance(2, time.Hour)
	r.want("[1 2]")
	r.gone[1] = true
	r.want("[2]")
	r.wantRows("[1 2]")
	r.all.Start() // as after a kill: no call says that an instance was deleted
	t.Cleanup(r.all.Stop)
	deadline := time.Now().Add(10 * time.Second)
	for fmt.Sprint(r.numbers()) != "[-1 2]" && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	r.wantRows("[-1 2]")
	r.want("[2]")
}

// TestEventsOfEarlierFileAreInTheStream: the batch events that it keeps, in their order, also when a kill ended the
// first start.
func TestEventsOfEarlierFileAreInTheStream(t *testing.T) {
	r := newAllRig(t)
	for range 3 {
		r.batch(uuid.New())
	}
	reopen := func() {
		t.Helper()
		if _, err := outbox.Open(r.store); err != nil {
			t.Fatal(err)
		}
	}
	reopen()
	r.wantRows("[1 2 3]")
	r.change(func(tx *store.Tx) error { return stream.Remove(tx, []uint64{1, 2, 3}) })
	reopen()
	r.wantRows("[4 5 6]")
	r.want("[4 5 6]")
	r.change(func(tx *store.Tx) error { return stream.Remove(tx, []uint64{6}) })
	reopen()
	r.wantRows("[4 5 7]")
	r.instance(1, time.Hour)
	reopen()
	r.wantRows("[4 5 7 8]")
}
