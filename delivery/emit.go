package delivery

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"

	"postern/delivery/outbox"
	"postern/event"
	"postern/store"
)

// Emit writes an instance event and a pending record for each destination as part of this
// commit, and wakes those who wait for Store.Woken. All destinations must be durable. A
// numbered event gets the next number of its instance. It is kept until ExpiresAt, and at
// least until the last of its deliveries is over and as long as the event before it. An
// event without a number is kept while a delivery needs it, and is not stored without a
// destination. Emit sets Seq, Sequence, CreatedAt and To; a zero ID gets a new one.
//
// It returns the event as it is stored.
func (l *Ledger) Emit(tx *store.Tx, e Event, numbered bool, to []event.Destination) (Event, error) {
	switch {
	case kindNumber(e.Kind) == 0:
		return e, fmt.Errorf("delivery: %q is no event", e.Kind)
	case !numbered && len(to) == 0:
		return e, nil
	}
	var err error
	if e.ID == uuid.Nil {
		if e.ID, err = uuid.NewRandom(); err != nil {
			return e, err
		}
	}
	if e.Seq, err = tx.NextID(events); err != nil {
		return e, err
	}
	e.CreatedAt = tx.Now()
	if !numbered {
		e.ExpiresAt = tx.Steady()
	}
	e.ExpiresAt = later(e.ExpiresAt, tx.Steady())
	if err = number(tx, &e, numbered); err != nil {
		return e, err
	}
	ends, err := l.address(tx, &e, to)
	if err != nil {
		return e, err
	}
	for at := range ends {
		err = errors.Join(err, putExpiry(tx, at, expiryEvent, e.Seq))
	}
	if numbered {
		err = errors.Join(err, putNewest(tx, e))
	}
	tx.Wake()
	return e, errors.Join(err, tx.Put(events, store.Key(e.Seq), encodeEvent(e)))
}

// address makes the records of an event. It returns the times at which the event and its
// records expire.
func (l *Ledger) address(tx *store.Tx, e *Event, to []event.Destination) (map[time.Time]bool, error) {
	e.To = make([]Addressee, 0, len(to))
	ends := map[time.Time]bool{}
	first := l.nextIDs(len(to))
	for i, d := range to {
		r := e.recordFor(d, tx.Steady())
		r.ID = first + uint64(i)
		var err error
		if d.Body != nil {
			r.OwnBody, r.Bytes = true, len(d.Body)
			if err = putOwn(tx, r.ID, e.OwnerJID, d.Body); err != nil {
				return nil, err
			}
		}
		if r.Line, err = lineFor(tx, r, d.Order); err != nil {
			return nil, err
		}
		head, err := l.addPending(tx, r, nil)
		if err != nil {
			return nil, err
		}
		e.To = append(e.To, Addressee{Lane: r.Lane, Due: Due{At: r.CreatedAt, Record: r.ID, Line: r.Line}, Head: head})
		ends[r.ExpiresAt] = true
		if e.Sequence != 0 {
			e.ExpiresAt = later(e.ExpiresAt, r.ExpiresAt)
		}
	}
	if e.Sequence != 0 {
		ends[e.ExpiresAt] = true
	}
	return ends, nil
}

// recordFor returns the record of a delivery of e that is made at the given steady time.
func (e Event) recordFor(d event.Destination, made time.Time) Record {
	if d.MaxAge <= 0 {
		d.MaxAge = DefaultMaxAge
	}
	r := Record{
		EventID: e.ID, Event: e.Kind, Lane: LaneOf(e.Instance, d), Instance: e.Instance, Name: e.Name,
		Chat: e.About.Chat, ChatLID: e.About.LID, URL: ShownURL(d.URL), RequestID: e.RequestID,
		State: Pending, Bytes: len(e.Body), CreatedAt: e.CreatedAt, ExpiresAt: made.Add(d.MaxAge), EventSeq: e.Seq,
	}
	if r.RequestID == "" {
		r.RequestID = uuid.NewString()
	}
	if e.Kind.IsCredential() {
		r.Access = d.Access()
	}
	return r
}

// ShownURL returns a URL as the log shows it: scheme, host, port and path, or "" for a text
// that is no URL. It caches the few URLs to which most deliveries go.
func ShownURL(raw string) string {
	shown.RLock()
	url, known := shown.of[raw]
	shown.RUnlock()
	if !known {
		url = shownURL(raw)
		shown.Lock()
		defer shown.Unlock()
		if len(shown.of) >= maxShown {
			clear(shown.of)
		}
		shown.of[raw] = url
	}
	return url
}

// shown caches recently shown URLs, maxShown at most.
var shown = struct {
	sync.RWMutex
	of map[string]string
}{of: map[string]string{}}

const maxShown = 1000

func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// lineFor returns the line in which a new record waits if its destination has an order. A chat
// is known by its phone, its LID or both, and the phone may be replaced by the LID while events
// wait: a new record joins the line in which others of the same chat already wait. Each replay
// has lines of its own, so that its records are in order and hold up no others.
func lineFor(tx *store.Tx, r Record, order event.Order) (Line, error) {
	kind := string(order)
	if r.Replay != 0 {
		kind = fmt.Sprintf("replay %d %s", r.Replay, order)
	}
	switch order {
	case event.OrderInstance:
		return lineOfChat(r.Instance, kind, ""), nil
	case event.OrderChat:
	default:
		return 0, nil
	}
	chat, lid := r.Chat, r.ChatLID
	if chat == "" {
		chat, lid = lid, ""
	}
	p := placeOf(r)
	p.line = lineOfChat(r.Instance, kind, chat)
	if lid == "" || lid == chat {
		return p.line, nil
	}
	line := p.line
	_, waits, err := firstOfLine(tx, p)
	if err != nil || waits {
		return line, err
	}
	p.line = lineOfChat(r.Instance, kind, lid)
	if _, waits, err = firstOfLine(tx, p); waits {
		line = p.line
	}
	return line, err
}

// lineOfChat returns the number of a line. If two lines share a number, they only lose speed.
func lineOfChat(instance int64, order, chat string) Line {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s\x00%d\x00%s", order, instance, chat)
	return Line(max(h.Sum64(), 1))
}

// nextIDs reserves n consecutive ids for new records and returns the first.
func (l *Ledger) nextIDs(n int) (first uint64) { return l.ids.Add(uint64(n)) - uint64(n) + 1 }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// EmitBatch makes the delivery of a batch event, in the commit that writes its
// entry of the outbox: a function for [outbox.Outbox.OnEmit].
func (l *Ledger) EmitBatch(tx *store.Tx, e outbox.Entry) (record uint64, err error) {
	r := l.batchRecord(e)
	_, err = l.addPending(tx, r, nil)
	return r.ID, err
}

func (l *Ledger) batchRecord(e outbox.Entry) Record {
	r := batchRecord(e, ShownURL(*l.url.Load()))
	r.ID = l.NextID()
	return r
}

func batchRecord(e outbox.Entry, url string) Record {
	return Record{
		EventID: BatchEventID(e), Event: e.Kind, Lane: OutboxLane, Batch: e.Batch, URL: url,
		State: Pending, Bytes: len(e.Body), CreatedAt: e.CreatedAt, OutboxSeq: e.Seq,
	}
}

// BatchEventID returns the id of a batch event: the webhook-id of all attempts
// to deliver it. It is derived from the event's owner and number, which are unique.
func BatchEventID(e outbox.Entry) uuid.UUID {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(e.Owner[:], e.OwnerSeq))
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 8<<4 // version 8
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return id
}

// Emitted returns a channel that is closed after the next commit that emits a batch event; nil
// without an outbox.
func (l *Ledger) Emitted() <-chan struct{} {
	if l.cfg.Outbox == nil {
		return nil
	}
	return l.cfg.Outbox.Emitted()
}
