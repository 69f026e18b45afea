package logbook

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"postern/delivery"
	"postern/store"
)

func TestReplayListIsReadInParts(t *testing.T) {
	r := newRig(t, oldSettings().config())
	n := 2*replayChunk + 7
	lost := r.failed(1, n)
	id := r.replay(ReplayRequest{}).ID
	r.turns()
	if got := r.replayNow(id); got.Sent != n || got.Matched != n {
		t.Errorf("%+v", got)
	}
	page, err := r.log.List(t.Context(), delivery.Filter{States: []delivery.State{delivery.Pending}}, "", 5000)
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, rec := range page.Records {
		got = append(got, rec.ReplayOf)
	}
	slices.Reverse(got)
	if !slices.Equal(got, lost) {
		t.Errorf("%d were repeated in another order", len(got))
	}
}

func TestDamagedReplayListEndsTheReplay(t *testing.T) {
	r := newRig(t, oldSettings().config())
	r.failed(1, 3)
	id := r.replay(ReplayRequest{}).ID
	r.update(func(tx *store.Tx) error { return tx.Put(replays, chunkKey(id, 0), []byte{0xff}) })
	r.turns()
	if got := r.replayNow(id); got.State != ReplayDone || got.Failed != 3 || got.Sent != 0 {
		t.Errorf("%+v", got)
	}
}

func TestReplaysThatEndedGoWithTheRetention(t *testing.T) {
	r := newRig(t, oldSettings().config())
	r.failed(1, 1)
	running, done := r.replay(ReplayRequest{}), r.replay(ReplayRequest{Instance: 7})
	if _, err := r.log.pruneAged(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.log.Replays.Status(t.Context(), 0, done.ID); !errors.Is(err, delivery.ErrNotFound) {
		t.Errorf("%v", err)
	}
	r.replayNow(running.ID)
}

func TestReplayAttachmentIsInItsCommit(t *testing.T) {
	r := newRig(t, oldSettings().config())
	r.failed(1, 1)
	no := errors.New("no")
	_, err := r.log.Replays.Start(t.Context(), ReplayRequest{Keep: func(_ *store.Tx, got Replay) error {
		if got.ID == 0 || got.Matched != 1 {
			t.Errorf("%+v", got)
		}
		return no
	}})
	if !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	r.replay(ReplayRequest{}) // nothing runs
}

func FuzzDecodeReplay(f *testing.F) {
	f.Add(replayRow{Replay: Replay{State: ReplayCancelled, Matched: 7, Sent: 3, Instance: 1 << 40}, Next: 3, Sweep: 1}.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := decodeReplay(5, raw)
		if err != nil {
			return
		}
		again, err := decodeReplay(5, r.encode())
		if err != nil || again != r {
			t.Errorf("%+v became %+v, %v", r, again, err)
		}
	})
}

func FuzzDecodeIDs(f *testing.F) {
	f.Add(encodeIDs([]uint64{1, 2, 500, 1 << 40}))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, ok := decodeIDs(raw)
		if !ok {
			return
		}
		if len(all) > replayChunk || !slices.IsSorted(all) {
			t.Error("not what a list is")
		}
		if again, ok := decodeIDs(encodeIDs(all)); !ok || !slices.Equal(again, all) {
			t.Error(fmt.Sprint(again), "is not", all)
		}
	})
}

func TestDeletedInstanceRemovesItsReplaysWithoutDelay(t *testing.T) {
	r := newRig(t, oldSettings().config())
	r.failed(1, 2)
	all, own := r.replay(ReplayRequest{}), r.replay(ReplayRequest{Instance: 1})
	r.turns()
	waits := r.log.Queued(notice(1), oldWay())
	r.flush()
	late := r.log.Queued(notice(1), oldWay())
	r.update(func(tx *store.Tx) error { return r.l.ForgetInstance(tx, 1) })
	r.sweep()
	waits.Done(delivery.Failed, delivery.Attempt{})
	late.Done(delivery.Failed, delivery.Attempt{})
	if page, err := r.log.List(t.Context(), delivery.Filter{}, "", 50); err != nil || page.Total != 0 {
		t.Errorf("%+v, %v", page, err)
	}
	for bucket, want := range map[string]int{records: 0, bodies: 0, attempts: 0, digests: 0, forgets: 0} {
		r.view(func(tx *store.Tx) error {
			if n, err := tx.Count(bucket, nil); n != want || err != nil {
				t.Errorf("%s has %d rows, %v", bucket, n, err)
			}
			return nil
		})
	}
	if _, err := r.log.Replays.Status(t.Context(), 0, own.ID); !errors.Is(err, delivery.ErrNotFound) {
		t.Errorf("its own replay: %v", err)
	}
	if got := r.replayNow(all.ID); got.State != ReplayDone || got.Failed != 2 {
		t.Errorf("%+v", got)
	}
}
