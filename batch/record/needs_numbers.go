package record

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/uuid"

	"postern/batch/table"
	"postern/event"
	"postern/store/schema"
)

const wrongNumber = "the totals of lists are wrong"

// markOf returns the id up to which batches are counted, nil for none.
func markOf(look *schema.Lookup) []byte {
	mark, _ := look.Get(BucketNumber, CountedKey)
	return bytes.Clone(mark)
}

// heldNumbers checks the numbers by status against the existing batches.
type heldNumbers struct {
	mark []byte
	more NumberChanges
}

// add counts a batch, and returns its own needs.
func (n *heldNumbers) add(id, owner uuid.UUID, status event.BatchStatus) []schema.Need {
	if bytes.Compare(id[:], n.mark) > 0 {
		return nil
	}
	if n.more == nil {
		n.more = NumberChanges{}
	}
	n.more.Note(owner, "", status)
	if !table.Final(status) {
		return nil
	}
	return []schema.Need{{Bucket: BucketEnded, Key: endedKey(owner, status, id), Value: []byte{}, Why: "a list of finished batches leaves one out"}}
}

// needs returns the needs of all batches together.
func (n *heldNumbers) needs() (all []schema.Need) {
	for _, key := range slices.Sorted(maps.Keys(n.more)) {
		right := n.more[key]
		delete(right, "")
		need := schema.Need{Bucket: BucketNumber, Key: []byte(key), Why: wrongNumber}
		need.Value, _ = json.Marshal(right)
		need.Is = func(raw []byte) bool {
			var is ByStatus
			return json.Unmarshal(raw, &is) == nil && maps.Equal(is, right)
		}
		all = append(all, need)
	}
	return all
}

// batchesCounted is an unmet need of a number of an owner without batches.
func batchesCounted(look *schema.Lookup, key, _ []byte) (n schema.Need) {
	owner, is := bytes.CutPrefix(key, []byte("user"))
	switch {
	case bytes.Equal(key, CountedKey):
	case is && look.First(BucketOwner, owner, nil) != nil:
	case bytes.Equal(key, AllNumbersKey) && look.First(BucketHeader, nil, nil) != nil:
	default:
		n.Why = wrongNumber
	}
	return n
}
