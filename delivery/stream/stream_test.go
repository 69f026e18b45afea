package stream

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

func openTest(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "s.db"), Buckets: Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func change(t *testing.T, s *store.Store, fn func(tx *store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func rows(t *testing.T, s *store.Store) (all []Row) {
	t.Helper()
	err := s.View(func(tx *store.Tx) error {
		return After(tx, 0, func(r Row) (bool, error) {
			all = append(all, r)
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestExpiryAscendsWithTheNumbers when maxAge becomes shorter, over rows of batch events.
func TestExpiryAscendsWithTheNumbers(t *testing.T) {
	s := openTest(t)
	now := time.UnixMilli(1_700_000_000_000).UTC()
	for _, r := range []Row{
		{ExpiresAt: now.Add(time.Hour), Kind: event.MessagesUpsert, Instance: 1},
		{Outbox: 1, Owner: uuid.New(), OwnerSeq: 1},
		{ExpiresAt: now.Add(time.Minute), Kind: event.MessagesUpsert, Instance: 2},
		{ExpiresAt: now.Add(2 * time.Hour), Kind: event.MessagesUpsert, Instance: 1},
	} {
		change(t, s, func(tx *store.Tx) error { return Add(tx, r) })
	}
	want := []time.Duration{1, 1, 1, 2}
	for i, r := range rows(t, s) {
		if r.Number != uint64(i+1) || !r.ExpiresAt.Equal(now.Add(want[i]*time.Hour)) {
			t.Errorf("row %d until %v, want %v", r.Number, r.ExpiresAt.Sub(now), want[i]*time.Hour)
		}
	}
}

// TestNumbersAreNeverGivenTwice: a failed commit uses none, and removed rows give none back.
func TestNumbersAreNeverGivenTwice(t *testing.T) {
	s := openTest(t)
	one := Row{Kind: event.MessagesUpsert, Instance: 1, Body: []byte("{}")}
	change(t, s, func(tx *store.Tx) error { return Add(tx, one) })
	failed := errors.New("the commit fails")
	err := s.Update(t.Context(), func(tx *store.Tx) error { return errors.Join(Add(tx, one), failed) })
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	change(t, s, func(tx *store.Tx) error { return Remove(tx, []uint64{1}) })
	change(t, s, func(tx *store.Tx) error { return Add(tx, one) })
	if all := rows(t, s); len(all) != 1 || all[0].Number != 2 {
		t.Errorf("%+v", all)
	}
}

// TestClearedRowsKeepTheirNumbers: only the bodies of the named rows go.
func TestClearedRowsKeepTheirNumbers(t *testing.T) {
	s := openTest(t)
	for range 2 {
		change(t, s, func(tx *store.Tx) error {
			return Add(tx, Row{Kind: event.MessagesUpsert, Instance: 1, Body: []byte(`{"secret":1}`)})
		})
	}
	change(t, s, func(tx *store.Tx) error { return Clear(tx, []uint64{1, 9}) })
	all := rows(t, s)
	if len(all) != 2 || len(all[0].Body) > 0 || all[0].Kind != event.MessagesUpsert || len(all[1].Body) == 0 {
		t.Errorf("%+v", all)
	}
}

// FuzzDecodeRow: what can be read is written in the same way.
func FuzzDecodeRow(f *testing.F) {
	at := time.UnixMilli(1_700_000_000_000)
	f.Add(Row{ExpiresAt: at, ID: uuid.New(), Instance: 7, CreatedAt: at, Kind: event.MessagesUpsert, Body: []byte("{}")}.encode())
	f.Add(Row{ExpiresAt: at, Outbox: 9, Owner: uuid.New(), OwnerSeq: 3}.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := decodeRow(store.Key(5), raw)
		if err != nil {
			return
		}
		again, err := decodeRow(store.Key(5), r.encode())
		if err != nil || !bytes.Equal(again.encode(), r.encode()) || again.Number != 5 {
			t.Errorf("%x: %+v became %+v: %v", raw, r, again, err)
		}
	})
}
