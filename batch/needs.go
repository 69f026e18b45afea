package batch

import (
	"bytes"
	"encoding/json"

	"github.com/google/uuid"

	"postern/batch/table"
	"postern/store"
)

// The references between the records of a batch. All of them appear in one commit, and
// are withdrawn in one; only items and attempts are written earlier, under the mark creating, and
// removed later, under the mark removing.

const (
	noBatch  = "it belongs to no batch"
	lostPart = "the content of the batch is unknown: it is lost, with its items"
)

func belongs(bucket string, id []byte, why string) store.Need {
	return store.Need{Bucket: bucket, Key: bytes.Clone(id), Why: why}
}

// toOwned is the reference of an entry of an owner's list.
func toOwned(_ *store.Lookup, key, _ []byte) store.Need {
	return belongs(bucketHeader, key[16:], noBatch)
}

// toOpenBatch is the reference of an entry of the list of open batches.
func toOpenBatch(_ *store.Lookup, key, _ []byte) store.Need {
	n := belongs(bucketHeader, key, "a batch counts as open that is not")
	n.Is = func(raw []byte) bool {
		h, err := decodeHeader(raw)
		return err != nil || !table.Final(h.Status)
	}
	return n
}

// toEndedBatch is the reference of an entry of the list of finished batches.
func toEndedBatch(_ *store.Lookup, key, _ []byte) store.Need {
	n := belongs(bucketHeader, key[17:], "a list of finished batches has one that is not")
	code := key[16]
	n.Is = func(raw []byte) bool {
		h, err := decodeHeader(raw)
		return err != nil || table.Final(h.Status) && endedCode(h.Status) == code
	}
	return n
}

// noHeader is an unmet need of a mark, which excludes the header: the mark of a batch that
// is being created or removed.
func noHeader(look *store.Lookup, key, _ []byte) (n store.Need) {
	if look.Has(bucketHeader, key) {
		n.Why = "the items of a batch that exists are removed"
	}
	return n
}

// toHeaderUnlessRemoved is the reference of an attempt.
func toHeaderUnlessRemoved(look *store.Lookup, key, _ []byte) store.Need {
	switch {
	case len(key) < 16:
		return store.Need{Why: noBatch}
	case look.Has(bucketRemoving, key[:16]):
		return store.Need{}
	}
	return belongs(bucketHeader, key[:16], noBatch)
}

func headerNeeds(look *store.Lookup) store.Needs {
	numbers := heldNumbers{look: look, mark: markOf(look)}
	return func(key, value []byte) []store.Need {
		if key == nil {
			return numbers.needs()
		}
		h, err := decodeHeader(value)
		if err != nil || len(key) != 16 {
			return []store.Need{{Why: lostPart}}
		}
		needs := []store.Need{belongs(bucketSpec, key, lostPart), belongs(bucketMessage, key, lostPart)}
		if !table.Final(h.Status) {
			open := belongs(bucketOpen, key, "a batch that has not ended is not taken up after a start")
			open.Value = []byte{}
			needs = append(needs, open)
		}
		var s struct{ Owner uuid.UUID }
		if raw, _ := look.Get(bucketSpec, key); raw != nil && json.Unmarshal(raw, &s) == nil {
			owned := belongs(bucketOwner, store.Key(s.Owner, key), "its owner does not see a batch")
			owned.Value = []byte{}
			needs = append(needs, owned)
			needs = append(needs, numbers.add(uuid.UUID(key), s.Owner, h.Status)...)
		}
		if h.Counts.Total > 0 && look.First(bucketItem, key, nil) == nil {
			needs = append(needs, lostItem(key, &h, 0)) // no other check reads its items
		}
		return needs
	}
}

// itemNeeds goes through the items of one batch after another, and checks them against
// the numbers in its header.
func itemNeeds(look *store.Lookup) store.Needs {
	c := itemCount{look: look}
	return func(key, value []byte) []store.Need {
		if key != nil && len(key) != 24 {
			return []store.Need{{Why: noBatch}}
		}
		var needs []store.Need
		if key == nil || !bytes.Equal(c.id, key[:16]) {
			needs = c.end()
			c.begin(key)
		}
		switch {
		case key == nil || c.staged:
		case !c.known:
			needs = append(needs, belongs(bucketHeader, c.id, noBatch))
		default:
			needs = append(needs, c.add(key, value)...)
		}
		return needs
	}
}

// itemCount counts the items of a batch.
type itemCount struct {
	look   *store.Lookup
	id     []byte
	staged bool   // it is being made, or removed: it has no header
	known  bool   // it has a header
	header header // of one that can be read
	whole  bool   // it can, and so can all items so far
	next   int    // position that has not been seen
	counts table.Counts
}

func (c *itemCount) begin(key []byte) {
	*c = itemCount{look: c.look}
	if key == nil {
		return
	}
	c.id = bytes.Clone(key[:16])
	c.staged = c.look.Has(bucketCreating, c.id) || c.look.Has(bucketRemoving, c.id)
	raw, found := c.look.Get(bucketHeader, c.id)
	if c.known = found; raw != nil {
		var err error
		c.header, err = decodeHeader(bytes.Clone(raw)) // of which it is a part
		c.whole = err == nil
	}
}

// add takes the next item, and reports those that are missing before it.
func (c *itemCount) add(key, value []byte) []store.Need {
	position := itemKeyPosition(key)
	if c.whole && position >= c.header.Counts.Total {
		return []store.Need{{Why: "its batch has fewer items"}}
	}
	needs := c.missing(position)
	c.next = position + 1
	if newer := c.header.recent(position); newer != nil {
		value = newer
	}
	r, err := decodeItem(value)
	if err != nil {
		return append(needs, store.Need{Why: "the recipient of an item is unknown"})
	}
	c.count(r.Status)
	return needs
}

func (c *itemCount) count(s ItemStatus) {
	c.counts.Total++
	switch s {
	case ItemSending:
		c.counts.Sending++
	case ItemSuccess:
		c.counts.Success++
	case ItemFailed:
		c.counts.Failed++
	case ItemSkipped:
		c.counts.Skipped++
	case ItemUnknown:
		c.counts.Unknown++
	default:
		c.counts.Pending++
	}
}

// missing reports missing items before a position. With a damaged one,
// nothing can be counted.
func (c *itemCount) missing(before int) (needs []store.Need) {
	for ; c.whole && c.next < before; c.next++ {
		if c.look.Has(bucketItem, itemKey(uuid.UUID(c.id), c.next)) {
			c.whole = false
			break
		}
		needs = append(needs, lostItem(c.id, &c.header, c.next))
		if len(needs) == maxMissing {
			c.whole = false
		}
	}
	return needs
}

// maxMissing bounds how many missing items of a batch are reported at once; the next check finds
// more.
const maxMissing = 1000

// lostItem returns the need of an item, which is rebuilt as one with an unknown
// recipient. A pending one fails in its turn; one that was sent is UNKNOWN.
func lostItem(id []byte, h *header, position int) store.Need {
	var r itemRecord
	if table.Final(h.Status) || position < h.Cursor {
		r = itemRecord{Status: ItemUnknown, Code: codeDamaged, Error: "the item's record in the data file was lost", UpdatedAt: h.UpdatedAt, EndedAt: h.UpdatedAt}
	}
	raw := r.encode()
	if newer := h.recent(position); newer != nil {
		raw = bytes.Clone(newer)
	}
	return store.Need{Bucket: bucketItem, Key: itemKey(uuid.UUID(id), position), Value: raw, Why: "the recipient of an item is unknown"}
}

// end checks the counts against the header. With items missing or damaged, they are not
// known yet.
func (c *itemCount) end() []store.Need {
	if !c.known || c.staged || !c.whole {
		return nil
	}
	if needs := c.missing(c.header.Counts.Total); len(needs) > 0 || c.counts.Total != c.header.Counts.Total {
		return needs
	}
	h, right := c.header, c.counts
	h.Counts = right
	n := belongs(bucketHeader, c.id, "the numbers of a batch are not those of its items")
	n.Value = h.encode()
	n.Is = func(raw []byte) bool {
		is, err := decodeHeader(raw)
		return err == nil && is.Counts == right
	}
	return []store.Need{n}
}
