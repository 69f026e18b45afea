package instance

import (
	"bytes"
	"encoding/json"
	"time"

	"postern/event"
	"postern/store"
)

// References between the records of an instance. Records that belong to an instance are
// deleted in its commit. Other packages declare their records' references to an instance
// with Owner.

// eachRecord is Needs without a check at the end of the bucket.
func eachRecord(fn func(key, value []byte) []store.Need) store.Needs {
	return func(key, value []byte) []store.Need {
		if key == nil {
			return nil
		}
		return fn(key, value)
	}
}

// Owner requires the instance with that key: see [store.OwnedBy].
func Owner(id []byte) store.Need {
	return store.Need{Bucket: instances, Key: bytes.Clone(id), Why: "it belongs to no instance"}
}

// There returns ErrNotFound for a deleted instance. Other packages call it in commits
// that store records for one.
func There(tx *store.Tx, id int64) error {
	if tx.Has(instances, store.Key(id)) {
		return nil
	}
	return ErrNotFound
}

// ownedNeeds is for keys that begin with an instance id.
func ownedNeeds(*store.Lookup) store.Needs {
	return eachRecord(func(key, _ []byte) []store.Need {
		if len(key) < 8 {
			return []store.Need{{Why: "it belongs to no instance"}}
		}
		return []store.Need{Owner(key[:8])}
	})
}

// ownedJSON is ownedNeeds for JSON of a T.
func ownedJSON[T any](why string) func(*store.Lookup) store.Needs {
	return func(look *store.Lookup) store.Needs {
		owned := ownedNeeds(look)
		return func(key, value []byte) []store.Need {
			if key != nil && json.Unmarshal(value, new(T)) != nil {
				return []store.Need{{Why: why}}
			}
			return owned(key, value)
		}
	}
}

// unknownProxy replaces an unreadable proxy: while it exists, nothing dials without a
// proxy.
func unknownProxy([]byte) []byte { return []byte("{}") }

// proxyNeeds checks that the proxy of an instance is readable.
func proxyNeeds(look *store.Lookup) store.Needs {
	owned := ownedNeeds(look)
	is := func(raw []byte) bool { return json.Unmarshal(raw, new(storedProxy)) == nil }
	return func(key, value []byte) []store.Need {
		all := owned(key, value)
		if key != nil && !is(value) {
			all = append(all, store.Need{
				Bucket: proxies, Key: bytes.Clone(key), Is: is, Value: unknownProxy(key),
				Why: "an instance does not connect until its proxy is set again or deleted",
			})
		}
		return all
	}
}

func instanceNeeds(*store.Lookup) store.Needs {
	return eachRecord(func(key, value []byte) []store.Need {
		var r Record
		if json.Unmarshal(value, &r) != nil || r.ID != number(key) || r.Name == "" {
			return []store.Need{{Why: "an instance is lost"}}
		}
		return []store.Need{{Bucket: instanceName, Key: []byte(r.Name), Value: bytes.Clone(key), Why: "another instance can be given its name"}}
	})
}

// nameNeeds checks that each name has its instance. An instance of which only the name is
// left is restored, so that its messages and keys remain; it is disconnected and needs a
// new token.
func nameNeeds(look *store.Lookup) store.Needs {
	return eachRecord(func(key, value []byte) []store.Need {
		if len(value) != 8 {
			return []store.Need{{Why: "a name belongs to no instance"}}
		}
		n := store.Need{
			Bucket: instances, Key: bytes.Clone(value), Why: "only the name of an instance is left: its owner, token, description and attributes are lost",
			Is: func(raw []byte) bool {
				var r Record
				return json.Unmarshal(raw, &r) != nil || r.Name == string(key)
			},
		}
		if !look.Has(instances, value) {
			n.Value, _ = json.Marshal(Record{
				ID: number(value), Name: string(key), Status: event.Disconnected, ExternalAttributes: event.Attributes("{}"),
				LastError: "its record was lost and restored: issue a new token", CreatedAt: event.At(time.Now()), UpdatedAt: event.At(time.Now()),
			})
		}
		return []store.Need{n}
	})
}
