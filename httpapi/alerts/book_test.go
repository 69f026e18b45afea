package alerts

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"postern/store"
)

const anne = "4915112345678@s.whatsapp.net"

func there(*store.Tx, int64) error { return nil }

func newBook(t *testing.T) (*Book, *store.Store) {
	t.Helper()
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "t.db"), Buckets: Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return NewBook(s, nil), s
}

func marks(from, n int) (all []Mark) {
	for i := range n {
		var m Mark
		binary.BigEndian.PutUint64(m[:], uint64(from+i))
		all = append(all, m)
	}
	return all
}

// noteSent records marks as sent.
func (b *Book) noteSent(t *testing.T, to string, all []Mark) {
	t.Helper()
	n, err := b.Begin(t.Context(), 1, to, all, there)
	if err == nil {
		err = b.store.Update(t.Context(), n.Sent)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b *Book) known(t *testing.T, instance int64, to string, all []Mark) Known {
	t.Helper()
	k, err := b.Known(instance, to, all)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func rows(t *testing.T, s *store.Store) (n int) {
	t.Helper()
	err := s.View(func(tx *store.Tx) (err error) {
		n, err = tx.Count(bucket, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSentAlertsAreKnownForADay, by lookups and in the file.
func TestSentAlertsAreKnownForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := newBook(t)
		defer func() { _ = s.Close() }()
		b.Start()
		defer func() { _ = b.Stop(context.Background()) }()
		b.noteSent(t, anne, marks(0, 3))
		time.Sleep(Life / 2)
		b.noteSent(t, anne, marks(3, 2))
		time.Sleep(Life/2 - time.Second)
		if k := b.known(t, 1, anne, marks(0, 6)); len(k.New) != 1 || k.New[0] != 5 || k.Unknown != 0 {
			t.Errorf("within the day: %+v", k)
		}
		time.Sleep(2 * time.Second)
		if k := b.known(t, 1, anne, marks(0, 6)); len(k.New) != 4 {
			t.Errorf("a day later: %+v", k)
		}
		if k := b.known(t, 2, anne, marks(3, 1)); len(k.New) != 1 {
			t.Error("another instance knows it")
		}
		if k := b.known(t, 1, "others", marks(3, 1)); len(k.New) != 1 {
			t.Error("another recipient knows it")
		}
		time.Sleep(2 * Life)
		synctest.Wait()
		if n := rows(t, s); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// TestEndedRowsAreRemovedInSteps, including unreadable ones.
func TestEndedRowsAreRemovedInSteps(t *testing.T) {
	b, s := newBook(t)
	err := s.Update(t.Context(), func(tx *store.Tx) (err error) {
		old := row{sent: true, at: tx.Now().Add(-Life), marks: marks(0, 1)}
		ahead := row{sent: true, at: tx.Now().Add(Life + time.Hour), marks: marks(0, 1)}
		for i := range 3*pruneStep + 7 {
			err = errors.Join(err, tx.Put(bucket, store.Key(i, i, 1), old.encode()), tx.Put(bucket, store.Key(i, i, 2), ahead.encode()))
		}
		err = errors.Join(err, tx.Put(bucket, store.Key(9, 9, 9), []byte("nonsense")))
		fresh := row{sent: true, at: tx.Now(), marks: marks(0, 1)}
		return errors.Join(err, tx.Put(bucket, store.Key(77, 1, 1), fresh.encode()))
	})
	if err != nil {
		t.Fatal(err)
	}
	oldest, err := b.pruneOld(time.Time{})
	if n := rows(t, s); err != nil || n != 1 || time.Since(oldest) > time.Hour {
		t.Errorf("%d rows, %v, %v", n, oldest, err)
	}
}

// TestTheCheckTellsOfWhatCannotBeRead and of nothing else.
func TestTheCheckTellsOfWhatCannotBeRead(t *testing.T) {
	b, s := newBook(t)
	b.noteSent(t, anne, marks(0, 3))
	if r, err := s.Check(t.Context()); err != nil || len(r.Faults) > 0 {
		t.Errorf("%q, %v", r.Faults, err)
	}
	err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Put(bucket, store.Key(9, 9, 9), []byte("nonsense")) })
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Check(t.Context()); err != nil || len(r.Faults) != 1 || !strings.Contains(r.Faults[0], "an alert may be sent again") {
		t.Errorf("%q, %v", r.Faults, err)
	}
}

// TestWhatIsRememberedOfARecipientIsBounded: the oldest rows are removed first.
func TestWhatIsRememberedOfARecipientIsBounded(t *testing.T) {
	b, s := newBook(t)
	for i := range MaxKept/MaxAlerts + 3 {
		b.noteSent(t, anne, marks(i*MaxAlerts, MaxAlerts))
	}
	if n := rows(t, s); n != MaxKept/MaxAlerts {
		t.Errorf("%d rows", n)
	}
	if k := b.known(t, 1, anne, marks(0, 4*MaxAlerts)); len(k.New) != 3*MaxAlerts || k.New[0] != 0 {
		t.Errorf("%d are new", len(k.New))
	}
}

// TestWhatDidNotLeaveIsForgotten, and a text about to be sent counts, as unknown.
func TestWhatDidNotLeaveIsForgotten(t *testing.T) {
	b, s := newBook(t)
	n, err := b.Begin(t.Context(), 1, anne, marks(0, 2), there)
	if err != nil {
		t.Fatal(err)
	}
	if k := b.known(t, 1, anne, marks(0, 3)); len(k.New) != 1 || k.Unknown != 2 {
		t.Errorf("under way: %+v", k)
	}
	if err := n.Undo(t.Context()); err != nil || rows(t, s) != 0 {
		t.Error(err)
	}
	gone := errors.New("gone")
	if _, err := b.Begin(t.Context(), 1, anne, marks(0, 2), func(*store.Tx, int64) error { return gone }); !errors.Is(err, gone) || rows(t, s) != 0 {
		t.Errorf("of an instance that is gone: %v", err)
	}
	none, err := b.Begin(t.Context(), 1, anne, nil, there)
	if err = errors.Join(err, s.Update(t.Context(), none.Sent), none.Undo(t.Context())); err != nil || none != nil || rows(t, s) != 0 {
		t.Errorf("nothing to remember: %v", err)
	}
	b.noteSent(t, anne, marks(0, 1))
	if err := s.Update(t.Context(), func(tx *store.Tx) error { return Forget(tx, 1) }); err != nil || rows(t, s) != 0 {
		t.Errorf("of an instance that was deleted: %v", err)
	}
}

// TestOneAfterTheOtherTellsARecipient: posts to other recipients do not wait, and a caller that gives up leaves nothing behind.
func TestOneAfterTheOtherTellsARecipient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := newBook(t)
		defer func() { _ = s.Close() }()
		release, err := b.Turn(t.Context(), 1, anne)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []func() (func(), error){
			func() (func(), error) { return b.Turn(t.Context(), 2, anne) },
			func() (func(), error) { return b.Turn(t.Context(), 1, "others") },
		} {
			free, err := other()
			if err != nil {
				t.Fatal(err)
			}
			free()
		}
		left := errors.New("left")
		ctx, leave := context.WithCancelCause(t.Context())
		ended := make(chan string)
		go func() {
			_, err := b.Turn(ctx, 1, anne)
			ended <- fmt.Sprint(err)
		}()
		got := make(chan func())
		go func() {
			free, _ := b.Turn(t.Context(), 1, anne)
			got <- free
		}()
		synctest.Wait()
		leave(left)
		if err := <-ended; err != "left" {
			t.Error(err)
		}
		select {
		case <-got:
			t.Error("two have their turn")
		default:
		}
		release()
		(<-got)()
		if len(b.turns) != 0 {
			t.Errorf("%d turns are kept", len(b.turns))
		}
	})
}
