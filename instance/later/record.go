package later

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

const (
	sends = "scheduled_send"
	late  = "scheduled_late"
	begun = "scheduled_begun"
	files = "scheduled_file"

	processing = "processing"
)

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: sends, Owner: "instance/later", Key: "instance id + UUID, whose time is that of the send", Value: "JSON: a send that was accepted and has not ended", Needs: schema.References(schema.JSONOf[record](24), "a scheduled send is lost", toLate), Of: schema.FirstID},
		{Name: late, Owner: "instance/later", Key: "instance id + deadline in milliseconds + UUID", Value: "nothing", Needs: schema.References(schema.Sized(32), "", lateToSend), Of: schema.FirstID},
		{Name: begun, Owner: "instance/later", Key: "instance id + UUID", Value: "nothing: the message may have left", Needs: schema.References(schema.Sized(24), "", schema.ToSameKey[[]byte](sends, "no scheduled send has begun there")), Of: schema.FirstID},
		{Name: files, Owner: "instance/later", Key: "instance id + UUID + number of the piece", Value: "piece of a file to send", Needs: schema.References(schema.Sized(32), ""), Of: schema.FirstID},
		{Name: processing, Owner: "instance/later", Key: "instance id + process id", Value: "JSON: a send that was accepted and has not ended", Needs: schema.References(schema.JSONOf[job](0), "the result of a send is not reported"), Of: schema.FirstID},
	}
}

// toLate is the reference of a send to its deadline.
func toLate(_ *schema.Lookup, key []byte, r record) schema.Need {
	id := uuid.UUID(key[8:])
	return schema.Need{Bucket: late, Key: lateKey(store.Number(key[:8]), id, r.LateMax), Value: []byte{}, Why: "a scheduled send that is too late is not reported"}
}

// lateToSend is the reference of a deadline to its send.
func lateToSend(_ *schema.Lookup, key, _ []byte) schema.Need {
	return schema.Need{Bucket: sends, Key: sendKey(key), Why: "there is no scheduled send with this deadline"}
}

// record is a scheduled send as stored.
type record struct {
	Out        event.Outgoing   `json:"out"` // without the file
	LateMax    int64            `json:"lateMax"`
	Attributes event.Attributes `json:"attributes,omitempty"`
	RequestID  string           `json:"requestId"`
	Key        uuid.UUID        `json:"key,omitzero"` // the scoped key that scheduled it
	CreatedAt  event.Time       `json:"createdAt"`
	File       *keptFile        `json:"file,omitempty"`
}

// keptFile describes the file of a send, whose content is in pieces.
type keptFile struct {
	event.MediaInfo
	Pieces int `json:"pieces"`
}

// waiting is a stored send with its key.
type waiting struct {
	record
	instance int64
	id       uuid.UUID
}

func (w *waiting) key() []byte { return store.Key(w.instance, w.id) }

// deadline returns the key of the send's deadline.
func (w *waiting) deadline() []byte { return lateKey(w.instance, w.id, w.LateMax) }

// last returns the time until which the send may begin.
func (w *waiting) last() time.Time {
	return timeOf(w.id).Add(time.Duration(w.LateMax) * time.Millisecond)
}

// pieces returns the number of pieces of the file, 0 without one.
func (w *waiting) pieces() int {
	if w.File == nil {
		return 0
	}
	return w.File.Pieces
}

// read returns a stored send. Errors: ErrNotFound, store.ErrDamaged.
func read(tx *store.Tx, instance int64, id uuid.UUID) (*waiting, error) {
	r, found, err := store.GetJSON[record](tx, sends, store.Key(instance, id))
	if err == nil && !found {
		err = ErrNotFound
	}
	return &waiting{r, instance, id}, err
}

// decode is read for a scanned record. If it cannot be read, the error wraps
// store.ErrDamaged.
func decode(tx *store.Tx, key, value []byte) (*waiting, error) {
	w := &waiting{instance: store.Number(key[:8]), id: uuid.UUID(key[8:])}
	if err := json.Unmarshal(value, &w.record); err != nil {
		return nil, tx.Unreadable(sends, key, err)
	}
	return w, nil
}

// remove removes everything of a send with that deadline.
func remove(tx *store.Tx, deadline []byte) error {
	key := sendKey(deadline)
	_, err := tx.DeletePrefix(files, key)
	return errors.Join(err, tx.Delete(sends, key), tx.Delete(late, deadline), tx.Delete(begun, key))
}

// Forget removes the sends of an instance in the caller's transaction.
func Forget(tx *store.Tx, instance int64) (err error) {
	for _, bucket := range []string{sends, late, begun, files, processing} {
		_, e := tx.DeletePrefix(bucket, store.Key(instance))
		err = errors.Join(err, e)
	}
	return err
}

// sendKey returns the key of the send with a deadline.
func sendKey(deadline []byte) []byte { return store.Key(deadline[:8], deadline[16:]) }

func lateKey(instance int64, id uuid.UUID, lateMax int64) []byte {
	return store.Key(instance, timeOf(id).UnixMilli()+lateMax, id)
}

// newID returns an id for a send at a time, which was accepted at another. Of two sends at
// the same time, the one that was accepted earlier has the smaller id.
func newID(at, accepted time.Time) (id uuid.UUID) {
	ms, order := uint64(at.UnixMilli()), uint64(accepted.UnixMilli()) //nolint:gosec // after 1970
	binary.BigEndian.PutUint64(id[:8], ms<<16|0x7000|order>>32&0xfff)
	binary.BigEndian.PutUint64(id[8:], 0x80<<56|order&0xffff_ffff<<24)
	_, _ = rand.Read(id[13:]) // never fails
	return id
}

// timeOf returns the time of the send with an id.
func timeOf(id uuid.UUID) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16)).UTC() //nolint:gosec // 48 bits
}
