package logbook

import (
	"errors"

	"postern/delivery"
	"postern/delivery/digest"
	"postern/store/schema"
)

const replays = "delivery_replay"

// Buckets returns the bucket of this package. Those of the records are of package delivery.
func Buckets() []schema.Bucket {
	return []schema.Bucket{
		{Name: replays, Owner: "delivery", Key: "replay, or replay + number of a part of its list", Value: "how far it is, and its numbers; or records that it repeats", Needs: schema.References(decodeRow, "a replay is lost", toReplay), Of: replayOwner},
	}
}

// decodeRow decodes a replay; that of a part of its list is the zero replay.
func decodeRow(key, value []byte) (r replayRow, err error) {
	if id, ok := digest.IDOf(key); ok {
		return decodeReplay(id, value)
	}
	if len(key) != 12 {
		return r, errors.New("no replay and no part of its list")
	}
	return r, nil
}

// toReplay refers from a part of a list to its replay.
func toReplay(_ *schema.Lookup, key []byte, r replayRow) schema.Need {
	if r.ID != 0 {
		return schema.Need{}
	}
	return schema.Need{Bucket: replays, Key: key[:8], Why: "it is the list of a replay that is not there"}
}

func replayOwner(look *schema.Lookup, key, value []byte) []byte {
	r, err := decodeRow(key, value)
	if err != nil || r.Instance == 0 {
		return nil
	}
	return delivery.Owner(look, r.Instance)
}
