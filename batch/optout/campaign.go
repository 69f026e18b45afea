package optout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"postern/event"
	"postern/store"
)

// Answers is how long after a batch wrote to somebody their answer may be an opt-out.
const Answers = 30 * 24 * time.Hour

// campaign is the record of a batch with words.
type campaign struct {
	Owner     uuid.UUID `json:"owner"`
	Words     []string  `json:"words"` // folded
	Instances []int64   `json:"instances"`
}

// CheckWords reports which rule the opt-out words of a batch break, empty for none.
func CheckWords(words []string) string {
	if len(words) > MaxWords {
		return fmt.Sprintf(" has %d words, at most %d are allowed", len(words), MaxWords)
	}
	for i, w := range words {
		switch n := utf8.RuneCountInString(strings.TrimSpace(w)); {
		case n < 1 || n > MaxWord:
			return fmt.Sprintf("[%d] has %d characters, 1 to %d are allowed", i, n, MaxWord)
		case Fold(w) == "":
			return fmt.Sprintf("[%d] has no visible character besides accents; give it a letter", i)
		}
	}
	return ""
}

// Campaign stores the words of a batch, in the commit that creates it.
func (b *Book) Campaign(tx *store.Tx, batch, owner uuid.UUID, words []string, instances []int64) error {
	c := campaign{Owner: owner, Instances: instances}
	for _, w := range words {
		c.Words = append(c.Words, Fold(w))
	}
	slices.Sort(c.Words)
	c.Words = slices.Compact(c.Words)
	tx.After(func() { b.learn(batch, c.Words) })
	return store.PutJSON(tx, bucketCampaign, batch[:], c)
}

// Contacted notes that a batch with words is about to write to a phone number, in the
// commit that makes the item SENDING.
func (b *Book) Contacted(tx *store.Tx, batch uuid.UUID, number string) error {
	return tx.Put(bucketContacted, store.Key(contactNumber(number), batch), binary.BigEndian.AppendUint64(nil, uint64(tx.Now().UnixMilli())))
}

// contactNumber returns the canonical form of a phone number as 8 bytes: a distinct number
// for each text of at most 18 digits.
func contactNumber(number string) uint64 {
	n := uint64(1)
	for _, c := range []byte(canonical(number)) {
		n = 10*n + uint64(c-'0')
	}
	return n
}

// Heed returns what the commit of a received message does if the message may be an
// opt-out: it adds the sender to the books of the users whose batches contacted them in the
// last 30 days with this word and this instance. nil: the message is none.
func (b *Book) Heed(instance int64, m *event.Message) func(tx *store.Tx) error {
	words, text := b.said(m)
	if len(words) == 0 {
		return nil
	}
	p, ok := b.sender(m)
	if !ok {
		return nil
	}
	return func(tx *store.Tx) error { return heed(tx, instance, &p, words, text) }
}

// said returns the forms of the text of a message that are a word of any campaign, and the
// text.
func (b *Book) said(m *event.Message) (words []string, text string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.words) == 0 || m.KeyFromMe || m.IsGroup || m.KeyParticipant != nil || m.KeyRemoteJID == nil {
		return nil, ""
	}
	text = strings.TrimSpace(textOf(m))
	if text == "" || len(text) > maxText {
		return nil, ""
	}
	folded := Fold(text)
	for _, form := range []string{folded, bare(folded)} {
		if b.words[form] > 0 && !slices.Contains(words, form) {
			words = append(words, form)
		}
	}
	return words, text
}

// sender returns the person who wrote in a direct chat.
func (b *Book) sender(m *event.Message) (p person, known bool) {
	var at []event.Recipient
	for _, jid := range []*string{m.KeyRemoteJID, m.KeyLID} {
		if jid == nil {
			continue
		}
		if to, err := event.ParseRecipient(*jid); err == nil && (to.IsPhone() || to.Server == event.LIDServer) {
			at = append(at, to)
		}
	}
	if len(at) == 0 {
		return person{}, false
	}
	return b.person(at...), true
}

// heed adds a person to the books of those whose campaigns the words answer.
func heed(tx *store.Tx, instance int64, p *person, words []string, text string) error {
	if len(p.numbers) == 0 {
		return nil // batches write to numbers: it was written to by none
	}
	answered, err := answeredBy(tx, instance, p, words)
	if err != nil {
		return err
	}
	for owner, batch := range answered {
		if _, err := put(tx, owner, p, text, "batch:"+batch.String()); err != nil {
			return err
		}
	}
	return nil
}

// answeredBy returns the users, and the last batch of each, whom one of the words answers.
// What cannot be read answers none: the message must be stored in any case.
func answeredBy(tx *store.Tx, instance int64, p *person, words []string) (map[uuid.UUID]uuid.UUID, error) {
	batches := map[uuid.UUID]time.Time{}
	var err error
	for _, number := range p.numbers {
		err = errors.Join(err, tx.Scan(bucketContacted, store.Range{Prefix: store.Key(contactNumber(number))}, func(k, raw []byte) (bool, error) {
			at, err := decodeContact(raw)
			if err != nil || len(k) != contactKey {
				return true, tx.Unreadable(bucketContacted, k, errors.Join(err, errShape))
			}
			if batch := uuid.UUID(k[8:]); tx.Now().Sub(at) <= Answers && at.After(batches[batch]) {
				batches[batch] = at
			}
			return true, nil
		}))
	}
	users, last := map[uuid.UUID]uuid.UUID{}, map[uuid.UUID]time.Time{}
	for batch, at := range batches {
		if err != nil {
			return nil, err
		}
		var c campaign
		c, _, err = store.GetJSON[campaign](tx, bucketCampaign, batch[:])
		err = ignoreDamage(err)
		says := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(c.Words, w) })
		if says && slices.Contains(c.Instances, instance) && !at.Before(last[c.Owner]) {
			users[c.Owner], last[c.Owner] = batch, at
		}
	}
	return users, err
}
