package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

func emit(t testing.TB, s *opened, owner, batch uuid.UUID, n int) {
	t.Helper()
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		for range n {
			data := event.BatchItemData{BatchID: batch.String(), Recipient: "<&>"}
			if err := s.Emit(tx, Emission{Kind: event.BatchItemFailed, Owner: owner, Batch: batch, Data: data}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func view[T any](t testing.TB, s *opened, fn func(tx *store.Tx) (T, error)) (v T) {
	t.Helper()
	err := s.View(func(tx *store.Tx) (err error) {
		v, err = fn(tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func change(t testing.TB, s *opened, fn func(tx *store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func TestEntryIsInTheCommitWithFinalBytes(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	owner, batch := uuid.New(), uuid.New()
	wake := s.Emitted()
	var at time.Time
	change(t, s, func(tx *store.Tx) error {
		at = tx.Now()
		return s.Emit(tx, Emission{Kind: event.BatchItemUnknown, Owner: owner, Batch: batch, Data: map[string]string{"k": "<é&>"}})
	})
	select {
	case <-wake:
	default:
		t.Error("the commit did not wake the reader")
	}
	entries := view(t, s, func(tx *store.Tx) ([]Entry, error) { return After(tx, 0, 10) })
	body := []byte(`{"event":"message.batch.item.unknown","data":{"k":"<é&>"},"timestamp":"` + event.At(at).String() + `"}`)
	want := []Entry{{
		Seq: 1, Kind: event.BatchItemUnknown, Owner: owner, Batch: batch, OwnerSeq: 1, CreatedAt: at,
		Body: body, State: Pending, NextAttemptAt: at,
	}}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Error(diff)
	}
}

func TestAFailedChangeEmitsNothing(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	wake := s.Emitted()
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		if err := s.Emit(tx, Emission{Kind: event.BatchCreated, Data: 1}); err != nil {
			return err
		}
		return context.Canceled
	})
	if err == nil {
		t.Fatal("no error")
	}
	select {
	case <-wake:
		t.Error("woken by a failed change")
	default:
	}
	if n := view(t, s, func(tx *store.Tx) (uint64, error) { return newest(tx), nil }); n != 0 {
		t.Errorf("newest is %d", n)
	}
}

func TestOwnerSequencesHaveNoHoles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openTest(t, path)
	a, b := uuid.New(), uuid.New()
	for range 3 {
		emit(t, s, a, uuid.New(), 2)
		emit(t, s, b, uuid.New(), 1)
		_ = s.Update(t.Context(), func(tx *store.Tx) error { // fails, and must not use up a number
			_ = s.Emit(tx, Emission{Kind: event.BatchCreated, Owner: a, Data: 1})
			return context.Canceled
		})
	}
	_ = s.Close()
	s = openTest(t, path)
	for owner, n := range map[uuid.UUID]uint64{a: 6, b: 3} {
		entries := view(t, s, func(tx *store.Tx) ([]Entry, error) { return Replay(tx, owner, 0, 100) })
		for i, e := range entries {
			if e.OwnerSeq != uint64(i+1) || e.Owner != owner {
				t.Errorf("entry %d of %v has owner sequence %d", i, owner, e.OwnerSeq)
			}
		}
		if newest := view(t, s, func(tx *store.Tx) (uint64, error) { return NewestOf(tx, owner) }); newest != n || len(entries) != int(n) {
			t.Errorf("newest %d, %d entries, want %d", newest, len(entries), n)
		}
	}
	if got := view(t, s, func(tx *store.Tx) ([]Entry, error) { return Replay(tx, a, 4, 1) }); len(got) != 1 || got[0].OwnerSeq != 5 {
		t.Errorf("after 4: %v", got)
	}
}

func TestAnEntryEndsOnce(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	emit(t, s, uuid.New(), uuid.New(), 2)
	change(t, s, func(tx *store.Tx) error { return s.Ended(tx, 1, 2, 204) })
	change(t, s, func(tx *store.Tx) error { return s.Ended(tx, 1, 3, 200) }) // a straggler
	change(t, s, func(tx *store.Tx) error { return s.Ended(tx, 99, 1, 200) })
	e := view(t, s, func(tx *store.Tx) (Entry, error) { e, _, err := Get(tx, 1); return e, err })
	if e.State != Delivered || e.Attempts != 2 || e.LastStatus != 204 || e.DeliveredAt.IsZero() || s.Counts() != (Counts{Pending: 1, Delivered: 1}) {
		t.Errorf("%+v, %+v", e, s.Counts())
	}
}

// TestADamagedEntryEnds: it was delivered, and counts as delivered.
func TestADamagedEntryEnds(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	emit(t, s, uuid.New(), uuid.New(), 2)
	change(t, s, func(tx *store.Tx) error {
		return errors.Join(tx.Put(entryRows, store.Key(uint64(1)), []byte{1}), s.Ended(tx, 1, 1, 200))
	})
	if got := list(t, s, Query{State: Pending}); len(got) != 1 || got[0] != 2 || s.Counts() != (Counts{Pending: 1, Delivered: 1}) {
		t.Errorf("pending: %v, %+v", got, s.Counts())
	}
}

func TestDisabledEntriesAreKeptButNeverPending(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"), disabledDelivery)
	owner, batch := uuid.New(), uuid.New()
	emit(t, s, owner, batch, 2)
	if got := list(t, s, Query{State: Pending}); len(got) != 0 {
		t.Errorf("pending: %v", got)
	}
	entries := view(t, s, func(tx *store.Tx) ([]Entry, error) { return OfBatch(tx, batch, 0, 10) })
	if len(entries) != 2 || entries[0].State != Disabled || !json.Valid(entries[0].Body) || !bytes.Contains(entries[0].Body, []byte("<&>")) {
		t.Errorf("entries: %+v", entries)
	}
}

func TestPruneRemovesOnlyOldFinishedEntries(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	owner, batch := uuid.New(), uuid.New()
	emit(t, s, owner, batch, 5)
	for _, seq := range []uint64{1, 2, 4} {
		change(t, s, func(tx *store.Tx) error { return s.Ended(tx, seq, 1, 200) })
	}
	var removed int
	prune := func(before time.Time) {
		removed = 0
		for next, more := uint64(0), true; more; more = next != 0 {
			var expired []uint64
			expired, next = expiredOf(t, s, Delivered, next, before, 2)
			change(t, s, func(tx *store.Tx) error {
				n, err := s.Remove(tx, expired)
				removed += n
				return err
			})
		}
	}
	if prune(time.Now().Add(-time.Hour)); removed != 0 {
		t.Errorf("removed %d young entries", removed)
	}
	if prune(time.Now().Add(time.Hour)); removed != 3 {
		t.Errorf("removed %d", removed)
	}
	for name, entries := range map[string][]Entry{
		"all":   view(t, s, func(tx *store.Tx) ([]Entry, error) { return After(tx, 0, 10) }),
		"owner": view(t, s, func(tx *store.Tx) ([]Entry, error) { return Replay(tx, owner, 0, 10) }),
		"batch": view(t, s, func(tx *store.Tx) ([]Entry, error) { return OfBatch(tx, batch, 0, 10) }),
	} {
		if len(entries) != 2 || entries[0].Seq != 3 || entries[1].Seq != 5 {
			t.Errorf("%s: %+v", name, entries)
		}
	}
	emit(t, s, owner, batch, 1)
	if newest := view(t, s, func(tx *store.Tx) (uint64, error) { return NewestOf(tx, owner) }); newest != 6 {
		t.Errorf("owner sequence after pruning: %d", newest)
	}
}

func expiredOf(t *testing.T, s *opened, state State, after uint64, before time.Time, limit int) (expired []uint64, next uint64) {
	t.Helper()
	err := s.View(func(tx *store.Tx) (err error) {
		expired, next, _, err = Expired(tx, state, after, before, limit)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return expired, next
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add(encodeEntry(Entry{Kind: event.BatchCreated, CreatedAt: time.UnixMilli(1), Body: []byte("{}"), State: Disabled}))
	f.Add(encodeEntry(Entry{Kind: event.BatchCreated, CreatedAt: time.UnixMilli(1), Body: []byte("{}"), Record: 1 << 40}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := decodeEntry(7, raw)
		if err != nil {
			return
		}
		known := raw[1+len(e.Kind)+48]&^(entryDisabled|entryRecorded) == 0 && raw[1+len(e.Kind)+48]&entryRecorded != 0 == (e.Record != 0)
		if e.CreatedAt.UnixMilli() >= 0 && known {
			if again := encodeEntry(e); !bytes.Equal(again, raw) {
				t.Errorf("%x became %x", raw, again)
			}
		}
	})
}

// TestARecordIsKeptWithItsEntry: the result of OnEmit's function is read with the entry, before
// its delivery and after; an older entry gets one later.
func TestARecordIsKeptWithItsEntry(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "o.db"))
	owner, batch := uuid.New(), uuid.New()
	emit(t, s, owner, batch, 1)
	s.OnEmit(func(_ *store.Tx, e Entry) (uint64, error) { return 100 + e.Seq, nil })
	emit(t, s, owner, batch, 1)
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		return errors.Join(SetRecord(tx, 1, 7), s.Ended(tx, 2, 1, 204), SetRecord(tx, 9, 1))
	})
	if err != nil {
		t.Fatal(err)
	}
	for seq, want := range map[uint64]uint64{1: 7, 2: 102} {
		e := view(t, s, func(tx *store.Tx) (Entry, error) {
			e, _, err := Get(tx, seq)
			return e, err
		})
		if e.Record != want || !json.Valid(e.Body) || e.State != map[uint64]State{1: Pending, 2: Delivered}[seq] {
			t.Errorf("entry %d: %+v", seq, e)
		}
	}
}

// TestATakenNumberIsNotGivenAgain, not even after the file was opened again.
func TestATakenNumberIsNotGivenAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "o.db")
	s := openTest(t, path)
	err := s.Update(t.Context(), func(tx *store.Tx) error { return errors.Join(tx.TakeID("thing", 41), tx.TakeID("thing", 7)) })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path)
	err = s.Update(t.Context(), func(tx *store.Tx) error {
		last, err := tx.LastID("thing")
		if id, errNext := tx.NextID("thing"); last != 41 || id != 42 {
			t.Errorf("last %d, next %d, %v", last, id, errNext)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedOwnerCounterRepeatsNoNumber(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "p.db"))
	owner, batch := uuid.New(), uuid.New()
	emit(t, s, uuid.New(), uuid.New(), 3)
	emit(t, s, owner, batch, 4)
	change(t, s, func(tx *store.Tx) error { return tx.Put(ownerRows, store.Key(owner), []byte("?")) })
	emit(t, s, owner, batch, 2)
	replayed := view(t, s, func(tx *store.Tx) ([]Entry, error) { return Replay(tx, owner, 0, 100) })
	var numbers []uint64
	for _, e := range replayed {
		numbers = append(numbers, e.OwnerSeq)
	}
	if want := []uint64{1, 2, 3, 4, 9, 10}; !slices.Equal(numbers, want) {
		t.Errorf("the owner's numbers are %v, want %v", numbers, want)
	}
}
