package messages

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"postern/event"
	"postern/store"
)

// ErrNoPoll reports that a message is not stored, or is no poll.
var ErrNoPoll = errors.New("poll not found")

// PollOf returns the poll in a stored message. Errors: ErrNoPoll.
func PollOf(m *event.Message) (event.Poll, error) {
	var c struct {
		Name                   string
		Options                []struct{ OptionName string }
		SelectableOptionsCount int
	}
	if !strings.HasPrefix(m.MessageType, "pollCreationMessage") || json.Unmarshal(m.Content, &c) != nil || len(c.Options) == 0 {
		return event.Poll{}, ErrNoPoll
	}
	p := event.Poll{Name: c.Name, SelectableCount: c.SelectableOptionsCount, CreatedAt: event.At(time.Unix(m.MessageTimestamp, 0))}
	for _, o := range c.Options {
		p.Options = append(p.Options, o.OptionName)
	}
	return p, nil
}

const voteType = "pollUpdateMessage"

// voteContent is the content of a vote.
type voteContent struct {
	PollCreationMessageKey struct{ ID string }
	SenderTimestampMS      json.RawMessage
}

// vote returns the key id of the poll that a message votes in, empty if it is no vote, and when it was made.
func vote(m *event.Message) (poll string, at int64) {
	var c voteContent
	if m.MessageType != voteType || json.Unmarshal(m.Content, &c) != nil || !Plausible(c.PollCreationMessageKey.ID) {
		return "", 0
	}
	at, err := strconv.ParseInt(string(bytes.Trim(c.SenderTimestampMS, `"`)), 10, 64)
	if err != nil {
		at = m.MessageTimestamp * 1000
	}
	return c.PollCreationMessageKey.ID, at
}

func voteKey(instance int64, poll string, id int64) []byte {
	return store.Key(instance, poll, byte(0), id)
}

// indexVote keeps where the votes of a poll are.
func indexVote(tx *store.Tx, instance int64, m *event.Message) error {
	if poll, _ := vote(m); poll != "" {
		return tx.Put(pollVotes, voteKey(instance, poll, m.ID), nil)
	}
	return nil
}

func dropVote(tx *store.Tx, instance int64, m *event.Message) error {
	if poll, _ := vote(m); poll != "" {
		return tx.Delete(pollVotes, voteKey(instance, poll, m.ID))
	}
	return nil
}

// chosen returns the hashes of the chosen options of a vote. opened is false for one that could not be decrypted.
func chosen(m *event.Message) (hashes []string, opened bool) {
	var md struct {
		Vote *struct{ SelectedOptions []string }
	}
	if json.Unmarshal(m.Metadata, &md) != nil || md.Vote == nil {
		return nil, false
	}
	return md.Vote.SelectedOptions, true
}

// OptionHash returns the text by which a vote names an option.
func OptionHash(option string) string {
	sum := sha256.Sum256([]byte(option))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// optionNames returns the options of a poll with these hashes, in the order of the poll.
func optionNames(p event.Poll, hashes []string) []string {
	names := []string{}
	for _, o := range p.Options {
		if slices.Contains(hashes, OptionHash(o)) {
			names = append(names, o)
		}
	}
	return names
}

// NameVote adds the names of the chosen options to the metadata of a vote, if its poll is stored.
func (a *Archive) NameVote(instance int64, m *event.Message) {
	poll, _ := vote(m)
	hashes, opened := chosen(m)
	if poll == "" || !opened || m.KeyRemoteJID == nil {
		return
	}
	id, err := a.Find(instance, poll, *m.KeyRemoteJID)
	if err != nil || id == 0 {
		return
	}
	stored, err := a.Message(instance, id)
	if err != nil {
		return
	}
	p, err := PollOf(&stored)
	var md map[string]json.RawMessage
	if err != nil || json.Unmarshal(m.Metadata, &md) != nil {
		return
	}
	var v map[string]json.RawMessage
	if json.Unmarshal(md["vote"], &v) != nil || v == nil {
		return
	}
	v["optionNames"], _ = json.Marshal(optionNames(p, hashes))
	md["vote"], _ = json.Marshal(v)
	if raw, err := json.Marshal(md); err == nil {
		m.Metadata = raw
	}
}

// countedVote is the last vote of a person so far.
type countedVote struct {
	vote  event.PollVote
	at    int64 // by its own time
	order int64
}

// Tally returns a stored poll with the last vote of each person. own are the addresses of the account. Errors:
// ErrNoPoll.
func (a *Archive) Tally(instance int64, poll event.Message, own event.Person) (t event.PollTally, err error) {
	if t.Poll, err = PollOf(&poll); err != nil {
		return t, err
	}
	last := map[string]countedVote{} // by voter
	err = a.cfg.Store.View(func(tx *store.Tx) error {
		prefix, chats := store.Key(instance, poll.KeyID, byte(0)), chatNames(tx, instance, chatOf(&poll))
		return tx.Walk(pollVotes, store.Range{Prefix: prefix}, func(k []byte) (bool, error) {
			m, err := message(tx, instance, idAt(k))
			if err != nil || !slices.Contains(chats, chatOf(&m)) {
				return true, nil //nolint:nilerr // the store reports a damaged vote
			}
			hashes, opened := chosen(&m)
			if !opened {
				t.UnknownVotes++
				return true, nil
			}
			_, at := vote(&m)
			voter := voterOf(tx, instance, &m, own)
			key := voter.JID
			if voter.LID != nil {
				key = *voter.LID
			}
			if was, voted := last[key]; !voted || at >= was.at {
				last[key] = countedVote{event.PollVote{Voter: voter, Options: optionNames(t.Poll, hashes), At: event.At(time.UnixMilli(at))}, at, m.ID}
			}
			return true, nil
		})
	})
	if err != nil {
		return t, fmt.Errorf("votes of poll %q of instance %d: %w", poll.KeyID, instance, err)
	}
	addVotes(&t, last)
	return t, nil
}

// voterOf returns who voted, with both addresses where they are known.
func voterOf(tx *store.Tx, instance int64, m *event.Message, own event.Person) (v event.Voter) {
	switch {
	case m.KeyFromMe:
		v.JID, v.LID = own.JID, own.LID
	case m.KeyParticipant != nil:
		v.JID, v.LID = *m.KeyParticipant, m.KeyParticipantLID
	case m.KeyRemoteJID != nil:
		v.JID, v.LID = *m.KeyRemoteJID, m.KeyLID
	}
	v.Name = m.PushName
	for _, name := range chatNames(tx, instance, v.JID) {
		if v.LID == nil && event.IsLID(name) {
			v.LID = &name
		}
	}
	return v
}

// addVotes adds the votes that count, the first one first, and their number by option. An empty vote is none.
func addVotes(t *event.PollTally, last map[string]countedVote) {
	var all []countedVote
	for _, v := range last {
		if len(v.vote.Options) > 0 {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b countedVote) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	t.Votes, t.Tally = []event.PollVote{}, make([]event.OptionCount, len(t.Poll.Options))
	for i, o := range t.Poll.Options {
		t.Tally[i].Option = o
	}
	for _, v := range all {
		t.Votes = append(t.Votes, v.vote)
		for i := range t.Tally {
			if slices.Contains(v.vote.Options, t.Tally[i].Option) {
				t.Tally[i].Count++
			}
		}
	}
}
