package delivery

import (
	"postern/store"
)

// shedSome cancels up to limit deliveries while the backlog exceeds its limit: the oldest of
// the instance with the largest backlog.
func (l *Ledger) shedSome(tx *store.Tx, limit int) (ended []Ended, more bool, err error) {
	all, err := readBacklog(tx, allLanes)
	over := all.Bytes - l.cfg.DurableMaxBytes
	if err != nil || over <= 0 {
		return nil, false, IgnoreDamage(err)
	}
	held, err := holders(tx)
	for range limit {
		instance, most := held.most()
		if err != nil || most == nil || over <= 0 {
			return ended, false, err
		}
		var oldest place
		if oldest, err = most.oldest(tx); err != nil {
			return ended, false, err
		}
		if oldest.record == 0 {
			delete(held, instance)
			continue
		}
		e, known, err := l.cancel(tx, oldest, ReasonCapacity)
		if err != nil {
			return ended, false, err
		}
		if known {
			ended = append(ended, e)
			over -= int64(e.Record.Bytes)
			most.bytes -= int64(e.Record.Bytes)
		}
	}
	return ended, over > 0, nil
}

// holder is the backlog of one instance.
type holder struct {
	bytes  int64
	shares []Lane
}

type holderSet map[int64]*holder

func holders(tx *store.Tx) (holderSet, error) {
	shares, err := sharesOf(tx, nil)
	held := holderSet{}
	for _, b := range shares {
		h := held[b.Lane.Instance]
		if h == nil {
			h = &holder{}
			held[b.Lane.Instance] = h
		}
		h.bytes += b.Bytes
		h.shares = append(h.shares, b.Lane)
	}
	return held, err
}

// most returns the holder with the largest backlog, the lowest id of equals; nil if none is left.
func (s holderSet) most() (instance int64, most *holder) {
	for id, h := range s {
		if most == nil || h.bytes > most.bytes || h.bytes == most.bytes && id < instance {
			instance, most = id, h
		}
	}
	return instance, most
}

// oldest returns the oldest pending delivery: a head, because the others of its line are
// younger. Its record is 0 if there is none.
func (h *holder) oldest(tx *store.Tx) (oldest place, err error) {
	for _, share := range h.shares {
		first, err := headsAfter(tx, share, 0, 1)
		if err != nil {
			return oldest, err
		}
		if len(first) > 0 && (oldest.record == 0 || first[0].Record < oldest.record) {
			oldest = place{lane: share.whole(), instance: share.Instance, record: first[0].Record}
		}
	}
	return oldest, nil
}
