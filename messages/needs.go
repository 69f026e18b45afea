package messages

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"postern/event"
	"postern/store"
	"postern/store/schema"
)

// ownerOfName is [schema.Bucket.Of] for the names of chats; the mark that the index is
// complete belongs to no instance.
func ownerOfName(look *schema.Lookup, key, value []byte) []byte {
	if bytes.Equal(key, indexed()) {
		return nil
	}
	return schema.FirstID(look, key, value)
}

var errID = errors.New("the record is not that of its key")

func decodeMessage(key, value []byte) (*event.Message, error) {
	var stored storedMessage
	if len(key) != 16 {
		return nil, errID
	}
	err := json.Unmarshal(value, &stored)
	return (*event.Message)(&stored.Message), err
}

// messageNeeds declares the references of messages. Those to the lists of chats are
// complete once the index of the chats' names is.
func messageNeeds(look *schema.Lookup) schema.Needs {
	refs := []schema.Ref[*event.Message]{toKeyID}
	if look.Has(chatNamesBucket, indexed()) {
		refs = append(refs, toChat)
	}
	return schema.References(decodeMessage, "a message is lost", refs...)(look)
}

func toKeyID(_ *schema.Lookup, key []byte, m *event.Message) schema.Need {
	return schema.Need{Bucket: messageKeys, Key: messageKey(store.Number(key[:8]), m), Value: key[8:], Why: "receipts do not find a message, and it may be stored twice"}
}

func toChat(_ *schema.Lookup, key []byte, m *event.Message) schema.Need {
	return schema.Need{Bucket: messageChats, Key: chatKey(store.Number(key[:8]), m), Value: whose(m), Why: "a message is not listed in its chat"}
}

// messageIs returns a check that a stored message satisfies ok.
func messageIs(ok func(*event.Message) bool) func([]byte) bool {
	return func(raw []byte) bool {
		var stored storedMessage
		return json.Unmarshal(raw, &stored) != nil || ok((*event.Message)(&stored.Message))
	}
}

// keyToMessage is the reference of a key id to its message.
func keyToMessage(_ *schema.Lookup, key, value []byte) schema.Need {
	n := schema.Need{Why: "a key id has no message"}
	if len(value) == 8 && len(key) >= 8 {
		n.Bucket, n.Key = messages, slices.Concat(key[:8], value)
		n.Is = messageIs(func(m *event.Message) bool { return bytes.Equal(messageKey(store.Number(key[:8]), m), key) })
	}
	return n
}

// chatToMessage is the reference of an entry of a chat to its message.
func chatToMessage(_ *schema.Lookup, key, _ []byte) schema.Need {
	n := schema.Need{Why: "a chat lists a missing message"}
	if len(key) >= 16 {
		n.Bucket, n.Key = messages, slices.Concat(key[:8], key[len(key)-8:])
		n.Is = messageIs(func(m *event.Message) bool { return bytes.Equal(chatKey(store.Number(key[:8]), m), key) })
	}
	return n
}

// voteToMessage is the reference of an entry of a poll to its vote.
func voteToMessage(_ *schema.Lookup, key, _ []byte) schema.Need {
	n := schema.Need{Why: "a poll lists a missing vote"}
	if len(key) >= 16 {
		n.Bucket, n.Key = messages, slices.Concat(key[:8], key[len(key)-8:])
	}
	return n
}

// updateToMessage is the reference of an update to its message.
func updateToMessage(_ *schema.Lookup, key, _ []byte) schema.Need {
	return schema.Need{Bucket: messages, Key: key[:min(16, len(key))], Why: "its message does not exist"}
}

// toAddress is the reference of a contact to the entry of one of its addresses.
func toAddress(i int) schema.Ref[Contact] {
	return func(_ *schema.Lookup, key []byte, c Contact) schema.Need {
		jids := c.jids()
		if i >= len(jids) {
			return schema.Need{}
		}
		return schema.Need{Bucket: contactJIDs, Key: slices.Concat(key[:8], []byte(jids[i])), Value: key[8:], Why: "a contact is not found by its address, and may be stored twice"}
	}
}

// addressToContact is the reference of an address to its contact.
func addressToContact(_ *schema.Lookup, key, value []byte) schema.Need {
	n := schema.Need{Why: "an address has no contact"}
	if len(key) >= 8 && len(value) == 8 {
		n.Bucket, n.Key = contacts, slices.Concat(key[:8], value)
		n.Is = func(raw []byte) bool {
			var c Contact
			return json.Unmarshal(raw, &c) != nil || slices.Contains(c.jids(), string(key[8:]))
		}
	}
	return n
}
