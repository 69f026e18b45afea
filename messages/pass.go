package messages

import (
	"bytes"
	"encoding/json"
	"errors"

	"postern/store"
)

// needles are texts that every matching record contains: field values of the query,
// encoded as in the record's JSON. A record that lacks one need not be decoded.
func (q *Query) needles() (all [][]byte) {
	for _, value := range []string{q.Type, q.KeyID, q.Device, q.PushName} {
		if value == "" {
			continue
		}
		if raw, err := json.Marshal(value); err == nil {
			all = append(all, raw)
		}
	}
	return all
}

// room reports whether the walk may scan another message.
func (w *messageWalk) room() bool { return w.looked < w.most && w.read < scanBytes }

// passOver reports whether a message need not be decoded: because it does not match, or
// because every message matches and this one is on an earlier page. Damaged ones are left
// to the decoder.
func (w *messageWalk) passOver(tx *store.Tx, id int64) (passed bool, err error) {
	if !w.q.narrow() && (w.chats == nil || len(w.chats) == 1) && w.passed < w.q.Skip {
		w.passed++
		return true, nil
	}
	if len(w.needles) == 0 {
		return false, nil
	}
	raw, found, err := tx.Peek(messages, store.Key(w.instance, id))
	if errors.Is(err, store.ErrDamaged) || err == nil && !found {
		return true, nil
	}
	for _, text := range w.needles {
		if err == nil && !bytes.Contains(raw, text) {
			return true, nil
		}
	}
	return false, err
}
