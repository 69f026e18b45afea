package device

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"postern/store/schema"
)

// toOthers is the reference of a device to the run, and between a sender key and its place
// in the index by user.
func toOthers(_ *schema.Lookup, key, value []byte) (n schema.Need) {
	switch {
	case len(key) < 9:
	case key[8] == 'D':
		var r record
		err := decode(value, &r)
		if err == nil {
			_, err = r.device()
		}
		if err != nil {
			return schema.Need{Why: "an account has to be paired again"}
		}
		return runNeed()
	case key[8] == 'G':
		const why = "a sender key is not found when its user gets another address"
		group, user, ok := cutSized(key[9:])
		if !ok {
			return schema.Need{Why: why}
		}
		return schema.Need{Bucket: deviceBucket, Key: slices.Concat(key[:8], senderKeyUser(group, user)), Value: []byte{}, Why: why}
	case key[8] == 'g':
		user, group, _ := bytes.Cut(key[9:], []byte{0})
		return schema.Need{Bucket: deviceBucket, Key: slices.Concat(key[:8], senderKeyKey(string(group), string(user))), Why: "the index of sender keys names one that does not exist"}
	}
	return n
}

const lostRunCosts = "nobody knows whether the program was killed, so that every chat begins a new session"

// lostRun is a run of which nothing is known: all sessions begin anew, since the keys of
// each may have been used.
func lostRun([]byte) []byte {
	raw, _ := json.Marshal(run{Crashes: uint32(time.Now().Unix())}) // more than there ever were
	return raw
}

func runNeed() schema.Need {
	return schema.Need{
		Bucket: runBucket, Key: runKey, Value: lostRun(nil), Why: lostRunCosts,
		Is: func(raw []byte) bool { return decode(raw, new(run)) == nil },
	}
}

// toRun is the need of the only record of its bucket to be readable.
func toRun(_ *schema.Lookup, key, _ []byte) schema.Need {
	if !bytes.Equal(key, runKey) {
		return schema.Need{Why: "it belongs to no run"}
	}
	return runNeed()
}

// cutSized undoes sized.
func cutSized(raw []byte) (part, rest string, ok bool) {
	if len(raw) < 2 || len(raw) < 2+int(binary.BigEndian.Uint16(raw)) {
		return "", "", false
	}
	n := 2 + int(binary.BigEndian.Uint16(raw))
	return string(raw[2:n]), string(raw[n:]), true
}

// toTwin is the reference between a LID and a phone number.
func toTwin(look *schema.Lookup, key, value []byte) schema.Need {
	var other []byte
	switch {
	case len(value) > 0 && key[0] == 'l':
		other = pnKey(string(value))
	case len(value) > 0 && key[0] == 'p':
		other = lidKey(string(value))
	default:
		return schema.Need{Why: "it is no pair of a LID and a phone number"}
	}
	self := bytes.Clone(key[1:])
	n := schema.Need{
		Bucket: lidBucket, Key: other, Why: "a phone number and a LID do not lead to each other",
		Is: func(raw []byte) bool { return bytes.Equal(raw, self) },
	}
	if !look.Has(lidBucket, other) {
		n.Value = self
	}
	return n
}
