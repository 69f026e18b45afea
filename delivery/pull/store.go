package pull

import (
	"bytes"
	"encoding/binary"
	"errors"

	"postern/delivery/layout"
	"postern/event"
	"postern/store"
	"postern/store/schema"
)

const (
	consumers = "delivery_consumer"
	losses    = "delivery_loss"
)

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: consumers, Owner: "delivery/pull", Key: "instance + name", Value: "JSON: a consumer's position in the events of the instance", Needs: schema.References(schema.JSONOf[record](0), "a consumer is lost"), Of: ownerOfConsumer},
		{Name: losses, Owner: "delivery/pull", Key: "instance + number of the last event before the loss", Value: "how many events of the instance were not stored so far", Needs: schema.References(schema.Sized(16), ""), Of: ownerOfConsumer},
	}
}

// record is a consumer as stored.
type record struct {
	Position uint64     `json:"position"` // of the last event that it has
	Passed   uint64     `json:"passed"`   // losses that a seek has passed
	Pulled   event.Time `json:"pulled,omitzero"`
	Acked    event.Time `json:"acked,omitzero"`
}

// ownerOfConsumer is [schema.Bucket.Of]: consumers of all events belong to no instance.
func ownerOfConsumer(look *schema.Lookup, key, value []byte) []byte {
	if len(key) >= 8 && bytes.Equal(key[:8], store.Key(All)) {
		return nil
	}
	return schema.FirstID(look, key, value)
}

func consumerKey(instance int64, name string) []byte { return store.Key(instance, name) }

func instanceOf(key []byte) int64 {
	return int64(binary.BigEndian.Uint64(key)) //nolint:gosec // as it was written
}

// find returns a consumer. Errors: ErrNotFound, store.ErrDamaged.
func find(tx *store.Tx, instance int64, name string) (record, error) {
	r, found, err := store.GetJSON[record](tx, consumers, consumerKey(instance, name))
	if err == nil && !found {
		err = ErrNotFound
	}
	return r, err
}

func put(tx *store.Tx, instance int64, name string, r record) error {
	return store.PutJSON(tx, consumers, consumerKey(instance, name), r)
}

// Forget removes the consumers of an instance in the caller's transaction. It ends pulls that wait.
func Forget(tx *store.Tx, instance int64) error {
	tx.Wake() // pulls may wait
	_, err := tx.DeletePrefix(consumers, store.Key(instance))
	_, err2 := tx.DeletePrefix(losses, store.Key(instance))
	return errors.Join(err, err2)
}

// addLoss notes n events that follow the newest of an instance and were not stored, and removes the notes that no
// consumer can reach. One between the oldest event and that before it stays: a consumer may stand there.
func (c *Consumers) addLoss(tx *store.Tx, instance int64, n uint64) error {
	at, err := newestOf(tx, instance)
	if err != nil {
		return err
	}
	total, err := lost(tx, instance, at)
	if err != nil {
		return err
	}
	oldest, err := c.oldestOf(tx, instance)
	if err != nil {
		return err
	}
	var old [][]byte
	err = tx.Walk(losses, store.Range{Prefix: store.Key(instance), Before: store.Key(instance, max(oldest, 1)-1)}, func(k []byte) (bool, error) {
		old = append(old, append([]byte(nil), k...))
		return true, nil
	})
	for _, k := range old {
		err = errors.Join(err, tx.Delete(losses, k))
	}
	return errors.Join(err, tx.Put(losses, store.Key(instance, at), store.Key(total+n)))
}

// lost returns how many events of an instance were not stored up to the one that follows an event.
func lost(tx *store.Tx, instance int64, upTo uint64) (total uint64, err error) {
	err = eachLoss(tx, store.Range{Prefix: store.Key(instance), Before: store.Key(instance, upTo+1), Reverse: true}, func(_, n uint64) bool {
		total = n
		return false
	})
	return total, err
}

// eachLoss calls fn with the losses of a range, until fn returns false: the event before, and the number so far.
func eachLoss(tx *store.Tx, r store.Range, fn func(at, total uint64) bool) error {
	return tx.Scan(losses, r, func(k, v []byte) (bool, error) {
		if len(k) != 16 || len(v) != 8 {
			return true, tx.Unreadable(losses, k, layout.ErrValue)
		}
		return fn(binary.BigEndian.Uint64(k[8:]), binary.BigEndian.Uint64(v)), nil
	})
}
