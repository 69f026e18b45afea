package logbook

import (
	"errors"

	"postern/delivery"
	"postern/delivery/digest"
	"postern/store"
)

const replays = "delivery_replay"

// Buckets returns the bucket of this package. Those of the records are of package delivery.
func Buckets() []store.Bucket {
	return []store.Bucket{
		{Name: replays, Owner: "delivery", Key: "replay, or replay + number of a part of its list", Value: "how far it is, and its numbers; or records that it repeats", Needs: store.References(decodeRow, "a replay is lost", toReplay), Of: replayOwner},
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
func toReplay(_ *store.Lookup, key []byte, r replayRow) store.Need {
	if r.ID != 0 {
		return store.Need{}
	}
	return store.Need{Bucket: replays, Key: key[:8], Why: "it is the list of a replay that is not there"}
}

func replayOwner(look *store.Lookup, key, value []byte) []byte {
	r, err := decodeRow(key, value)
	if err != nil || r.Instance == 0 {
		return nil
	}
	return delivery.Owner(look, r.Instance)
}
