package delivery

import (
	"encoding/binary"
	"errors"

	"postern/delivery/layout"
	"postern/store"
)

// allLanes is the key of the row for the total of all lanes. No key of a lane is as short.
var allLanes = []byte{0}

// addBacklog adds to the backlog of a lane, or of an instance's share of a lane, and to the
// total.
func (l *Ledger) addBacklog(tx *store.Tx, share Lane, count int, bytes int64) {
	t := l.together(tx)
	t.wait(share.key(), count, bytes)
	t.wait(allLanes, count, bytes)
}

// waitMore changes one row of the backlog. If the backlog exceeds its limit, deliveries are
// cancelled.
func (l *Ledger) waitMore(tx *store.Tx, key []byte, count int, bytes int64) error {
	b, err := readBacklog(tx, key)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	// A damaged row counts from zero until the next start recounts it.
	b.Pending, b.Bytes = max(0, b.Pending+count), max(0, b.Bytes+bytes)
	if b.Pending == 0 {
		return tx.Delete(backlogs, key)
	}
	// One commit may hold both a cancellation and a new delivery: that the sum shrinks is no
	// reason not to look again.
	if len(key) == len(allLanes) && b.Bytes > l.cfg.DurableMaxBytes {
		l.kick()
	}
	return tx.Put(backlogs, key, store.Key(b.Pending, b.Bytes))
}

func readBacklog(tx *store.Tx, key []byte) (b Backlog, err error) {
	if err := settleShared(tx); err != nil {
		return b, err
	}
	raw, err := tx.Get(backlogs, key)
	if err != nil || raw == nil {
		return b, err
	}
	return parseBacklog(tx, key, raw)
}

func parseBacklog(tx *store.Tx, key, raw []byte) (b Backlog, err error) {
	if len(raw) == 16 {
		b.Pending, b.Bytes = int(binary.BigEndian.Uint64(raw)), int64(binary.BigEndian.Uint64(raw[8:]))
	}
	if len(raw) != 16 || b.Pending < 0 || b.Bytes < 0 {
		return Backlog{}, tx.Unreadable(backlogs, key, layout.ErrValue)
	}
	return b, nil
}

// Backlogs returns the lanes with pending deliveries. It does not count batch events that
// wait in the outbox.
func Backlogs(tx *store.Tx) ([]Backlog, error) {
	shares, err := sharesOf(tx, nil)
	var all []Backlog
	at := map[Lane]int{}
	for _, b := range shares {
		b.Lane = b.Lane.whole()
		i, known := at[b.Lane]
		if !known {
			i = len(all)
			at[b.Lane], all = i, append(all, Backlog{Lane: b.Lane})
		}
		all[i].Pending += b.Pending
		all[i].Bytes += b.Bytes
	}
	return all, err
}

// sharesOf returns the backlog by lane and instance for all keys with the prefix.
func sharesOf(tx *store.Tx, prefix []byte) (all []Backlog, err error) {
	if err := settleShared(tx); err != nil {
		return nil, err
	}
	err = tx.Scan(backlogs, store.Range{Prefix: prefix}, func(k, v []byte) (bool, error) {
		lane, rest, ok := parseLane(k)
		if !ok || len(rest) > 0 {
			return true, nil // the total of all lanes
		}
		b, err := parseBacklog(tx, k, v)
		if err != nil {
			return true, err
		}
		b.Lane = lane
		all = append(all, b)
		return true, nil
	})
	return all, err
}
