package kept

import (
	"encoding/binary"
	"errors"
	"time"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

const (
	filesBucket = "media_file"
	dueBucket   = "media_file_due"
	oldBucket   = "media_file_old"
	goneBucket  = "media_file_gone"
)

// State is the state of a file.
type State string

// The states.
const (
	Pending State = "PENDING"
	Stored  State = "STORED"
	Failed  State = "FAILED"  // given up
	Skipped State = "SKIPPED" // never tried
	Removed State = "REMOVED" // was kept
)

// States returns all states.
func States() []State { return []State{Pending, Stored, Failed, Skipped, Removed} }

// Reason says why a file has its state.
type Reason string

// The reasons.
const (
	BySize      Reason = "SIZE"
	ByQuota     Reason = "QUOTA"
	DiskFull    Reason = "DISK_FULL"
	Gone        Reason = "GONE"
	Invalid     Reason = "INVALID"
	Unreachable Reason = "UNREACHABLE"
	ByRetention Reason = "RETENTION"
	Deleted     Reason = "DELETED"
)

// Record is the state of the file of a message.
type Record struct {
	State    State      `json:"state"`
	Reason   Reason     `json:"reason,omitempty"`
	Attempts int        `json:"attempts,omitempty"`
	Since    int64      `json:"since"`         // Unix ms of the wish
	Due      int64      `json:"due,omitempty"` // Unix ms of the next attempt
	Size     int64      `json:"size,omitempty"`
	Type     string     `json:"type,omitempty"` // of the content, see display.Examiner
	StoredAt event.Time `json:"storedAt,omitzero"`
	Event    uint64     `json:"event,omitempty"` // stored event that has the file's address
	Free     int64      `json:"free,omitempty"`  // Unix ms when its deliveries were found ended, if the time of the last attempt is unknown
}

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	const why = "the file of a message is not kept: a download fetches it"
	return []schema.Bucket{
		{Name: filesBucket, Owner: "media/kept", Key: "instance id + message id", Value: "JSON: state of the file, when and why", Needs: schema.References(schema.JSONOf[Record](16), why), Of: schema.FirstID},
		{Name: dueBucket, Owner: "media/kept", Key: "instance id + Unix ms + message id", Value: "nothing", Needs: schema.References(schema.Sized(24), why, toFile), Of: schema.FirstID},
		{Name: oldBucket, Owner: "media/kept", Key: "instance id + Unix ms + message id", Value: "nothing", Needs: schema.References(schema.Sized(24), why, toFile), Of: schema.FirstID},
		{Name: goneBucket, Owner: "media/kept", Key: "instance id + message id, 0: all files", Value: "size, 8 bytes", Needs: schema.References(schema.Sized(16), "a file is not removed before the next start")},
	}
}

// toFile is the reference of an index to its file.
func toFile(_ *schema.Lookup, key, _ []byte) schema.Need {
	return schema.Need{Bucket: filesBucket, Key: append(append([]byte(nil), key[:8]...), key[16:]...), Why: "an index has no file"}
}

// Forget deletes the records of an instance, in the commit that deletes the instance. The
// files are removed after it.
func Forget(tx *store.Tx, instance int64) error {
	n, err := tx.DeletePrefix(filesBucket, store.Key(instance))
	for _, bucket := range []string{dueBucket, oldBucket} {
		_, e := tx.DeletePrefix(bucket, store.Key(instance))
		err = errors.Join(err, e)
	}
	if n > 0 {
		err = errors.Join(err, tx.Put(goneBucket, store.Key(instance, int64(0)), store.Key(int64(0))))
	}
	return err
}

// Drop deletes the record of a message, in the commit that deletes the message. The file
// is removed after it.
func Drop(tx *store.Tx, instance, message int64) error {
	old, found, err := get(tx, instance, message)
	if err != nil && !errors.Is(err, store.ErrDamaged) || !found && err == nil {
		return err
	}
	return errors.Join(
		unindex(tx, instance, message, old),
		tx.Delete(filesBucket, store.Key(instance, message)),
		tx.Put(goneBucket, store.Key(instance, message), store.Key(countedSize(old))),
	)
}

// Has reports whether the file of a message is kept.
func Has(tx *store.Tx, instance, message int64) bool {
	r, found, err := get(tx, instance, message)
	return err == nil && found && r.State == Stored
}

func countedSize(r Record) int64 {
	if r.State == Stored {
		return r.Size
	}
	return 0
}

func get(tx *store.Tx, instance, message int64) (r Record, found bool, err error) {
	return store.GetJSON[Record](tx, filesBucket, store.Key(instance, message))
}

// put stores a record with its indexes.
func put(tx *store.Tx, instance, message int64, old, r Record) error {
	err := errors.Join(unindex(tx, instance, message, old), store.PutJSON(tx, filesBucket, store.Key(instance, message), r))
	switch r.State {
	case Pending:
		err = errors.Join(err, tx.Put(dueBucket, store.Key(instance, r.Due, message), nil))
	case Stored:
		err = errors.Join(err, tx.Put(oldBucket, store.Key(instance, r.StoredAt.UnixMilli(), message), nil))
	case Failed, Skipped, Removed:
	}
	return err
}

func unindex(tx *store.Tx, instance, message int64, old Record) error {
	switch old.State {
	case Pending:
		return tx.Delete(dueBucket, store.Key(instance, old.Due, message))
	case Stored:
		return tx.Delete(oldBucket, store.Key(instance, old.StoredAt.UnixMilli(), message))
	case Failed, Skipped, Removed:
	}
	return nil
}

// row is a decoded key of an index.
type row struct {
	instance int64
	at       time.Time
	message  int64
}

func rowOf(key []byte) (r row, ok bool) {
	if len(key) != 24 {
		return r, false
	}
	n := func(i int) int64 { return int64(binary.BigEndian.Uint64(key[8*i:])) } //nolint:gosec // as put wrote it
	return row{n(0), time.UnixMilli(n(1)), n(2)}, true
}
