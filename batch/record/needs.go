package record

import (
	"encoding/json"
	"math"

	"github.com/google/uuid"

	"postern/batch/table"
	"postern/store"
	"postern/store/schema"
)

// The references between the records of a batch. All of them appear in one commit, and
// are withdrawn in one; only items and attempts are written earlier, under the mark creating, and
// removed later, under the mark removing.

const (
	noBatch  = "it belongs to no batch"
	lostPart = "the content of the batch is unknown: it is lost, with its items"
	noItem   = "the recipient of an item is unknown"
)

// toHeader returns a reference to the batch whose id is in the key, from a byte on. ok
// reports whether the batch has the right status.
func toHeader(at int, why string, ok func(key []byte, h *Header) bool) schema.Ref[[]byte] {
	return func(_ *schema.Lookup, key, _ []byte) schema.Need {
		return schema.Need{Bucket: BucketHeader, Key: key[at:], Why: why, Is: func(raw []byte) bool {
			h, err := DecodeHeader(raw)
			return err != nil || ok(key, &h)
		}}
	}
}

var (
	toOwned = toHeader(16, noBatch, func([]byte, *Header) bool { return true })
	toOpen  = toHeader(0, "a batch counts as open that is not", func(_ []byte, h *Header) bool { return !table.Final(h.Status) })
	toEnded = toHeader(17, "a list of finished batches has one that is not", func(key []byte, h *Header) bool {
		return table.Final(h.Status) && endedCode(h.Status) == key[16]
	})
)

// noHeader is an unmet need of the mark of a batch that is being removed, which excludes the
// header.
func noHeader(look *schema.Lookup, key, _ []byte) (n schema.Need) {
	if look.Has(BucketHeader, key) {
		n.Why = "the items of a batch that exists are removed"
	}
	return n
}

// toBatch is the reference of an item or an attempt to its batch, which has no header
// while it is created or removed.
func toBatch[T any](look *schema.Lookup, key []byte, _ T) schema.Need {
	id := key[:16]
	header, found := look.Get(BucketHeader, id)
	switch {
	case found && ItemKeyPosition(key) >= totalIn(header) && !look.Has(BucketCreating, id):
		return schema.Need{Why: "its batch has fewer items"}
	case found || look.Has(BucketCreating, id) || look.Has(BucketRemoving, id):
		return schema.Need{}
	}
	return schema.Need{Bucket: BucketHeader, Key: id, Why: noBatch}
}

// totalIn returns the number of items in a header, without decoding the rest; of a damaged
// one more than any.
func totalIn(raw []byte) int {
	d := decoder{rest: raw}
	d.version(recordVersion)
	d.byte()  // flags
	d.bytes() // status
	d.bytes() // reason
	total := int(d.number())
	if d.bad {
		return math.MaxInt
	}
	return total
}

func openNeed(_ *schema.Lookup, key []byte, h Header) (n schema.Need) {
	if !table.Final(h.Status) {
		n = schema.Need{Bucket: BucketOpen, Key: key, Value: []byte{}, Why: "a batch that has not ended is not taken up after a start"}
	}
	return n
}

func ownedNeed(look *schema.Lookup, key []byte, _ Header) (n schema.Need) {
	if owner, known := ownerIn(look, key); known {
		n = schema.Need{Bucket: BucketOwner, Key: store.Key(owner, key), Value: []byte{}, Why: "its owner does not see a batch"}
	}
	return n
}

// ownerIn returns the owner of a batch.
func ownerIn(look *schema.Lookup, id []byte) (owner uuid.UUID, known bool) {
	var s struct{ Owner uuid.UUID }
	raw, _ := look.Get(BucketSpec, id)
	return s.Owner, raw != nil && json.Unmarshal(raw, &s) == nil
}

func headerNeeds(look *schema.Lookup) schema.Needs {
	refs := schema.References(schema.Decoded(16, DecodeHeader), lostPart,
		schema.ToSameKey[Header](BucketSpec, lostPart), schema.ToSameKey[Header](BucketMessage, lostPart), openNeed, ownedNeed)(look)
	numbers := heldNumbers{mark: markOf(look)}
	return func(key, value []byte) []schema.Need {
		if key == nil {
			return numbers.needs()
		}
		needs := refs(key, value)
		h, err := DecodeHeader(value)
		if err != nil || len(key) != 16 {
			return needs
		}
		if owner, known := ownerIn(look, key); known {
			needs = append(needs, numbers.add(uuid.UUID(key), owner, h.Status)...)
		}
		return append(needs, itemsOf(look, uuid.UUID(key), &h)...)
	}
}

// maxMissing bounds how many missing items of a batch are reported at once; the next check finds
// more.
const maxMissing = 1000

// itemsOf returns the needs of a batch to have its items, and to have counted them. While
// one is missing or cannot be read, the counts are not known.
func itemsOf(look *schema.Lookup, id uuid.UUID, h *Header) (needs []schema.Need) {
	n, whole := map[ItemStatus]int{}, true
	for p := 0; p < h.Counts.Total && len(needs) < maxMissing; p++ {
		raw, found := look.Get(BucketItem, ItemKey(id, p))
		if !found {
			needs = append(needs, lostItem(id, h, p))
			continue
		}
		if newer := h.Newest(p); newer != nil {
			raw = newer
		}
		r, err := DecodeItem(raw)
		whole = whole && err == nil
		n[r.ShownStatus()]++
	}
	right := *h
	right.Counts = table.Counts{
		Total: h.Counts.Total, Pending: n[ItemPending], Sending: n[ItemSending],
		Success: n[ItemSuccess], Failed: n[ItemFailed], Skipped: n[ItemSkipped], Unknown: n[ItemUnknown],
	}
	if len(needs) > 0 || !whole || right.Counts == h.Counts {
		return needs
	}
	return []schema.Need{{
		Bucket: BucketHeader, Key: id[:], Value: right.encode(), Why: "the numbers of a batch are not those of its items",
		Is: func([]byte) bool { return false },
	}}
}

// lostItem returns the need of an item, which is rebuilt as one with an unknown
// recipient. A pending one fails in its turn; one that was sent is UNKNOWN.
func lostItem(id uuid.UUID, h *Header, position int) schema.Need {
	var r Item
	if table.Final(h.Status) || position < h.Cursor {
		r = Item{Status: ItemUnknown, Code: CodeDamaged, Error: "the item's record in the data file was lost", UpdatedAt: h.UpdatedAt, EndedAt: h.UpdatedAt}
	}
	raw := r.Encode()
	if newer := h.Newest(position); newer != nil {
		raw = newer
	}
	return schema.Need{Bucket: BucketItem, Key: ItemKey(id, position), Value: raw, Why: noItem}
}

// CodeDamaged is the code of an item whose record was damaged.
const CodeDamaged = "RECORD_DAMAGED"
