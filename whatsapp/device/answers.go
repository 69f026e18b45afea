package device

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mau.fi/whatsmeow/types"

	"postern/store"
)

// In some countries a number is written with and without a digit, and WhatsApp answers a look-up of
// one form with the account of the other. A message to the form without an account reaches no device,
// so such answers are kept: by number, for all instances, until answerLife has passed.

const (
	answerBucket = "number_answer"
	answerLife   = 30 * 24 * time.Hour
	answerSweep  = 24 * time.Hour
	sweepStep    = 1000 // expired answers removed by one commit
)

// Answer is the account that WhatsApp's answer to a look-up named. One of the two is set.
type Answer struct {
	Number string `json:"number,omitempty"` // digits
	LID    string `json:"lid,omitempty"`    // digits
}

// JID returns the address of the account: the LID, or the phone number if the answer had no LID.
func (a Answer) JID() string {
	if a.LID != "" {
		return a.LID + "@" + types.HiddenUserServer
	}
	return a.Number + "@" + types.DefaultUserServer
}

// SendTo returns the address for a message to a number that was answered so: the number itself if the
// account is its own.
func (a Answer) SendTo(number string) string {
	if a.Number == number {
		a.LID = ""
	}
	return a.JID()
}

// keptAnswer is the record of an answer.
type keptAnswer struct {
	Answer
	At int64 `json:"at"` // when the look-up was made, seconds since 1970
}

// answers are all kept answers, in memory like the LIDs.
type answers struct {
	change sync.Mutex // held over a commit and the change of the maps

	mu    sync.RWMutex
	known map[string]keptAnswer // by the number that was asked
	asked map[string][]string   // the numbers that were asked, by JID of the account
	swept time.Time
}

func openAnswers(st *store.Store) (*answers, error) {
	a := &answers{known: map[string]keptAnswer{}, asked: map[string][]string{}}
	err := st.View(func(tx *store.Tx) error {
		return tx.Scan(answerBucket, store.Range{}, func(k, v []byte) (bool, error) {
			var kept keptAnswer
			if json.Unmarshal(v, &kept) == nil {
				a.set(string(k), kept)
			}
			return true, nil // one that cannot be read is asked again
		})
	})
	return a, err
}

// set changes the maps. The caller holds a.mu, or is alone.
func (a *answers) set(number string, kept keptAnswer) {
	a.unset(number)
	a.known[number] = kept
	for _, jid := range kept.names() {
		a.asked[jid] = append(a.asked[jid], number)
	}
}

func (a *answers) unset(number string) {
	former, known := a.known[number]
	if !known {
		return
	}
	delete(a.known, number)
	for _, jid := range former.names() {
		a.asked[jid] = slices.DeleteFunc(a.asked[jid], func(n string) bool { return n == number })
		if len(a.asked[jid]) == 0 {
			delete(a.asked, jid)
		}
	}
}

// names returns the JIDs of an account, the one that messages go to first.
func (a Answer) names() (all []string) {
	if a.LID != "" {
		all = append(all, a.JID())
	}
	if a.Number != "" {
		all = append(all, Answer{Number: a.Number}.JID())
	}
	return all
}

// expired returns up to sweepStep expired answers, once in answerSweep. The caller holds a.change.
func (a *answers) expired(now time.Time) (all []string) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if age := now.Sub(a.swept); age >= 0 && age < answerSweep {
		return nil
	}
	for number, kept := range a.known {
		if !kept.valid(now) {
			if all = append(all, number); len(all) == sweepStep {
				return all
			}
		}
	}
	a.swept = now
	return all
}

// valid reports whether an answer is still kept. One of the future was made by a clock that was wrong.
func (k keptAnswer) valid(now time.Time) bool {
	age := now.Sub(time.Unix(k.At, 0))
	return age < answerLife && age > -answerLife
}

// KeepAnswers keeps the answers to look-ups, by the number that was asked.
func (c *Container) KeepAnswers(ctx context.Context, fresh map[string]Answer) error {
	a, now := c.answers, c.store.Now()
	a.change.Lock()
	defer a.change.Unlock()
	gone := a.expired(now)
	if len(fresh)+len(gone) == 0 {
		return nil
	}
	err := c.store.Update(ctx, func(tx *store.Tx) error {
		for _, number := range gone {
			if err := tx.Delete(answerBucket, []byte(number)); err != nil {
				return err
			}
		}
		for number, answer := range fresh {
			if err := store.PutJSON(tx, answerBucket, []byte(number), keptAnswer{answer, now.Unix()}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("device: keep the answers to look-ups of numbers: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, number := range gone {
		a.unset(number)
	}
	for number, answer := range fresh {
		a.set(number, keptAnswer{answer, now.Unix()})
	}
	return nil
}

// AnswerTo returns the kept answer to a look-up of a number, of which only its digits are given. A number whose
// LID is known has an account of its own by now.
func (c *Container) AnswerTo(number string) (Answer, bool) {
	c.answers.mu.RLock()
	kept, known := c.answers.known[number]
	c.answers.mu.RUnlock()
	if !known || c.lids.lidOf(number) != "" || !kept.valid(c.store.Now()) {
		return Answer{}, false
	}
	return kept.Answer, true
}

// Answered returns the JIDs of the account that the kept answer to a look-up of a phone's JID names.
func (c *Container) Answered(jid string) []string {
	number, is := strings.CutSuffix(jid, "@"+types.DefaultUserServer)
	if !is {
		return nil
	}
	a, _ := c.AnswerTo(number)
	return a.names()
}

// AddressesOf returns the JIDs of the person at a JID: all names of the account, and the numbers whose kept
// answers name it.
func (c *Container) AddressesOf(jid string) (all []string) {
	_, all = c.Person(jid)
	now := c.store.Now()
	c.answers.mu.RLock()
	defer c.answers.mu.RUnlock()
	for _, name := range all {
		for _, number := range c.answers.asked[name] {
			kept := c.answers.known[number]
			if !kept.valid(now) || c.lids.lidOf(number) != "" {
				continue
			}
			for _, also := range append(kept.names(), Answer{Number: number}.JID()) {
				if !slices.Contains(all, also) {
					all = append(all, also)
				}
			}
		}
	}
	return all
}

// NumbersOf returns the phone numbers among the addresses of the person at a JID.
func (c *Container) NumbersOf(jid string) (numbers []string) {
	for _, name := range c.AddressesOf(jid) {
		if number, is := strings.CutSuffix(name, "@"+types.DefaultUserServer); is {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// AccountOf returns the number of the account that the kept answer to a look-up of a number names, its
// LID as a JID if the number is unknown, and the number itself if no answer is kept.
func (c *Container) AccountOf(number string) string {
	a, kept := c.AnswerTo(number)
	switch {
	case !kept:
		return number
	case a.Number != "":
		return a.Number
	}
	if twin := c.Twin(a.JID()); twin != "" {
		own, _, _ := strings.Cut(twin, "@")
		return own
	}
	return a.JID()
}

// ForgetAnswers removes the kept answers that name a person with one of these JIDs, and those to their numbers.
func (c *Container) ForgetAnswers(ctx context.Context, jids []string) error {
	a := c.answers
	a.change.Lock()
	defer a.change.Unlock()
	gone := map[string]bool{}
	a.mu.RLock()
	for _, jid := range jids {
		if number, is := strings.CutSuffix(jid, "@"+types.DefaultUserServer); is {
			if _, known := a.known[number]; known {
				gone[number] = true
			}
		}
		for _, number := range a.asked[jid] {
			gone[number] = true
		}
	}
	a.mu.RUnlock()
	if len(gone) == 0 {
		return nil
	}
	err := c.store.Update(ctx, func(tx *store.Tx) error {
		for number := range gone {
			if err := tx.Delete(answerBucket, []byte(number)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("device: remove the answers to look-ups of a person: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for number := range gone {
		a.unset(number)
	}
	return nil
}
