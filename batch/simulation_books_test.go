package batch

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"postern/store"
)

// readBooks takes over what a file says has left, as the next process does: it
// may forget nothing, and know of no more than may have left.
func (n *simNet) readBooks(s *store.Store) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, i := range n.env.instances {
		if i.book.kept {
			if err := n.readBook(s, id, i.book); err != nil {
				return fmt.Errorf("instance %d: %w", id, err)
			}
		}
	}
	n.orderly = false
	return nil
}

func (n *simNet) readBook(s *store.Store, id int64, b *modelBook) error {
	now := time.Now().UTC()
	noted, doubted, err := readLeft(s, id)
	if err != nil {
		return err
	}
	latest := now.Add(-26 * time.Hour)
	for i := range noted { // what lies ahead of the clock counts as now
		latest = earlier(later(noted[i].at.Add(-n.env.skew), latest), now)
		noted[i].at = latest
	}
	exact := n.orderly || b.about == 0 && now.Sub(b.ended) >= time.Second
	if b.lost = b.lost || b.set && !n.orderly; b.lost {
		if forgot := len(b.left) - len(noted) - len(doubted); forgot > 0 {
			err = fmt.Errorf("%d messages that left are forgotten", forgot)
		}
	} else {
		err = b.agrees(noted, len(doubted), now, exact)
	}
	if err != nil {
		return err
	}
	for _, number := range doubted {
		noted = append(noted, modelLeft{now, ^number})
	}
	n.doubted += len(doubted)
	b.left, b.back, b.about, b.start, b.set = noted, nil, 0, n.env.skew, false
	b.lost = b.lost && len(doubted) == 0 // else all of them are noted again now
	return nil
}

// agrees holds what a file says has left against what did. An exact one says
// neither more nor less.
func (b *modelBook) agrees(noted []modelLeft, doubted int, now time.Time, exact bool) error {
	rest, unnoted := slices.Clone(noted), 0
	for _, m := range b.left {
		if i := slices.Index(rest, m); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else if now.Sub(m.at) < 25*time.Hour {
			unnoted++
		}
	}
	for _, m := range b.back {
		if i := slices.Index(rest, m); i >= 0 && !exact {
			rest = slices.Delete(rest, i, i+1)
		}
	}
	rest = slices.DeleteFunc(rest, func(m modelLeft) bool { return now.Sub(m.at) >= 25*time.Hour })
	switch {
	case unnoted > doubted:
		return fmt.Errorf("%d messages that left are forgotten", unnoted-doubted)
	case len(rest) > 0:
		return fmt.Errorf("messages count that never left: %v", rest)
	case doubted > 8 || exact && doubted > 0:
		return fmt.Errorf("%d messages may have left, says the file", doubted)
	}
	return nil
}

// readLeft reads what the file says has left an instance, by the clock on the
// wall, and the numbers of what may have besides.
func readLeft(s *store.Store, id int64) (noted []modelLeft, doubted []uint64, err error) {
	var head [3]uint64
	found := map[uint64]modelLeft{}
	err = s.View(func(tx *store.Tx) error {
		err := tx.Scan("pacing", store.Range{Prefix: store.Key(id, byte('D'))}, func(_, v []byte) (bool, error) {
			readChunk(v, found)
			return true, nil
		})
		if err != nil {
			return err
		}
		return tx.Scan("pacing_heads", store.Range{Prefix: store.Key(id)}, func(_, v []byte) (bool, error) {
			for i := range head {
				v = uvarint(v, &head[i])
			}
			readChunk(v, found)
			return true, nil
		})
	})
	for number := head[0]; number < head[1]; number++ {
		m, ok := found[number]
		if !ok {
			return nil, nil, fmt.Errorf("the file lacks message %d", number)
		}
		noted = append(noted, m)
	}
	for number := head[1]; number < head[2]; number++ {
		doubted = append(doubted, number)
	}
	return noted, doubted, err
}

func uvarint(raw []byte, v *uint64) []byte {
	n := 0
	*v, n = binary.Uvarint(raw)
	return raw[n:]
}

func readChunk(raw []byte, into map[uint64]modelLeft) {
	var number uint64
	raw = uvarint(raw, &number)
	for ms := int64(0); len(raw) > 0; number++ {
		v, n := binary.Varint(raw)
		raw, ms = raw[n:], ms+v>>1
		m := modelLeft{at: time.UnixMilli(ms).UTC()}
		if v&1 == 1 {
			m.person, raw = binary.BigEndian.Uint64(raw), raw[8:]
		}
		into[number] = m
	}
}
