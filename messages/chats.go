package messages

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"postern/event"
	"postern/store"
)

// Chat is a chat with stored messages.
type Chat struct {
	JID     string        `json:"jid"`           // the phone JID if known, else the LID, or the group's JID
	LID     string        `json:"lid,omitempty"` // empty when unknown
	Name    string        `json:"name,omitempty" doc:"Its name, where it is known." example:"Ada"`
	IsGroup bool          `json:"isGroup"`
	Last    event.Message `json:"lastMessage" doc:"Its newest stored message."`
}

// chatEnd is a chat with the id of its newest message.
type chatEnd struct {
	names []string
	last  int64
}

// Chats returns up to limit chats with stored messages, ordered by newest message, newest
// first, starting below the message id before (0: from the start). next is the before of
// the next page, 0 if there is none. A page scans all chats or, if there are too many,
// the newest messages: it may then be short or empty although more pages follow. Errors:
// those of Config.Owner.
func (a *Archive) Chats(instance int64, before int64, limit int) (page []Chat, next int64, err error) {
	if err := a.owner(instance); err != nil {
		return nil, 0, err
	}
	page = []Chat{}
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		ends, whole, err := chatEnds(tx, instance)
		if err != nil {
			return err
		}
		if !whole {
			page, next, err = chatsByMessages(tx, instance, before, limit)
			return err
		}
		slices.SortFunc(ends, func(a, b chatEnd) int { return cmp.Compare(b.last, a.last) })
		for _, e := range ends {
			if before > 0 && e.last >= before {
				continue
			}
			if len(page) == limit {
				next = page[limit-1].Last.ID
				break
			}
			if c, ok := chatAt(tx, instance, e); ok {
				page = append(page, c)
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list chats of instance %d: %w", instance, err)
	}
	return page, next, nil
}

const (
	// chatsMax is the maximum number of chats scanned for a page.
	chatsMax = 1500
	// chatMessagesMax is the maximum number of messages scanned if there are more chats.
	// The first message of each chat costs readCost extra.
	chatMessagesMax = 4000
)

// chatsByMessages is Chats by a scan of the newest messages; each chat is placed by its
// newest one.
func chatsByMessages(tx *store.Tx, instance int64, before int64, limit int) (page []Chat, next int64, err error) {
	page = []Chat{}
	rows := store.Range{Prefix: store.Key(instance), Reverse: true}
	if before > 0 {
		rows.Before = store.Key(instance, before)
	}
	newest := map[string]int64{} // by each name of the chat
	looked, last := 0, int64(0)
	err = tx.Look(messages, rows, func(k, raw []byte) (bool, error) {
		if looked >= chatMessagesMax || len(page) == limit {
			next = last
			return false, nil
		}
		looked++
		last = idAt(k)
		name := chatIn(raw)
		if name == "" {
			return true, nil
		}
		end, known := newest[name]
		if !known {
			looked += readCost
			names := chatNames(tx, instance, name)
			if end, err = newestUnder(tx, instance, names); err != nil {
				return false, err
			}
			for _, name := range names {
				newest[name] = end
			}
		}
		if end == last {
			if c, ok := chatAt(tx, instance, chatEnd{chatNames(tx, instance, name), end}); ok {
				page = append(page, c)
			}
		}
		return true, nil
	})
	return page, next, err
}

func newestUnder(tx *store.Tx, instance int64, names []string) (id int64, err error) {
	for _, name := range names {
		of, err := newestOf(tx, chatPrefix(instance, name))
		if err != nil {
			return 0, err
		}
		id = max(id, of)
	}
	return id, nil
}

// chatIn returns the chat named in a message record, empty if it is unreadable.
func chatIn(raw []byte) string {
	var m struct {
		Message struct {
			KeyRemoteJID *string `json:"keyRemoteJid"`
			KeyLID       *string `json:"keyLid"`
		} `json:"message"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	return chatOf(&event.Message{KeyRemoteJID: m.Message.KeyRemoteJID, KeyLID: m.Message.KeyLID})
}

// chatEnds iterates over the chats of the index, merging those of one person. whole is
// false if there are more than chatsMax.
func chatEnds(tx *store.Tx, instance int64) (ends []chatEnd, whole bool, err error) {
	seen := map[string]int{}
	prefix := store.Key(instance)
	from := prefix
	for range chatsMax {
		chat, err := firstChat(tx, prefix, from)
		if err != nil || chat == "" {
			return ends, true, err
		}
		last, err := newestOf(tx, chatPrefix(instance, chat))
		if err != nil {
			return nil, false, err
		}
		if i, known := seen[chat]; known {
			ends[i].last = max(ends[i].last, last)
		} else {
			names := chatNames(tx, instance, chat)
			for _, name := range names {
				seen[name] = len(ends)
			}
			ends = append(ends, chatEnd{names, last})
		}
		from = store.Key(instance, chat, byte(1)) // past every key of this chat
	}
	return nil, false, nil
}

func firstChat(tx *store.Tx, prefix, from []byte) (chat string, err error) {
	err = tx.Scan(messageChats, store.Range{Prefix: prefix, From: from, Limit: 1}, func(k, _ []byte) (bool, error) {
		name, _, _ := bytes.Cut(k[len(prefix):], []byte{0})
		chat = string(name)
		return false, nil
	})
	return chat, err
}

func newestOf(tx *store.Tx, prefix []byte) (id int64, err error) {
	err = tx.Scan(messageChats, store.Range{Prefix: prefix, Reverse: true, Limit: 1}, func(k, _ []byte) (bool, error) {
		id = idAt(k)
		return false, nil
	})
	return id, err
}

func chatAt(tx *store.Tx, instance int64, e chatEnd) (Chat, bool) {
	m, err := message(tx, instance, e.last)
	if err != nil {
		return Chat{}, false // damaged, reported by the store
	}
	m.InstanceID = instance
	c := Chat{JID: e.names[0], IsGroup: m.IsGroup, Last: m}
	if contact, err := contactByJID(tx, instance, e.names[0]); err == nil && contact != nil {
		c.JID, c.LID = contact.JID, contact.LID
		c.Name = cmp.Or(contact.FullName, contact.PushName, contact.BusinessName)
		return c, true
	}
	if m.KeyRemoteJID != nil {
		c.JID = *m.KeyRemoteJID
	}
	if m.KeyLID != nil && strings.HasSuffix(*m.KeyLID, "@lid") {
		c.LID = *m.KeyLID
	}
	return c, true
}
