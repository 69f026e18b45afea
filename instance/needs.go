package instance

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

// References between the records of an instance. Records that belong to an instance are
// deleted in its commit; their buckets declare it with [schema.Bucket.Of].

// Owner requires the instance with that key: see [schema.OwnedBy].
func Owner(id []byte) schema.Need {
	return schema.Need{Bucket: instances, Key: bytes.Clone(id), Why: "it belongs to no instance"}
}

// There returns ErrNotFound for a deleted instance. Other packages call it in commits
// that store records for one.
func There(tx *store.Tx, id int64) error {
	if tx.Has(instances, store.Key(id)) {
		return nil
	}
	return ErrNotFound
}

// unknownProxy replaces an unreadable proxy: while it exists, nothing dials without a
// proxy.
func unknownProxy([]byte) []byte { return []byte("{}") }

// readableProxy is the need of a proxy to be readable.
func readableProxy(_ *schema.Lookup, key, _ []byte) schema.Need {
	return schema.Need{
		Bucket: proxies, Key: key, Value: unknownProxy(key), Why: "an instance does not connect until its proxy is set again or deleted",
		Is: func(raw []byte) bool { return json.Unmarshal(raw, new(storedProxy)) == nil },
	}
}

var errID = errors.New("the record is not that of its key")

func decodeInstance(key, value []byte) (r Record, err error) {
	if err = json.Unmarshal(value, &r); err == nil && (r.ID != store.Number(key) || r.Name == "") {
		err = errID
	}
	return r, err
}

// toName is the reference of an instance to its name.
func toName(_ *schema.Lookup, key []byte, r Record) schema.Need {
	return schema.Need{Bucket: instanceName, Key: []byte(r.Name), Value: key, Why: "another instance can be given its name"}
}

// nameToInstance is the reference of a name to its instance. An instance of which only the
// name is left is restored, so that its messages and keys remain; it is disconnected and
// needs a new token.
func nameToInstance(look *schema.Lookup, key, value []byte) schema.Need {
	if len(value) != 8 {
		return schema.Need{Why: "a name belongs to no instance"}
	}
	n := schema.Need{
		Bucket: instances, Key: value, Why: "only the name of an instance is left: its owner, token, description and attributes are lost",
		Is: func(raw []byte) bool {
			var r Record
			return json.Unmarshal(raw, &r) != nil || r.Name == string(key)
		},
	}
	if !look.Has(instances, value) {
		n.Value, _ = json.Marshal(Record{
			ID: store.Number(value), Name: string(key), Status: event.Disconnected, ExternalAttributes: event.Attributes("{}"),
			LastError: "its record was lost and restored: issue a new token", CreatedAt: event.At(time.Now()), UpdatedAt: event.At(time.Now()),
		})
	}
	return n
}
