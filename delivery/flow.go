package delivery

import (
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"postern/delivery/layout"
	"postern/store"
)

// Flowed is a record of the in-memory flow that is to be written: as it was made or, with
// Ended, after its end.
type Flowed struct {
	Record
	Ended bool
	End   State   // with Ended
	Last  Attempt // with Ended: an attempt, or the reason why there was none
	Known bool    // the file has it as pending

	OwnerJID string
	Body     []byte // nil: not to be kept
}

// PutFlow writes records of the in-memory flow, in the order of their ids. It changes some. A
// record of a deleted instance, and one that is no longer pending, is not written.
func (l *Ledger) PutFlow(tx *store.Tx, some []Flowed) error {
	last := uint64(0)
	gone, w, key := map[int64]bool{}, layout.New(512), make([]byte, 8)
	for i := range some {
		one := &some[i]
		if isGone(tx, one.Instance, gone) {
			continue
		}
		c, err := changeOf(tx, one)
		if err != nil {
			return err
		}
		if c.now == nil {
			continue
		}
		if l.astray(c.now) {
			one.Body = nil
			if err := strip(tx, c); err != nil {
				return err
			}
		}
		if err := l.putFlowBody(tx, c, one); err != nil {
			return err
		}
		w.Reset()
		writeRecord(w, c.now)
		binary.BigEndian.PutUint64(key, c.now.ID)
		if err := tx.Put(records, key, w.Raw); err != nil {
			return err
		}
		if err := l.note(tx, c.now, c.old); err != nil {
			return err
		}
		last = c.now.ID
	}
	return tx.TakeID(records, last)
}

// changeOf returns the change that a writing makes. It returns no change if the record is no
// longer pending.
func changeOf(tx *store.Tx, f *Flowed) (c change, err error) {
	if f.Known {
		old, found, err := Find(tx, f.ID)
		if errors.Is(err, store.ErrDamaged) {
			return c, nil
		}
		if err != nil || !found || old.State != Pending {
			return c, err
		}
		f.Record, c.old = old, &old
	}
	if c.now = &f.Record; f.Ended {
		f.Record = f.after(f.End, f.Last)
	}
	return c, nil
}

// strip removes the body of a credential from a writing.
func strip(tx *store.Tx, c change) error {
	*c.now = c.now.withheld()
	if c.old == nil || !c.old.OwnBody {
		return nil
	}
	return tx.Delete(bodies, store.Key(c.now.ID))
}

// putFlowBody stores the body or discards it.
func (l *Ledger) putFlowBody(tx *store.Tx, c change, f *Flowed) error {
	switch {
	case !l.KeepsBodyOf(c.now.State):
		if c.now.OwnBody = false; c.old != nil && c.old.OwnBody {
			return tx.Delete(bodies, store.Key(c.now.ID))
		}
	case f.Body != nil && (c.old == nil || !c.old.OwnBody):
		c.now.OwnBody = true
		return putOwn(tx, c.now.ID, f.OwnerJID, f.Body)
	}
	return nil
}

// after returns r after it ended with a, which holds an attempt or the reason why there was none.
func (r Record) after(state State, a Attempt) Record {
	r.State, r.LastError = state, a.Error
	if state == Dropped || state == Cancelled {
		return r
	}
	r.Attempts, r.LastAttemptAt, r.Duration = 1, a.StartedAt, a.Duration
	r.LastStatus, r.Answer = a.Status, a.Answer
	if a.RequestID != "" {
		r.RequestID = a.RequestID
	}
	if a.URL != "" {
		r.URL = ShownURL(a.URL)
	}
	return r
}

// CutAnswer returns as much of an answer as the log keeps, as text: it replaces invalid UTF-8
// and does not cut a character in two.
func CutAnswer(answer string) string {
	answer = strings.ToValidUTF8(answer[:min(len(answer), MaxAnswer)], "\uFFFD")
	if len(answer) <= MaxAnswer {
		return answer
	}
	answer = answer[:MaxAnswer]
	for !utf8.ValidString(answer) {
		answer = answer[:len(answer)-1]
	}
	return answer
}
