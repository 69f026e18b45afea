package logbook

import (
	"errors"
	"testing"
	"time"

	"postern/delivery"
	"postern/event"
	"postern/store"
)

func TestRecordOfAMissingDestinationIsNotReplayable(t *testing.T) {
	s := oldSettings()
	r := newRig(t, s.config())
	r.failed(1, 1)
	e := r.emit(event.About{}, hook(event.OrderNone))
	r.settle(e.First(), false, time.Time{})
	for status, there := range map[delivery.Status]bool{delivery.Gone: false, delivery.Absent: false, delivery.Paused: true, delivery.Ready: true} {
		s.status = status
		list := r.list(delivery.Filter{})
		if len(list) != 2 {
			t.Fatalf("%+v", list)
		}
		var ids []uint64
		for _, l := range list {
			ids = append(ids, l.ID)
			one, _, body, err := r.log.Record(t.Context(), l.ID)
			if l.Replayable != there || err != nil || one.Replayable != there || body == nil {
				t.Errorf("status %d: record %d in the list %v, alone %v, %v", status, l.ID, l.Replayable, one.Replayable, err)
			}
		}
		rows, err := r.log.Rows(ids)
		if err != nil || len(rows) != 2 || rows[0].Replayable != there || rows[1].Replayable != there {
			t.Errorf("status %d: rows %+v, %v", status, rows, err)
		}
		replay := r.replay(ReplayRequest{})
		if want := map[bool]int{true: 2}[there]; replay.Matched != want {
			t.Errorf("status %d: a replay matches %d, want %d", status, replay.Matched, want)
		}
		if _, err := r.log.Replays.Cancel(t.Context(), 0, replay.ID); err != nil {
			t.Error(err)
		}
		if there {
			continue
		}
		for _, id := range ids {
			before, _ := r.record(id)
			err := r.s.Update(t.Context(), func(tx *store.Tx) error { _, _, err := r.l.Retry(tx, id); return err })
			if after, _ := r.record(id); !errors.Is(err, delivery.ErrEndpointGone) || after != before {
				t.Errorf("status %d: retry of %d: %v, %+v", status, id, err, after)
			}
		}
	}
}

// A missing body changes nothing: the missing destination is reported first.
func TestMissingDestinationIsToldBeforeMissingBody(t *testing.T) {
	s := oldSettings()
	r := newRig(t, s.config())
	e := r.emit(event.About{}, hook(event.OrderNone))
	r.settle(e.First(), true, time.Time{})
	r.update(func(tx *store.Tx) error { _, _, err := r.l.Expire(tx, time.Now().Add(2*time.Hour), 10); return err })
	for status, want := range map[delivery.Status]error{delivery.Gone: delivery.ErrEndpointGone, delivery.Ready: delivery.ErrBodyGone} {
		s.status = status
		err := r.s.Update(t.Context(), func(tx *store.Tx) error { _, _, err := r.l.Retry(tx, e.First()); return err })
		if !errors.Is(err, want) {
			t.Errorf("status %d: %v", status, err)
		}
	}
}
