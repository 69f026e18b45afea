package device

import (
	"context"
	"encoding/binary"
	"fmt"

	"postern/store"
)

// maxNotices is how many notices are kept for one device. Its phone sends some dozens
// after the pairing.
const maxNotices = 10_000

func noticesPrefix(instance int64) []byte { return store.Key(instance, byte('Y')) }

func noticeKey(instance int64, id string) []byte { return append(noticesPrefix(instance), id...) }

// asked marks a notice with the id of the call that requested the piece: its length and
// the id follow, then the phone's notice, which cannot begin with this byte.
const asked = 0

// KeepNotice stores the phone's notice of a piece of history until the piece is read,
// under the id of its message, with the id of the call that requested it, if any. An
// existing notice of that id is not changed.
func (c *Container) KeepNotice(ctx context.Context, instance int64, id, call string, notice []byte) error {
	key := noticeKey(instance, id)
	if call != "" {
		notice = append(append(binary.AppendUvarint([]byte{asked}, uint64(len(call))), call...), notice...)
	}
	err := c.store.Update(ctx, func(tx *store.Tx) error {
		if tx.Has(deviceBucket, key) || !tx.Has(deviceBucket, recordKey(instance)) {
			return nil // known, or the device is gone
		}
		return tx.Put(deviceBucket, key, notice)
	})
	if err != nil {
		return fmt.Errorf("keep a notice of history for instance %d: %w", instance, err)
	}
	return nil
}

// Notices returns the ids of the stored notices of an instance.
func (c *Container) Notices(instance int64) (ids []string, err error) {
	prefix := noticesPrefix(instance)
	err = c.store.View(func(tx *store.Tx) error {
		return tx.Scan(deviceBucket, store.Range{Prefix: prefix, Limit: maxNotices}, func(k, _ []byte) (bool, error) {
			ids = append(ids, string(k[len(prefix):]))
			return true, nil
		})
	})
	return ids, err
}

// Notice returns a stored notice and its call, nil if there is none.
func (c *Container) Notice(instance int64, id string) (notice []byte, call string, err error) {
	err = c.store.View(func(tx *store.Tx) (err error) {
		notice, err = tx.Get(deviceBucket, noticeKey(instance, id))
		return err
	})
	if err != nil || len(notice) == 0 || notice[0] != asked {
		return notice, "", err
	}
	n, size := binary.Uvarint(notice[1:])
	rest := notice[1+max(0, size):]
	if size <= 0 || n > uint64(len(rest)) {
		return notice, "", nil // damaged: the reader detects it
	}
	return rest[n:], string(rest[:n]), nil
}

// DropNotice deletes a notice.
func (c *Container) DropNotice(ctx context.Context, instance int64, id string) error {
	return c.store.Update(ctx, func(tx *store.Tx) error { return c.DropNoticeTx(tx, instance, id) })
}

// DropNoticeTx is DropNotice in the caller's transaction.
func (c *Container) DropNoticeTx(tx *store.Tx, instance int64, id string) error {
	return tx.Delete(deviceBucket, noticeKey(instance, id))
}
