package logbook

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/delivery"
	"postern/delivery/digest"
	"postern/event"
	"postern/store"
)

// TestPagesShowEachRecordOnceDuringChanges pages from one end to the other while records
// are made and removed. It sees each record that exists all the time once, in order, and none
// twice.
func TestPagesShowEachRecordOnceDuringChanges(t *testing.T) {
	for _, newer := range []bool{false, true} {
		rnd := rand.New(rand.NewPCG(7, 8))
		r := newRig(t, options{Log: true})
		there := r.failed(1, 300)
		f, at := delivery.Filter{Instance: 1}, ""
		if newer {
			at = cursor{newer: true, id: there[0] - 1 + 1}.String()
		}
		var seen []uint64
		gone := map[uint64]bool{}
		for {
			page, err := r.log.List(t.Context(), f, at, 1+rnd.IntN(20))
			if err != nil {
				t.Fatal(err)
			}
			got := page.ids()
			if newer {
				slices.Reverse(got)
			}
			seen = append(seen, got...)
			r.failed(1+rnd.Int64N(2), rnd.IntN(5))
			var some []uint64
			for range rnd.IntN(8) {
				id := there[rnd.IntN(len(there))]
				some, gone[id] = append(some, id), true
			}
			if n := len(page.Records); n > 0 && rnd.IntN(2) == 0 { // also that of the cursor
				id := page.Records[n-1].ID
				some, gone[id] = append(some, id), true
			}
			if err := r.log.remove(t.Context(), some); err != nil {
				t.Fatal(err)
			}
			if at = page.Next; newer {
				at = page.Previous
			}
			if at == "" || len(seen) > 2000 {
				break
			}
		}
		up := func(a, b uint64) bool { return newer == (a < b) && a != b }
		for i := 1; i < len(seen); i++ {
			if !up(seen[i-1], seen[i]) {
				t.Fatalf("newer %v: %d behind %d", newer, seen[i], seen[i-1])
			}
		}
		for _, id := range there[1:] {
			if !gone[id] && !slices.Contains(seen, id) {
				t.Errorf("newer %v: %d was there all the time, and was not shown", newer, id)
			}
		}
	}
}

func TestAStrangeCursorIsRefused(t *testing.T) {
	r := newRig(t, options{Log: true})
	for _, at := range []string{"x", "AAAA", cursor{id: 5}.String() + "A", cursor{id: 5}.String()[1:], cursor{}.String(), cursor{id: digest.MaxID}.String(), "\n" + cursor{id: 5}.String()} {
		if _, err := r.log.List(t.Context(), delivery.Filter{}, at, 10); !errors.Is(err, ErrCursor) {
			t.Errorf("%q: %v", at, err)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	f.Add(cursor{id: 5}.String())
	f.Add(cursor{id: 1 << 50, newer: true}.String())
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := parseCursor(text); err == nil && text != "" && c.String() != text {
			t.Errorf("%q became %q", text, c)
		}
	})
}

// TestFlippedBitShowsNoRecordOfAnotherInstance damages a row of the digest: lists show what
// the records state.
func TestFlippedBitShowsNoRecordOfAnotherInstance(t *testing.T) {
	r := newRig(t, options{Log: true})
	id := r.failed(1, 1)[0]
	r.failed(2, 1)
	r.flush()
	r.update(func(tx *store.Tx) error {
		key := store.Key(digest.BlockOf(id))
		block, err := tx.Get(digests, key)
		if err != nil {
			return err
		}
		block[8*(id%digest.BlockRows)+4]++ // instance 2
		return tx.Put(digests, key, block)
	})
	page, err := r.log.List(t.Context(), delivery.Filter{Instance: 2}, "", 10)
	if err != nil || len(page.Records) != 1 || page.Records[0].Instance != 2 || page.Total != 1 {
		t.Errorf("%+v, %v", page, err)
	}
	if got := r.replay(ReplayRequest{Instance: 2}); got.Matched != 1 {
		t.Errorf("%+v", got)
	}
	r.update(func(tx *store.Tx) error { return r.l.ForgetInstance(tx, 2) })
	r.sweep()
	if rec, found := r.record(id); !found || rec.Instance != 1 {
		t.Errorf("it went with another instance: %+v", rec)
	}
}

// TestADamagedBlockIsMadeAnew damages a block while the program runs: lists are correct at
// once, and the block is rebuilt soon after.
func TestADamagedBlockIsMadeAnew(t *testing.T) {
	r := newRig(t, options{Log: true})
	ids := r.failed(1, 3)
	r.flush()
	if err := r.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.stop(t.Context())
	r.update(func(tx *store.Tx) error { return tx.Put(digests, store.Key(digest.BlockOf(ids[0])), []byte("no")) })
	page, err := r.log.List(t.Context(), delivery.Filter{States: []delivery.State{delivery.Failed}, Instance: 1}, "", 10)
	if err != nil || page.Total != 3 || len(page.Records) != 3 {
		t.Errorf("%+v, %v", page, err)
	}
	waitFor(t, func() (whole bool) {
		r.view(func(tx *store.Tx) error {
			raw, err := tx.Get(digests, store.Key(digest.BlockOf(ids[0])))
			whole = len(raw) == digest.BlockSize
			return err
		})
		return whole
	})
}

func TestDamagedHashKeyIsReplacedWithAllRows(t *testing.T) {
	r := newRig(t, options{Log: true})
	r.failed(1, 60)
	last := r.failed(1, 1)[0]
	rec := r.emit(event.About{}, hook(event.OrderNone))
	r.settle(rec.First(), false, time.Now())
	_, now := r.settle(rec.First(), false, time.Now())
	r.flush()
	r.update(func(tx *store.Tx) error { return tx.Put(logs, []byte(digest.KeyName), []byte("short")) })
	r.reopen()
	for _, q := range []string{notice(1).About.Chat, now.RequestID} {
		want := 1
		if q == notice(1).About.Chat {
			want = 61
		}
		page, err := r.log.List(t.Context(), delivery.Filter{Query: q}, "", 10)
		if err != nil || page.Total != want {
			t.Errorf("%s: %d, %v", q, page.Total, err)
		}
	}
	if _, found := r.record(last); !found {
		t.Error("a record is gone")
	}
}

func TestTheTimesOfAFilterAreInclusive(t *testing.T) {
	r := newRig(t, options{Log: true})
	id := r.failed(1, 1)[0]
	r.flush()
	rec, _ := r.record(id)
	for _, c := range []struct {
		from, to time.Duration
		want     int
	}{{0, 0, 1}, {-time.Millisecond, time.Millisecond, 1}, {1, time.Hour, 0}, {-time.Hour, -1, 0}, {-time.Hour, 1, 1}} {
		page, err := r.log.List(t.Context(), delivery.Filter{From: rec.CreatedAt.Add(c.from), To: rec.CreatedAt.Add(c.to)}, "", 10)
		if err != nil || page.Total != c.want || len(page.Records) != c.want {
			t.Errorf("%s to %s: %d, %v", c.from, c.to, page.Total, err)
		}
	}
}

func TestDamagedCountersAreRecountedAtStart(t *testing.T) {
	r := newRig(t, options{Log: true})
	r.failed(1, 3)
	r.flush()
	r.update(func(tx *store.Tx) error { return tx.Put(logs, []byte("counts"), []byte("no")) })
	r.failed(1, 2)
	if page, err := r.log.List(t.Context(), delivery.Filter{}, "", 2); err != nil || page.Total != 5 || len(page.Records) != 2 {
		t.Errorf("%+v, %v", page, err)
	}
	r.reopen()
	if sum, err := r.log.Counts(t.Context()); err != nil || sum[delivery.Failed] != 5 {
		t.Errorf("%v, %v", sum, err)
	}
}

// TestFirstRequestIDIsFoundDespiteDamagedDigest: a second attempt finds the block
// damaged, which is then rebuilt from the contents of the file in that commit.
func TestFirstRequestIDIsFoundDespiteDamagedDigest(t *testing.T) {
	m := newRig(t, options{Log: true})
	var e delivery.Event
	m.update(func(tx *store.Tx) (err error) {
		e, err = m.l.Emit(tx, testEvent(1, event.About{}), true, []event.Destination{hook(event.OrderNone)})
		return err
	})
	ids := []string{uuid.NewString(), uuid.NewString()}
	for _, id := range ids {
		m.update(func(tx *store.Tx) error {
			return tx.Put(digests, store.Key(digest.BlockOf(e.First())), []byte("no rows"))
		})
		m.update(func(tx *store.Tx) error {
			_, _, err := m.l.Settle(tx, e.First(), delivery.Attempt{StartedAt: time.Now(), Status: 500, RequestID: id}, false, time.Now().Add(time.Minute))
			return err
		})
	}
	for _, id := range ids {
		page, err := m.log.List(t.Context(), delivery.Filter{Query: id}, "", 10)
		if err != nil || len(page.Records) != 1 {
			t.Errorf("%s: %d records, %v", id, len(page.Records), err)
		}
	}
}
