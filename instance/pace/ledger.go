package pace

import (
	"sync"
	"time"

	"postern/store"
)

// ahead is the maximum number of messages that may leave unrecorded: as many as share one
// commit on a slow disk.
const ahead = 8

// quiet is the idle time after which grants are withdrawn.
const quiet = time.Second

// drift is how far the wall clock may deviate from the awake clock before all departures
// are recorded again.
const drift = 10 * time.Millisecond

func limitsKey(instance int64) []byte { return store.Key(instance, byte('L')) }
func headKey(instance int64) []byte   { return store.Key(instance) }
func formerHeadKey(instance int64) []byte {
	return store.Key(instance, byte('H'))
}

func chunkKey(instance int64, n uint64) []byte {
	return store.Key(instance, byte('D'), n)
}

// ledger is a book with its state in the file.
type ledger struct {
	p  *Pacer
	id int64

	mu sync.Mutex // guards all fields below
	book
	about   int         // senders that have begun but not ended
	peak    int         // the maximum of about since the grant was last withdrawn
	crowded bool        // a sender was refused because of reserved places
	pause   *time.Timer // withdraws the grant

	first   uint64 // number of the oldest departure in the book
	filed   uint64 // those before are in chunks of the file
	noted   uint64 // those before are in the file, the last ones in the head
	granted uint64 // those before may leave, according to the file
	asked   uint64 // value of granted once all writes are done
	writes  []write
	zero    time.Time // wall clock at time 0 of the awake clock, as in the file
	chunks  [2]uint64 // range of chunks that the file may have
}

// write is a pending write to the file.
type write struct {
	*store.Submitted
	filed, noted, granted uint64
	atOnce                bool // does not wait for another commit
}

func newLedger(p *Pacer, instance int64) *ledger {
	l := &ledger{p: p, id: instance}
	l.zone = p.cfg.Location
	l.zero = zeroOf(p.cfg.now())
	return l
}

// zeroOf returns what the wall clock, as currently set, showed at the start.
func zeroOf(now moment) time.Time { return now.wall.Round(0).Add(-now.awake) }

// wasSet reports whether the wall clock was set since the times in the file were written.
func (l *ledger) wasSet(now moment) bool { return zeroOf(now).Sub(l.zero).Abs() > drift }

// end returns the number of the next departure.
func (l *ledger) end() uint64 { return l.first + uint64(len(l.sent)) }

// settle applies the results of pending writes. A failed one, as on a full disk, changed
// nothing; the next write includes what is missing.
func (l *ledger) settle() {
	for len(l.writes) > 0 && l.writes[0].Done() {
		w := l.writes[0]
		l.writes = l.writes[1:]
		if w.Wait() == nil {
			l.filed, l.noted, l.granted = max(l.filed, w.filed), max(l.noted, w.noted), w.granted
		}
	}
}

// note submits a write of everything unrecorded, with a new grant, which limits
// departures from now on. Unless atOnce, it joins the next commit.
func (l *ledger) note(now moment, granted uint64, atOnce bool) error {
	l.settle()
	l.follow(now)
	l.granted = min(l.granted, granted)
	for i := range l.writes {
		l.writes[i].granted = min(l.writes[i].granted, granted)
	}
	fn, filed := l.snapshot(now, granted)
	submit := l.p.cfg.Store.Attach
	if atOnce {
		submit = l.p.cfg.Store.Submit
	}
	s, err := submit(fn)
	if err != nil {
		return err
	}
	l.asked = granted
	l.writes = append(l.writes, write{s, filed, l.end(), granted, atOnce})
	return nil
}

// snapshot returns a write of what the file lacks, and the number before which departures
// are then in chunks.
func (l *ledger) snapshot(now moment, granted uint64) (fn func(*store.Tx) error, filed uint64) {
	type record struct{ key, value []byte }
	var records []record
	filed = max(l.filed, l.first)
	if l.end()-filed > tail {
		for n := filed / chunk; n*chunk < l.end(); n++ {
			from := max(n*chunk, l.first)
			to := min((n+1)*chunk, l.end())
			records = append(records, record{chunkKey(l.id, n), encodeChunk(now, from, l.sent[from-l.first:to-l.first])})
			l.chunks[1] = max(l.chunks[1], n+1)
		}
		filed = l.end()
	}
	h := head{l.first, l.end(), granted}.encode(now, l.sent[filed-l.first:])
	var gone [][]byte
	for ; (l.chunks[0]+1)*chunk <= l.first; l.chunks[0]++ {
		gone = append(gone, chunkKey(l.id, l.chunks[0]))
	}
	for ; l.chunks[1] > 0 && (l.chunks[1]-1)*chunk >= l.end(); l.chunks[1]-- {
		gone = append(gone, chunkKey(l.id, l.chunks[1]-1))
	}
	id := l.id
	fn = func(tx *store.Tx) error {
		if !tx.Has(heads, headKey(id)) && !tx.Has(bucket, limitsKey(id)) {
			return nil // deleted with its instance
		}
		if err := tx.Put(heads, headKey(id), h); err != nil {
			return err
		}
		for _, r := range records {
			if err := tx.Put(bucket, r.key, r.value); err != nil {
				return err
			}
		}
		for _, key := range gone {
			if err := tx.Delete(bucket, key); err != nil {
				return err
			}
		}
		return nil
	}
	return fn, filed
}

// follow adjusts to a changed wall clock. The times in the file are then wrong, and
// nothing leaves until they are corrected, since a start after a crash would trust them.
func (l *ledger) follow(now moment) {
	if !l.wasSet(now) {
		return
	}
	l.zero, l.filed, l.noted, l.granted = zeroOf(now), l.first, l.first, 0
	l.unsure()
	for i := range l.writes {
		l.writes[i].granted = 0
	}
}

// unsure marks departures from noted on as unrecorded, since pending writes have stale
// data about them.
func (l *ledger) unsure() {
	for i := range l.writes {
		w := &l.writes[i]
		w.filed, w.noted = min(w.filed, l.filed), min(w.noted, l.noted)
	}
}

// reserve returns the grant for senders that are about to send, or will send again after
// their answer.
func (l *ledger) reserve() uint64 {
	return l.end() + uint64(min(max(l.peak, 1), ahead))
}

// withdraw withdraws the unused grant.
func (l *ledger) withdraw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.about > 0 {
		return
	}
	l.peak = 0
	l.takeBack()
}

// takeBack writes the departures and withdraws the grant. It returns the write, nil if
// the file is up to date.
func (l *ledger) takeBack() *store.Submitted {
	l.settle()
	now := l.p.cfg.now()
	if l.asked == l.end() && l.noted == l.end() && len(l.writes) == 0 && !l.wasSet(now) {
		return nil
	}
	if err := l.note(now, l.end(), true); err != nil {
		return nil // the store is closed: the next start counts the grant
	}
	return l.writes[len(l.writes)-1].Submitted
}

func (l *ledger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pause != nil {
		l.pause.Stop()
	}
	if w := l.takeBack(); w != nil {
		return w.Wait()
	}
	return nil
}
