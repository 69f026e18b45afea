package messages

import (
	"bytes"
	"encoding/json"

	"postern/event"
	"postern/store"
)

// A message that could not be read is sent again, often twice: by its sender and by the
// account's own phone. It is published once, even across restarts: once one copy is
// stored, further copies are not published. As for every event of an instance, a crash
// between the commit and the delivery loses the delivery.

// Copies counts messages that could not be read when first received.
type Copies struct {
	Recovered uint64 // published in the end
	Repeated  uint64 // further copies, not published
}

// Copies returns the counts since the start.
func (a *Archive) Copies() Copies {
	return Copies{Recovered: a.recovered.Load(), Repeated: a.repeated.Load()}
}

// isRecovered reports whether a message could not be read when first received.
func isRecovered(m *event.Message) bool {
	if !bytes.Contains(m.Metadata, []byte(`"recovered"`)) {
		return false
	}
	var md struct {
		Recovered bool `json:"recovered"`
	}
	return json.Unmarshal(m.Metadata, &md) == nil && md.Recovered
}

// knownCopy looks up the message of a copy by both addresses of its chat, since the phone
// may use another one than the sender.
func (a *Archive) knownCopy(tx *store.Tx, instance int64, m *event.Message) (id int64, known bool, err error) {
	if !isRecovered(m) {
		return 0, false, nil
	}
	for _, chat := range []*string{m.KeyLID, m.KeyRemoteJID} {
		if chat == nil {
			continue
		}
		if id, err = findInChat(tx, instance, m.KeyID, *chat); err != nil {
			return 0, false, err
		}
		if old, err := message(tx, instance, id); err == nil && !old.History {
			return id, true, nil
		}
	}
	return 0, false, nil
}

// repeats reports whether a message is a further copy of one that could not be read and
// has been published. All others are published when stored.
func repeats(m, stored *event.Message, known bool) bool {
	return known && (isRecovered(m) || isRecovered(stored))
}

// countCopy counts a stored message.
func (a *Archive) countCopy(m, stored *event.Message, known bool) {
	switch {
	case repeats(m, stored, known):
		a.repeated.Add(1)
	case isRecovered(m):
		a.recovered.Add(1)
	}
}
