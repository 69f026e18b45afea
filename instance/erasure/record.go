package erasure

import (
	"errors"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

const erasures = "erasure"

// State is the state of an erasure.
type State string

// The states.
const (
	Running State = "running"
	Done    State = "done"
)

// Removed counts what an erasure has removed.
type Removed struct {
	Messages   int `json:"messages" doc:"Stored messages that it has removed." example:"12" rules:"minimum=0"`
	Files      int `json:"files" doc:"Kept files that it has removed." example:"3" rules:"minimum=0"`
	Contacts   int `json:"contacts" doc:"Contacts that it has removed." example:"1" rules:"minimum=0"`
	Deliveries int `json:"deliveries" doc:"Deliveries and events whose bodies it has removed." example:"20" rules:"minimum=0"`
}

// record is an erasure as stored.
type record struct {
	At    event.Time `json:"at"`
	Names []string   `json:"names,omitempty"` // addresses; none once it is done
	State State      `json:"state"`
	Removed

	Part int      `json:"part,omitempty"` // index of parts
	From uint64   `json:"from,omitempty"` // where the part continues
	UpTo []uint64 `json:"upTo,omitempty"` // the newest id of each part at its beginning
}

// Buckets returns the bucket of this package.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: erasures, Owner: "instance/erasure", Key: "instance id + UUID", Value: "JSON: whose data is removed, how far it is, and what was removed", Needs: schema.References(schema.JSONOf[record](24), "an erasure does not continue: ask for it again"), Of: schema.FirstID},
	}
}

func key(instance int64, id uuid.UUID) []byte { return store.Key(instance, id) }

// get returns the record of an erasure. Errors: ErrNotFound.
func get(tx *store.Tx, instance int64, id uuid.UUID) (r record, err error) {
	r, found, err := store.GetJSON[record](tx, erasures, key(instance, id))
	if err == nil && !found || errors.Is(err, store.ErrDamaged) {
		err = ErrNotFound
	}
	return r, err
}

// Forget removes the erasures of an instance, in the commit that deletes it.
func Forget(tx *store.Tx, instance int64) error {
	_, err := tx.DeletePrefix(erasures, store.Key(instance))
	return err
}
