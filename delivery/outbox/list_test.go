package outbox

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"postern/store"
)

// list returns the sequences of a list.
func list(t testing.TB, s *opened, q Query) (seqs []uint64) {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 10_000
	}
	for _, e := range view(t, s, func(tx *store.Tx) ([]Entry, error) { return List(tx, q) }) {
		if e.Body != nil {
			t.Errorf("entry %d was read with its body", e.Seq)
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

func TestAListBeginsAnywhereAndGoesBothWays(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	a, b := uuid.New(), uuid.New()
	emit(t, s, a, a, 4) // 1 to 4
	emit(t, s, b, b, 2) // 5 and 6
	for _, seq := range []uint64{2, 3, 6} {
		change(t, s, func(tx *store.Tx) error { return s.Ended(tx, seq, 1, 200) })
	}
	for _, c := range []struct {
		name string
		q    Query
		want []uint64
	}{
		{"all", Query{}, []uint64{1, 2, 3, 4, 5, 6}},
		{"all, newest first", Query{Reverse: true, Limit: 2}, []uint64{6, 5}},
		{"after", Query{From: 4}, []uint64{5, 6}},
		{"before", Query{From: 4, Reverse: true}, []uint64{3, 2, 1}},
		{"pending", Query{State: Pending}, []uint64{1, 4, 5}},
		{"pending before", Query{State: Pending, From: 5, Reverse: true}, []uint64{4, 1}},
		{"delivered after one that is not", Query{State: Delivered, From: 4}, []uint64{6}},
		{"disabled", Query{State: Disabled}, nil},
		{"of a batch", Query{Batch: a, From: 2}, []uint64{3, 4}},
		{"of a batch, newest first", Query{Batch: b, Reverse: true}, []uint64{6, 5}},
		{"behind the end", Query{From: 1 << 60}, nil},
		{"of another batch", Query{Batch: uuid.New()}, nil},
	} {
		if got := list(t, s, c.q); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if n := view(t, s, func(tx *store.Tx) (int, error) { return CountOfBatch(tx, a, 100) }); n != 4 {
		t.Errorf("the batch has %d entries", n)
	}
}

func TestDamagedEntryTakesNoPlaceInAList(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	emit(t, s, uuid.New(), uuid.New(), 4)
	change(t, s, func(tx *store.Tx) error { return tx.Put(entryRows, store.Key(uint64(2)), []byte{1}) })
	if got := list(t, s, Query{Limit: 2}); !slices.Equal(got, []uint64{1, 3}) {
		t.Errorf("%v", got)
	}
}

// journal is the expected state of an outbox.
type journal struct {
	state    map[uint64]State
	batch    map[uint64]uuid.UUID
	attempts map[uint64]int
	emitted  int
}

func (j *journal) in(state State) (seqs []uint64) {
	for seq, s := range j.state {
		if s == state {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return seqs
}

func (j *journal) pick() uint64 { return 1 + rand.Uint64N(uint64(j.emitted+1)) }

// TestListsCountsAndIndexesAgreeWhateverHappens does random things, also to entries that do not
// exist or have ended, and compares the file with a journal, before and after restarts.
func TestListsCountsAndIndexesAgreeWhateverHappens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	owner, batches := uuid.New(), []uuid.UUID{uuid.New(), uuid.New()}
	j := &journal{state: map[uint64]State{}, batch: map[uint64]uuid.UUID{}, attempts: map[uint64]int{}}
	for life := range 6 {
		disabled := life%3 == 2
		s := openTest(t, path, func(o *Outbox) { o.SetDelivery(!disabled) })
		for range 60 {
			j.step(t, s, owner, batches[rand.IntN(2)], disabled)
		}
		j.compare(t, s, owner, batches)
		_ = s.Close()
	}
	s := openTest(t, path)
	j.compare(t, s, owner, batches)
}

func (j *journal) step(t *testing.T, s *opened, owner, batch uuid.UUID, disabled bool) {
	t.Helper()
	seq := j.pick()
	switch rand.IntN(4) {
	case 0, 1:
		emit(t, s, owner, batch, 1)
		j.emitted++
		added := uint64(j.emitted)
		j.batch[added], j.state[added] = batch, Pending
		if disabled {
			j.state[added] = Disabled
		}
	case 2:
		change(t, s, func(tx *store.Tx) error { return s.Ended(tx, seq, 1, 200) })
		if j.state[seq] == Pending {
			j.state[seq] = Delivered
			j.attempts[seq]++
		}
	case 3:
		change(t, s, func(tx *store.Tx) error { _, err := s.Remove(tx, []uint64{seq}); return err })
		if j.state[seq] != Pending {
			delete(j.state, seq)
		}
	}
}

func (j *journal) compare(t *testing.T, s *opened, owner uuid.UUID, batches []uuid.UUID) {
	t.Helper()
	counts := s.Counts()
	for _, state := range []State{Pending, Delivered, Disabled} {
		want := j.in(state)
		if got := list(t, s, Query{State: state}); !slices.Equal(got, want) || counts.Of(state) != len(want) {
			t.Fatalf("%s: %v, counted %d, want %v", state, got, counts.Of(state), want)
		}
	}
	if got := list(t, s, Query{}); len(got) != len(j.state) || counts.Of("") != len(j.state) {
		t.Fatalf("%d entries, counted %d, want %d", len(got), counts.Of(""), len(j.state))
	}
	for _, batch := range batches {
		for _, seq := range list(t, s, Query{Batch: batch}) {
			e := view(t, s, func(tx *store.Tx) (Entry, error) { e, _, err := Get(tx, seq); return e, err })
			if j.batch[seq] != batch || e.Attempts != j.attempts[seq] || e.State != j.state[seq] || e.OwnerSeq != seq {
				t.Fatalf("entry %d: %+v, want state %s after %d attempts", seq, e, j.state[seq], j.attempts[seq])
			}
		}
	}
	newest := view(t, s, func(tx *store.Tx) (uint64, error) { return NewestOf(tx, owner) })
	if int(newest) != j.emitted {
		t.Fatalf("the owner's newest is %d of %d", newest, j.emitted)
	}
}

func TestRestartsAndPrunesLeaveNoHoles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	owner, batch := uuid.New(), uuid.New()
	for life := range uint64(3) {
		s := openTest(t, path)
		emit(t, s, owner, batch, 1)
		kept := view(t, s, func(tx *store.Tx) ([]Entry, error) { return Replay(tx, owner, 0, 10) })
		if len(kept) != 1 || kept[0].OwnerSeq != life+1 {
			t.Fatalf("life %d: %+v", life, kept)
		}
		change(t, s, func(tx *store.Tx) error { return s.Ended(tx, kept[0].Seq, 1, 200) })
		change(t, s, func(tx *store.Tx) error { _, err := s.Remove(tx, []uint64{kept[0].Seq}); return err })
		_ = s.Close()
	}
}

func TestPendingEntriesNeverExpire(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path, disabledDelivery)
	emit(t, s, uuid.New(), uuid.New(), 1)
	_ = s.Close()
	s = openTest(t, path)
	emit(t, s, uuid.New(), uuid.New(), 3)
	change(t, s, func(tx *store.Tx) error { return s.Ended(tx, 3, 1, 200) })
	future := time.Now().Add(1000 * time.Hour)
	for state, want := range map[State][]uint64{Pending: nil, Delivered: {3}, Disabled: {1}} {
		if got, _ := expiredOf(t, s, state, 0, future, 10); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", state, got, want)
		}
		if got, _ := expiredOf(t, s, state, 0, time.Now().Add(-time.Minute), 10); got != nil {
			t.Errorf("%s: %v are young", state, got)
		}
	}
	change(t, s, func(tx *store.Tx) error {
		n, err := s.Remove(tx, []uint64{1, 2, 3, 4, 99})
		if n != 2 {
			t.Errorf("%d removed", n)
		}
		return err
	})
	if got := list(t, s, Query{}); !slices.Equal(got, []uint64{2, 4}) {
		t.Errorf("left: %v", got)
	}
}

func FuzzDecodeStatus(f *testing.F) {
	f.Add(encodeStatus(status{Attempts: 3, Status: 503, Next: 5, Delivered: 6, Error: "busy"}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := decodeStatus(raw)
		if err == nil && len(raw) > 0 && string(encodeStatus(s)) != string(raw) {
			t.Errorf("%x became %+v", raw, s)
		}
	})
}
