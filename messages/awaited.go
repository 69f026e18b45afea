package messages

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

// watchedDay is how long ago a message fell due at most to be counted.
const watchedDay = 24 * time.Hour

// countedFor is how long the numbers of an instance are used before they are counted again.
const countedFor = 5 * time.Second

// Undelivered says how many messages to single people had no receipt a given time after WhatsApp took them.
type Undelivered struct {
	Hour  int      `json:"hour" doc:"Messages that fell due in the last hour and have no receipt." example:"2" rules:"minimum=0"`
	Day   int      `json:"day" doc:"Messages that fell due in the last 24 hours and have no receipt." example:"5" rules:"minimum=0"`
	Share *float64 `json:"share" doc:"The part of all messages that fell due in the last hour that has no receipt; null when none fell due." example:"0.1" rules:"minimum=0"`
}

// undeliveredCounts are the numbers of instances as they were counted last.
type undeliveredCounts struct {
	mu  sync.Mutex
	all map[int64]counted
}

type counted struct {
	at    time.Time
	after time.Duration
	is    Undelivered
}

// awaited is a stored message to a person, for which a receipt is expected.
type awaited struct {
	since     time.Time // WhatsApp took it then
	delivered bool
}

func (w awaited) encode() []byte {
	raw := binary.BigEndian.AppendUint64(nil, uint64(w.since.UnixMilli())) //nolint:gosec // after 1970
	if w.delivered {
		return append(raw, 1)
	}
	return append(raw, 0)
}

func decodeAwaited(raw []byte) (w awaited, ok bool) {
	if len(raw) != 9 {
		return w, false
	}
	return awaited{time.UnixMilli(int64(binary.BigEndian.Uint64(raw))), raw[8] == 1}, true //nolint:gosec // as it was written
}

// await notes that a stored message expects a receipt.
func await(tx *store.Tx, instance, id int64) error {
	return tx.Put(awaitedReceipts, store.Key(instance, id), awaited{since: tx.Now()}.encode())
}

// settle notes that a receipt of a message came. Only those from the recipient's devices count.
func settle(tx *store.Tx, instance, id int64, status event.UpdateStatus) error {
	if !slices.Contains([]event.UpdateStatus{event.StatusDelivered, event.StatusRead, event.StatusPlayed}, status) {
		return nil
	}
	raw, err := tx.Get(awaitedReceipts, store.Key(instance, id))
	if err != nil || raw == nil {
		return err
	}
	w, ok := decodeAwaited(raw)
	if !ok || w.delivered {
		return nil
	}
	w.delivered = true
	return tx.Put(awaitedReceipts, store.Key(instance, id), w.encode())
}

// undelivered reports whether a message was taken by WhatsApp before a time and has no receipt yet.
func undelivered(tx *store.Tx, instance, id int64, before time.Time) (bool, error) {
	raw, err := tx.Get(awaitedReceipts, store.Key(instance, id))
	if err != nil {
		return false, err
	}
	w, ok := decodeAwaited(raw)
	return ok && !w.delivered && !w.since.After(before), nil
}

// Undelivered counts the messages of an instance to single people that have no receipt so long after WhatsApp took
// them. The numbers are up to five seconds old.
func (a *Archive) Undelivered(instance int64, after time.Duration) (Undelivered, error) {
	now := a.cfg.Store.Now()
	a.undelivered.mu.Lock()
	known, found := a.undelivered.all[instance]
	a.undelivered.mu.Unlock()
	if age := now.Sub(known.at); found && known.after == after && age >= 0 && age < min(countedFor, max(after/10, 100*time.Millisecond)) {
		return known.is, nil
	}
	is, err := a.countUndelivered(instance, now.Add(-after))
	if err != nil {
		return is, err
	}
	a.undelivered.mu.Lock()
	defer a.undelivered.mu.Unlock()
	if a.undelivered.all == nil {
		a.undelivered.all = map[int64]counted{}
	}
	a.undelivered.all[instance] = counted{now, after, is}
	return is, nil
}

// countUndelivered counts the messages of the day before due.
func (a *Archive) countUndelivered(instance int64, due time.Time) (is Undelivered, err error) {
	hour, day, all := due.Add(-time.Hour), due.Add(-watchedDay), 0
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		return tx.Scan(awaitedReceipts, store.Range{Prefix: store.Key(instance), Reverse: true}, func(_, v []byte) (bool, error) {
			w, ok := decodeAwaited(v)
			switch {
			case !ok || w.since.After(due):
				return true, nil
			case !w.since.After(day):
				return false, nil // ids rise with time
			}
			if w.since.After(hour) {
				all++
				if !w.delivered {
					is.Hour++
				}
			}
			if !w.delivered {
				is.Day++
			}
			return true, nil
		})
	})
	if all > 0 {
		share := float64(is.Hour) / float64(all)
		is.Share = &share
	}
	return is, err
}

// awaitedToMessage is the reference of an awaited receipt to its message.
func awaitedToMessage(_ *schema.Lookup, key, _ []byte) schema.Need {
	return schema.Need{Bucket: messages, Key: key, Why: "a receipt is awaited for a missing message"}
}
