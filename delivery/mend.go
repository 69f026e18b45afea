package delivery

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"postern/delivery/outbox"
	"postern/store"
)

// mend rebuilds the indexes from records and events if the file has damaged ones. Afterwards
// each pending delivery is in exactly the rows where it belongs, and no other rows exist.
// Deliveries whose record is damaged are removed from the indexes.
func (l *Ledger) mend() error {
	damaged := false
	for _, bucket := range []string{records, events, positions, dues, heads, lines, expiries, backlogs} {
		damaged = damaged || l.store.Damaged(bucket)
	}
	if !damaged {
		return nil
	}
	l.log.Warn("records of webhook deliveries are damaged; their indexes are made anew; run postern check, and look after the disk")
	return l.store.Update(context.Background(), func(tx *store.Tx) error {
		m := &mender{l: l, tx: tx, first: map[lineName]uint64{}, waits: map[Lane]Backlog{}, lost: map[uint64]bool{}}
		for _, step := range []func() error{m.events, m.entries, m.records, m.indexes, m.expiries, m.positions, m.backlogs} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
}

// mender holds the findings of one run. The run is one transaction, so that after a crash the
// next start still sees the damage.
type mender struct {
	l     *Ledger
	tx    *store.Tx
	first map[lineName]uint64 // the first that waits
	waits map[Lane]Backlog    // by share
	lost  map[uint64]bool     // events that cannot be read
	puts  []row
}

type lineName struct {
	share Lane
	line  Line
}

type row struct {
	bucket     string
	key, value []byte
}

// want writes a row unless it exists and can be read.
func (m *mender) want(bucket string, key, value []byte) {
	if raw, err := m.tx.Get(bucket, key); err != nil || raw == nil {
		m.puts = append(m.puts, row{bucket, key, value})
	}
}

func (m *mender) write() error {
	for _, r := range m.puts {
		if err := m.tx.Put(r.bucket, r.key, r.value); err != nil {
			return err
		}
	}
	m.puts = nil
	return nil
}

// events writes the missing index rows of every event.
func (m *mender) events() error {
	err := m.tx.Walk(events, store.Range{}, func(k []byte) (bool, error) {
		seq := binary.BigEndian.Uint64(k)
		e, _, err := getEvent(m.tx, seq)
		if err != nil {
			m.lost[seq] = true
			return true, IgnoreDamage(err)
		}
		m.want(positions, e.positionKey(), store.Key(e.Seq))
		// An expired event is checked again, because the record that needed it may be lost.
		m.want(expiries, expiry{e.ExpiresAt, expiryEvent, e.Seq}.key(), nil)
		return true, nil
	})
	return errors.Join(err, m.write())
}

// entries makes records for pending entries of the outbox that lost theirs. A pending entry
// needs a record, which states what waits for delivery.
func (m *mender) entries() error {
	if m.l.cfg.Outbox == nil {
		return nil
	}
	var lost []outbox.Entry
	for after := uint64(0); ; {
		some, err := outbox.List(m.tx, outbox.Query{State: outbox.Pending, From: after, Limit: mendStep})
		if err != nil {
			return err
		}
		for _, e := range some {
			after = e.Seq
			r, found, err := Find(m.tx, e.Record)
			if IgnoreDamage(err) != nil {
				return err
			}
			if err != nil || !found || r.State != Pending || r.OutboxSeq != e.Seq {
				lost = append(lost, e)
			}
		}
		if len(some) < mendStep {
			break
		}
	}
	for _, e := range lost {
		whole, found, err := outbox.Get(m.tx, e.Seq)
		if err == nil && found {
			r := m.l.renewedRecord(whole)
			err = errors.Join(m.tx.TakeID(records, r.ID), m.tx.Put(records, store.Key(r.ID), encodeRecord(r)), outbox.SetRecord(m.tx, e.Seq, r.ID))
		}
		if IgnoreDamage(err) != nil {
			return err
		}
	}
	return nil
}

// mendStep is the number of entries that are checked between two writes.
const mendStep = 1000

// records writes the missing index rows of every pending record.
func (m *mender) records() error {
	err := m.tx.Scan(records, store.Range{}, func(k, v []byte) (bool, error) {
		r, err := decodeRecord(binary.BigEndian.Uint64(k), v)
		if err != nil {
			return true, m.tx.Unreadable(records, k, err)
		}
		if r.Waits() {
			m.record(r)
		}
		return true, nil
	})
	return errors.Join(err, m.write())
}

func (m *mender) record(r Record) {
	p, head := placeOf(r), true
	if name := (lineName{p.share(), p.line}); p.line != 0 {
		if _, taken := m.first[name]; taken {
			head = false
		} else {
			m.first[name] = p.record
		}
		m.want(lines, p.lineKey(), p.lineValue(r.DueAt()))
	}
	if p.lane == OutboxLane {
		m.want(dues, p.dueKey(r.DueAt()), p.value())
		return
	}
	if head {
		m.want(dues, p.dueKey(r.DueAt()), p.value())
		m.want(heads, p.headKey(), p.value())
		if p.instance != p.lane.Instance {
			m.want(heads, p.shareKey(), nil)
		}
	}
	b := m.waits[p.share()]
	b.Pending, b.Bytes = b.Pending+1, b.Bytes+int64(p.bytes)
	m.waits[p.share()] = b
	end := expiry{r.ExpiresAt, expiryEvent, r.EventSeq}
	if r.Former != "" || r.ReplayOf != 0 || m.lost[r.EventSeq] || !m.tx.Has(events, store.Key(r.EventSeq)) {
		end.tag, end.id = expiryRecord, r.ID
	}
	m.want(expiries, end.key(), nil)
}

// indexes removes the rows that belong to no pending delivery.
func (m *mender) indexes() error {
	for bucket, right := range map[string]func(place, []byte) bool{dues: m.rightDue, heads: m.rightHead, lines: m.rightLine} {
		var wrong [][]byte
		err := m.tx.Walk(bucket, store.Range{}, func(k []byte) (bool, error) {
			lane, rest, ok := parseLane(k)
			if !ok || len(rest) < 8 || !right(place{lane: lane, record: binary.BigEndian.Uint64(rest[len(rest)-8:])}, k) {
				wrong = append(wrong, append([]byte(nil), k...))
			}
			return true, nil
		})
		for _, k := range wrong {
			err = errors.Join(err, m.tx.Delete(bucket, k))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// waiting returns the record of a row, and the place where it belongs.
func (m *mender) waiting(id uint64) (p place, at time.Time, head, waits bool) {
	r, found, err := Find(m.tx, id)
	if err != nil || !found || !r.Waits() {
		return p, at, false, false
	}
	p = placeOf(r)
	return p, r.DueAt(), p.line == 0 || m.first[lineName{p.share(), p.line}] == id, true
}

func (m *mender) rightDue(row place, key []byte) bool {
	p, at, head, waits := m.waiting(row.record)
	return waits && head && string(p.dueKey(at)) == string(key)
}

func (m *mender) rightHead(row place, key []byte) bool {
	p, _, head, waits := m.waiting(row.record)
	return waits && head && (string(p.headKey()) == string(key) || string(p.shareKey()) == string(key))
}

func (m *mender) rightLine(row place, key []byte) bool {
	p, _, _, waits := m.waiting(row.record)
	return waits && string(p.lineKey()) == string(key)
}

// expiries rewrites rows that cannot be read, whose keys hold all that they state.
func (m *mender) expiries() error {
	err := m.tx.Walk(expiries, store.Range{}, func(k []byte) (bool, error) {
		m.want(expiries, append([]byte(nil), k...), nil)
		return true, nil
	})
	return errors.Join(err, m.write())
}

// positions removes the numbers of events that cannot be read.
func (m *mender) positions() error {
	var wrong [][]byte
	err := m.tx.Walk(positions, store.Range{}, func(k []byte) (bool, error) {
		raw, err := m.tx.Get(positions, k)
		if err == nil && len(raw) == 8 {
			e, found, err := getEvent(m.tx, binary.BigEndian.Uint64(raw))
			if err == nil && found && string(e.positionKey()) == string(k) {
				return true, nil
			}
		}
		wrong = append(wrong, append([]byte(nil), k...))
		return true, nil
	})
	for _, k := range wrong {
		err = errors.Join(err, m.tx.Delete(positions, k))
	}
	return err
}

// backlogs recounts the backlogs.
func (m *mender) backlogs() error {
	_, err := m.tx.DeletePrefix(backlogs, nil)
	var all Backlog
	for share, b := range m.waits {
		err = errors.Join(err, m.tx.Put(backlogs, share.key(), store.Key(b.Pending, b.Bytes)))
		all.Pending, all.Bytes = all.Pending+b.Pending, all.Bytes+b.Bytes
	}
	if err != nil || all.Pending == 0 {
		return err
	}
	return m.tx.Put(backlogs, allLanes, store.Key(all.Pending, all.Bytes))
}
