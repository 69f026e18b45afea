package delivery

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"postern/event"
	"postern/store"
)

// TestErasedEventsAreGaps: their numbers stay, their bodies and chats go, and the line continues behind them.
func TestErasedEventsAreGaps(t *testing.T) {
	r := newRig(t, Config{Log: true, Bodies: BodiesAll})
	var all []Event
	for _, chat := range []string{"1111111@s.whatsapp.net", "2222222@s.whatsapp.net", "2222222@s.whatsapp.net", "1111111@s.whatsapp.net"} {
		all = append(all, r.emit(event.About{Chat: chat}, hook(event.OrderInstance)))
	}
	x := &Eraser{Ledger: r.l, Instance: 1, Name: "shop", Names: func(text []byte) bool { return bytes.Contains(text, []byte("2222222")) }}
	var found Found
	r.view(func(tx *store.Tx) (err error) {
		found, err = x.Events(tx, 0, 1<<40, 100, 100)
		return err
	})
	if !slices.Equal(found.IDs, []uint64{all[1].Seq, all[2].Seq}) || found.Next != 0 {
		t.Fatalf("found %v of %v", found, all)
	}
	for _, seq := range found.IDs {
		r.update(func(tx *store.Tx) error {
			n, ended, err := x.Event(tx, seq)
			if n != 1 || len(ended) != 1 || ended[0].Record.State != Cancelled || ended[0].Record.LastError != ReasonErased {
				t.Errorf("erased %d: %+v", n, ended)
			}
			return err
		})
	}
	r.view(func(tx *store.Tx) error {
		gaps, err := ErasedAfter(tx, 1, 0, 10)
		if err != nil || !slices.Equal(gaps, [][2]uint64{{2, 3}}) {
			t.Errorf("gaps %v %v", gaps, err)
		}
		if gaps, _ = ErasedAfter(tx, 1, 3, 10); len(gaps) != 0 {
			t.Errorf("gaps behind them: %v", gaps)
		}
		left, err := PositionAfter(tx, 1, 0, 0)
		if len(left) != 2 || left[0].Sequence != 1 || left[1].Sequence != 4 {
			t.Errorf("left: %+v", left)
		}
		return err
	})
	first := all[0].To[0].Due.Record
	follows, _ := r.settle(first, true, time.Time{})
	if follows == nil || follows.Record != all[3].To[0].Due.Record {
		t.Errorf("behind the first follows %+v, want the fourth", follows)
	}
	if again, _ := r.record(all[1].To[0].Due.Record); again.Chat != "" || again.EventSeq != 0 {
		t.Errorf("the record still has %+v", again)
	}
}
