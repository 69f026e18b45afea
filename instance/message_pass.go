package instance

import (
	"bytes"
	"encoding/json"
	"errors"

	"postern/store"
)

// needles are texts that the record of each message has which the query selects: the
// values of its fields as the record's JSON has them. A record without one of them need
// not be decoded.
func (q *MessageQuery) needles() (all [][]byte) {
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

// room reports whether the walk may look at another message.
func (w *messageWalk) room() bool { return w.looked < w.most && w.read < scanBytes }

// passOver reports whether a message need not be decoded: because it does not fit, or
// because every message fits and this one is on a page before. One that is damaged is
// left to whoever decodes it.
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
