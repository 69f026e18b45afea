package messages

import (
	"bytes"
	"encoding/json"
	"slices"

	"postern/event"
	"postern/store"
)

// eachRecord is Needs without a check at the end of the bucket.
func eachRecord(fn func(key, value []byte) []store.Need) store.Needs {
	return func(key, value []byte) []store.Need {
		if key == nil {
			return nil
		}
		return fn(key, value)
	}
}

// ownerOfName is [store.Bucket.Of] for the names of chats; the mark that the index is
// complete belongs to no instance.
func ownerOfName(look *store.Lookup, key, value []byte) []byte {
	if bytes.Equal(key, indexed()) {
		return nil
	}
	return store.FirstID(look, key, value)
}

func messageNeeds(look *store.Lookup) store.Needs {
	indexed := look.Has(chatNamesBucket, indexed())
	return eachRecord(func(key, value []byte) []store.Need {
		var stored storedMessage
		if len(key) != 16 || json.Unmarshal(value, &stored) != nil {
			return []store.Need{{Why: "a message is lost"}}
		}
		m := (*event.Message)(&stored.Message)
		id := number(key[:8])
		needs := []store.Need{
			{Bucket: messageKeys, Key: messageKey(id, m), Value: bytes.Clone(key[8:]), Why: "receipts do not find a message, and it may be stored twice"},
		}
		if indexed {
			needs = append(needs, store.Need{Bucket: messageChats, Key: chatKey(id, m), Value: whose(m), Why: "a message is not listed in its chat"})
		}
		return needs
	})
}

// messageIs returns a check that a stored message satisfies ok.
func messageIs(ok func(*event.Message) bool) func([]byte) bool {
	return func(raw []byte) bool {
		var stored storedMessage
		return json.Unmarshal(raw, &stored) != nil || ok((*event.Message)(&stored.Message))
	}
}

func messageKeyNeeds(*store.Lookup) store.Needs {
	return eachRecord(func(key, value []byte) []store.Need {
		const why = "a key id has no message"
		if len(value) != 8 || len(key) < 8 {
			return []store.Need{{Why: why}}
		}
		return []store.Need{{
			Bucket: messages, Key: slices.Concat(key[:8], value), Why: why,
			Is: messageIs(func(m *event.Message) bool { return bytes.Equal(messageKey(number(key[:8]), m), key) }),
		}}
	})
}

func messageChatNeeds(*store.Lookup) store.Needs {
	return eachRecord(func(key, _ []byte) []store.Need {
		const why = "a chat lists a missing message"
		if len(key) < 16 {
			return []store.Need{{Why: why}}
		}
		return []store.Need{{
			Bucket: messages, Key: slices.Concat(key[:8], key[len(key)-8:]), Why: why,
			Is: messageIs(func(m *event.Message) bool { return bytes.Equal(chatKey(number(key[:8]), m), key) }),
		}}
	})
}

func messageUpdateNeeds(*store.Lookup) store.Needs {
	return eachRecord(func(key, _ []byte) []store.Need {
		if len(key) < 16 {
			return []store.Need{{Why: "its message does not exist"}}
		}
		return []store.Need{{Bucket: messages, Key: bytes.Clone(key[:16]), Why: "its message does not exist"}}
	})
}

func contactNeeds(*store.Lookup) store.Needs {
	return eachRecord(func(key, value []byte) []store.Need {
		var c Contact
		if len(key) != 16 || json.Unmarshal(value, &c) != nil {
			return []store.Need{{Why: "a contact is lost"}}
		}
		var needs []store.Need
		for _, jid := range c.jids() {
			needs = append(needs, store.Need{
				Bucket: contactJIDs, Key: slices.Concat(key[:8], []byte(jid)), Value: bytes.Clone(key[8:]), Why: "a contact is not found by its address, and may be stored twice",
			})
		}
		return needs
	})
}

func contactJIDNeeds(*store.Lookup) store.Needs {
	return eachRecord(func(key, value []byte) []store.Need {
		const why = "an address has no contact"
		if len(key) < 8 || len(value) != 8 {
			return []store.Need{{Why: why}}
		}
		return []store.Need{{
			Bucket: contacts, Key: slices.Concat(key[:8], value), Why: why,
			Is: func(raw []byte) bool {
				var c Contact
				return json.Unmarshal(raw, &c) != nil || slices.Contains(c.jids(), string(key[8:]))
			},
		}}
	})
}
