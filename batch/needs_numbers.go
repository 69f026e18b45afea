package batch

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

const wrongNumber = "the totals of lists are wrong"

// markOf returns the id up to which batches are counted, nil for none.
func markOf(look *store.Lookup) []byte {
	mark, _ := look.Get(bucketNumber, countedKey)
	return bytes.Clone(mark)
}

// heldNumbers checks the numbers by status against the existing batches.
type heldNumbers struct {
	look *store.Lookup
	mark []byte
	more numberChanges
}

// add counts a batch, and returns its own needs.
func (n *heldNumbers) add(id, owner uuid.UUID, status event.BatchStatus) []store.Need {
	if bytes.Compare(id[:], n.mark) > 0 {
		return nil
	}
	if n.more == nil {
		n.more = numberChanges{}
	}
	n.more.note(owner, "", status)
	if !Final(status) {
		return nil
	}
	ended := belongs(bucketEnded, endedKey(owner, status, id), "a list of finished batches leaves one out")
	ended.Value = []byte{}
	return []store.Need{ended}
}

// needs returns the needs of all batches together.
func (n *heldNumbers) needs() (all []store.Need) {
	for _, key := range slices.Sorted(maps.Keys(n.more)) {
		right := n.more[key]
		delete(right, "")
		need := belongs(bucketNumber, []byte(key), wrongNumber)
		need.Value, _ = json.Marshal(right)
		need.Is = func(raw []byte) bool {
			var is byStatus
			return json.Unmarshal(raw, &is) == nil && maps.Equal(is, right)
		}
		all = append(all, need)
	}
	return all
}

// numberNeeds: a number belongs to an owner with batches.
func numberNeeds(look *store.Lookup) store.Needs {
	return func(key, _ []byte) []store.Need {
		owner, is := bytes.CutPrefix(key, []byte("user"))
		switch {
		case key == nil || bytes.Equal(key, countedKey):
			return nil
		case is && look.First(bucketOwner, owner, nil) != nil:
			return nil
		case bytes.Equal(key, allNumbersKey) && look.First(bucketHeader, nil, nil) != nil:
			return nil
		}
		return []store.Need{{Why: wrongNumber}}
	}
}

// endedNeeds checks that each entry of the list of finished batches names a finished batch.
func endedNeeds(*store.Lookup) store.Needs {
	const size = len(uuid.UUID{})
	return func(key, _ []byte) []store.Need {
		switch {
		case key == nil:
			return nil
		case len(key) != 2*size+1:
			return []store.Need{{Why: noBatch}}
		}
		n := belongs(bucketHeader, key[size+1:], "a list of finished batches has one that is not")
		code := key[size]
		n.Is = func(raw []byte) bool {
			h, err := decodeHeader(raw)
			return err != nil || Final(h.Status) && endedCode(h.Status) == code
		}
		return []store.Need{n}
	}
}
