package automatic

import (
	"errors"

	"postern/store"
	"postern/store/schema"
)

const (
	callAnswers = "call_answer"
	readsDue    = "read_due"
)

// Buckets returns the buckets of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: callAnswers, Owner: "instance/automatic", Key: "instance id + caller", Value: "when the caller was last sent the text that answers calls", Of: schema.FirstID},
		{Name: readsDue, Owner: "instance/automatic", Key: "instance id + n", Value: "JSON: a message that is to be marked as read", Needs: schema.References(schema.JSONOf[dueRead](0), "a message is not marked as read"), Of: schema.FirstID},
	}
}

// Forget removes the records of an instance.
func Forget(tx *store.Tx, instance int64) (err error) {
	for _, bucket := range []string{callAnswers, readsDue} {
		_, e := tx.DeletePrefix(bucket, store.Key(instance))
		err = errors.Join(err, e)
	}
	return err
}
