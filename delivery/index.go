package delivery

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/google/uuid"

	"postern/delivery/layout"
	"postern/store"
)

// place is what the indexes hold of a pending delivery.
type place struct {
	lane     Lane
	instance int64 // whose share of the lane it belongs to
	line     Line
	bytes    int
	once     bool
	record   uint64

	batch  uuid.UUID // in OutboxLane
	outbox uint64    // sequence of the entry, in OutboxLane
}

// onceMark is set in the bytes of a delivery that has one attempt.
const onceMark = 1 << 31

func placeOf(r Record) place {
	p := place{lane: r.Lane, instance: r.Instance, line: r.Line, bytes: r.Bytes, once: r.Once, record: r.ID}
	if p.lane == OutboxLane {
		p.batch, p.outbox = r.Batch, r.OutboxSeq
	}
	return p
}

func (p place) share() Lane { return p.lane.share(p.instance) }

func (p place) dueKey(at time.Time) []byte {
	return store.Key(p.lane.key(), uint64(layout.Millis(at)), p.record)
}

func (p place) headKey() []byte  { return store.Key(p.lane.key(), p.record) }
func (p place) shareKey() []byte { return store.Key(p.share().key(), p.record) }
func (p place) lineKey() []byte  { return store.Key(p.share().key(), uint64(p.line), p.record) }

// value returns the value of the rows in the due and lane indexes: bytes with onceMark (4),
// and the line (8) and the instance (8) if the key does not imply them; in OutboxLane the
// batch (16) and the sequence of the entry (8).
func (p place) value() []byte {
	size := uint32(p.bytes)
	if p.once {
		size |= onceMark
	}
	v := binary.BigEndian.AppendUint32(make([]byte, 0, 28), size)
	if p.lane == OutboxLane {
		return binary.BigEndian.AppendUint64(append(v, p.batch[:]...), p.outbox)
	}
	if p.line == 0 && p.instance == p.lane.Instance {
		return v
	}
	v = binary.BigEndian.AppendUint64(v, uint64(p.line))
	if p.instance != p.lane.Instance {
		v = binary.BigEndian.AppendUint64(v, uint64(p.instance))
	}
	return v
}

// lineValue returns the value of the row of a line: when the delivery will be due, and its
// bytes.
func (p place) lineValue(at time.Time) []byte {
	v := binary.BigEndian.AppendUint64(make([]byte, 0, 12), uint64(layout.Millis(at)))
	return binary.BigEndian.AppendUint32(v, uint32(p.bytes))
}

// parse reads value into a place whose lane and record are known.
func (p *place) parse(v []byte) bool {
	p.line, p.instance = 0, p.lane.Instance
	switch len(v) {
	case 28:
		p.bytes, p.batch, p.outbox = int(binary.BigEndian.Uint32(v)), uuid.UUID(v[4:20]), binary.BigEndian.Uint64(v[20:])
		return true
	case 20:
		p.instance = int64(binary.BigEndian.Uint64(v[12:]))
		fallthrough
	case 12:
		p.line = Line(binary.BigEndian.Uint64(v[4:]))
		fallthrough
	case 4:
		size := binary.BigEndian.Uint32(v)
		p.bytes, p.once = int(size&^onceMark), size&onceMark != 0
		return true
	}
	return false
}

// enter puts a pending delivery into the indexes of its lane. It becomes a head if no other
// delivery of its line is before it.
func (l *Ledger) enter(tx *store.Tx, p place, at time.Time) (head bool, err error) {
	if p.lane == OutboxLane {
		return true, tx.Put(dues, p.dueKey(at), p.value())
	}
	head = true
	if p.line != 0 {
		first, waits, err := firstOfLine(tx, p)
		if err != nil {
			return false, err
		}
		head = !waits
		if waits && first.record > p.record {
			return false, errors.New("delivery: a record cannot go before those that wait already")
		}
		if err := tx.Put(lines, p.lineKey(), p.lineValue(at)); err != nil {
			return false, err
		}
	}
	if head {
		err = putHead(tx, p, at)
	}
	l.addBacklog(tx, p.share(), 1, int64(p.bytes))
	return head, err
}

func putHead(tx *store.Tx, p place, at time.Time) error {
	err := errors.Join(tx.Put(dues, p.dueKey(at), p.value()), tx.Put(heads, p.headKey(), p.value()))
	if p.instance != p.lane.Instance {
		err = errors.Join(err, tx.Put(heads, p.shareKey(), nil))
	}
	return err
}

// leave removes a delivery from the indexes. follows is the delivery that may be sent next,
// nil if there is none.
func (l *Ledger) leave(tx *store.Tx, p place, at time.Time) (follows *Due, err error) {
	if p.lane == OutboxLane {
		return nil, tx.Delete(dues, p.dueKey(at))
	}
	l.addBacklog(tx, p.share(), -1, -int64(p.bytes))
	err = errors.Join(tx.Delete(dues, p.dueKey(at)), tx.Delete(heads, p.headKey()))
	if p.instance != p.lane.Instance {
		err = errors.Join(err, tx.Delete(heads, p.shareKey()))
	}
	if p.line == 0 || err != nil {
		return nil, err
	}
	if err := tx.Delete(lines, p.lineKey()); err != nil {
		return nil, err
	}
	return promote(tx, p)
}

// promote makes the first delivery of a line a head, unless it already is.
func promote(tx *store.Tx, p place) (*Due, error) {
	first, waits, err := firstOfLine(tx, p)
	if err != nil || !waits || tx.Has(heads, first.headKey()) {
		return nil, err
	}
	at, err := lineDue(tx, &first)
	if err != nil {
		return nil, err
	}
	return &Due{At: at, Record: first.record, Line: first.line}, putHead(tx, first, at)
}

// firstOfLine returns the first delivery that waits in the line of p.
func firstOfLine(tx *store.Tx, p place) (first place, waits bool, err error) {
	prefix := store.Key(p.share().key(), uint64(p.line))
	err = tx.Walk(lines, store.Range{Prefix: prefix}, func(k []byte) (bool, error) {
		if waits = len(k) == len(prefix)+8; waits {
			first = p
			first.record = binary.BigEndian.Uint64(k[len(prefix):])
		}
		return !waits, nil
	})
	return first, waits, err
}

// lineDue returns when a delivery that waits in a line will be due, and sets its bytes. If
// its row is damaged, lineDue uses the record; if that is damaged too, the delivery is due
// now and will then be found lost.
func lineDue(tx *store.Tx, p *place) (time.Time, error) {
	raw, err := tx.Get(lines, p.lineKey())
	if err == nil && len(raw) == 12 {
		p.bytes = int(binary.BigEndian.Uint32(raw[8:]))
		return layout.FromMillis(int64(binary.BigEndian.Uint64(raw))), nil
	}
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return time.Time{}, err
	}
	r, found, err := Find(tx, p.record)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return time.Time{}, err
	}
	if !found {
		return tx.Now(), nil
	}
	p.bytes = r.Bytes
	return r.DueAt(), nil
}
