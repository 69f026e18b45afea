package automatic

import (
	"context"
	"encoding/binary"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"postern/store"
)

const (
	phone = "4915112345678@s.whatsapp.net"
	lid   = "133742133742133@lid"
)

func TestCallerIsAnsweredOnceAnHour(t *testing.T) {
	s, err := store.Open(store.Options{Path: filepath.Join(t.TempDir(), "a.db"), Buckets: Buckets(), NoSync: true, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	of := func(instance int64) *Actions {
		return New(Config{
			Store: s, Instance: instance, Life: t.Context(), Log: slog.New(slog.DiscardHandler), There: func(*store.Tx) error { return nil },
			Twin: func(jid string) string { return map[string]string{phone: lid, lid: phone}[jid] },
		})
	}
	one, other := of(1), of(2)
	claim := func(a *Actions, caller string) bool {
		t.Helper()
		due, err := a.claimAnswer(t.Context(), caller)
		if err != nil {
			t.Fatal(err)
		}
		return due
	}
	// last changes the time of the last answer to that long ago.
	last := func(ago time.Duration) {
		t.Helper()
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			at := uint64(tx.Now().Add(-ago).UnixMilli())
			return tx.Put(callAnswers, store.Key(int64(1), lid), binary.BigEndian.AppendUint64(nil, at))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !claim(one, lid) || claim(one, lid) || claim(one, phone) {
		t.Error("the first call alone is answered, whichever address it came from")
	}
	if !claim(other, lid) || !claim(one, "133742133742134@lid") {
		t.Error("another instance and another caller are answered")
	}
	last(answerPause - time.Minute)
	if claim(one, phone) {
		t.Error("answered within the hour")
	}
	last(answerPause)
	if !claim(one, phone) {
		t.Error("not answered after an hour")
	}
	last(-2 * answerPause)
	if err := one.releaseAnswer(context.Background(), phone); err != nil {
		t.Fatal(err)
	}
	if !claim(one, phone) {
		t.Error("a clock that was set back silences a caller")
	}
	// Expired records are removed: these are the callers of an hour.
	err = s.View(func(tx *store.Tx) error {
		n, err := tx.Count(callAnswers, store.Key(int64(1)))
		if n != 2 {
			t.Errorf("%d records", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
