package optout

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"postern/store"
	"postern/store/schema"
)

const (
	bucketEntry     = "optout"
	bucketCampaign  = "optout_campaign"
	bucketContacted = "optout_contacted"

	contactKey = 24 // bytes of a key of bucketContacted
)

var errShape = errors.New("a record of another shape")

// Buckets declares the buckets of this package.
func Buckets() []schema.Bucket {
	const owner = "batch/optout"
	return []schema.Bucket{
		{Name: bucketEntry, Owner: owner, Key: "owner + 0 + canonical phone number; owner + 1 + LID of a person whose number is unknown; owner + 2 + LID", Value: "JSON: number, reason, source, time, LIDs; under 2 the canonical number whose entry holds for the LID", When: entryMade, Needs: schema.References(decodeAny, "somebody who opted out is written to again", toEntry)},
		{Name: bucketCampaign, Owner: owner, Key: "batch", Value: "JSON: owner, folded opt-out words, instances", Append: true, Needs: schema.References(schema.Decoded(16, decodeCampaign), "the opt-out words of a batch are lost")},
		{Name: bucketContacted, Owner: owner, Key: "canonical phone number, its digits after a 1 in binary + batch", Value: "when the batch was about to write to the number, in milliseconds", When: contacted, Needs: schema.References(schema.Decoded(contactKey, decodeContact), "an answer to a batch is not recognized as an opt-out", toCampaign)},
	}
}

func decodeEntry(raw []byte) (e entry, err error) { return e, json.Unmarshal(raw, &e) }

// anyRecord is an entry, or the number of the one to which a LID leads.
type anyRecord struct {
	entry
	leads string
}

// decodeAny decodes a record of bucketEntry.
func decodeAny(k, raw []byte) (r anyRecord, err error) {
	const kind = 16
	if len(k) <= kind+1 || k[kind] >= noKind {
		return r, errShape
	}
	if k[kind] == alsoLID {
		r.leads = string(raw)
		return r, nil
	}
	r.entry, err = decodeEntry(raw)
	return r, err
}

// toEntry is the reference of a LID to the entry that holds for it.
func toEntry(_ *schema.Lookup, k []byte, r anyRecord) (n schema.Need) {
	if r.leads != "" {
		n = schema.Need{Bucket: bucketEntry, Key: store.Key(k[:16], byNumber, r.leads), Why: "a LID leads to an opt-out that is missing"}
	}
	return n
}

// toCampaign is the reference of a contact to the words of its batch.
func toCampaign(_ *schema.Lookup, k []byte, _ time.Time) schema.Need {
	return schema.Need{Bucket: bucketCampaign, Key: k[8:], Why: "the opt-out words of its batch are unknown"}
}

func decodeCampaign(raw []byte) (c campaign, err error) { return c, json.Unmarshal(raw, &c) }

func decodeContact(raw []byte) (at time.Time, err error) {
	if len(raw) != 8 {
		return at, errShape
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(raw))), nil //nolint:gosec // written as a time
}

func entryMade(k, raw []byte) (at time.Time) {
	if r, err := decodeAny(k, raw); err == nil && r.At > 0 {
		at = time.UnixMilli(r.At).UTC()
	}
	return at
}

func contacted(_, raw []byte) time.Time {
	at, _ := decodeContact(raw)
	return at.UTC()
}
