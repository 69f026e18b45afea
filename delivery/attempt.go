package delivery

import (
	"encoding/binary"
	"errors"
	"slices"

	"postern/store"
)

// maxAttempts is the number of attempts kept of a record, the newest ones: 41 days at one
// attempt an hour.
const maxAttempts = 1000

// A stored attempt begins with a mark that says what it shares with the next one, because a
// receiver that is down gives the same answer each time.
const (
	attemptWhole = byte(iota)
	attemptAlike // error and answer are those of the next one
)

func attemptKey(record uint64, number int) []byte { return store.Key(record, number) }

// keepAttempt stores the last attempt of old beside its record, which now holds a later one.
// It removes the oldest attempt if there are too many.
func (l *Ledger) keepAttempt(tx *store.Tx, now, old Record) error {
	next := now.lastAttempt()
	err := errors.Join(
		putAttempt(tx, old.ID, old.lastAttempt(), &next),
		l.digest.AddName(tx, now.ID, now.RequestID),
	)
	if now.Attempts > maxAttempts {
		err = errors.Join(err, l.dropAttempt(tx, now.ID, now.Attempts-maxAttempts))
	}
	return err
}

// putAttempt stores an attempt. It leaves an attempt that is already stored unchanged: that
// one dates from before the record took another reason for its end.
func putAttempt(tx *store.Tx, record uint64, a Attempt, next *Attempt) error {
	key := attemptKey(record, a.Number)
	if tx.Has(attempts, key) {
		return nil
	}
	how := attemptWhole
	if next != nil && next.Error == a.Error && next.Answer == a.Answer {
		how, a.Error, a.Answer = attemptAlike, "", ""
	}
	return tx.Put(attempts, key, append([]byte{how}, encodeAttempt(a)...))
}

func (l *Ledger) dropAttempt(tx *store.Tx, record uint64, number int) error {
	key := attemptKey(record, number)
	a, err := readAttempt(tx, key)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	return errors.Join(tx.Delete(attempts, key), l.digest.DropName(tx, record, a.RequestID))
}

// readAttempt reads a stored attempt; its number is 0 if there is none.
func readAttempt(tx *store.Tx, key []byte) (a Attempt, err error) {
	raw, err := tx.Get(attempts, key)
	if err != nil || raw == nil {
		return a, err
	}
	a, _, err = decodeKept(tx, key, raw)
	return a, err
}

func decodeKept(tx *store.Tx, key, raw []byte) (a Attempt, alike bool, err error) {
	if len(key) != 16 || len(raw) == 0 || raw[0] > attemptAlike {
		return a, false, tx.Unreadable(attempts, key, errors.New("no attempt"))
	}
	a, err = decodeAttempt(int(binary.BigEndian.Uint64(key[8:])), raw[1:])
	if err != nil {
		return a, false, tx.Unreadable(attempts, key, err)
	}
	return a, raw[0] == attemptAlike, nil
}

// AttemptsOf returns the attempts of a record in order.
func AttemptsOf(tx *store.Tx, r Record) (all []Attempt, err error) {
	if r.Attempts == 0 {
		return nil, nil
	}
	all = append(all, r.lastAttempt())
	err = tx.Scan(attempts, store.Range{Prefix: store.Key(r.ID), Reverse: true}, func(key, raw []byte) (bool, error) {
		a, alike, err := decodeKept(tx, key, raw)
		if err != nil {
			return true, err
		}
		next := &all[len(all)-1]
		if alike && next.Number-a.Number <= 1 {
			a.Error, a.Answer = next.Error, next.Answer
		}
		if a.Number == next.Number {
			*next = a // the record has another reason for its end
		} else {
			all = append(all, a)
		}
		return true, nil
	})
	slices.Reverse(all)
	return all, err
}

// firstAttempt returns the first attempt of a record that has several; its number is 0 if it
// was not kept.
func firstAttempt(tx *store.Tx, r Record) (Attempt, error) {
	if r.Attempts < 2 {
		return Attempt{}, nil
	}
	a, err := readAttempt(tx, attemptKey(r.ID, 1))
	if errors.Is(err, store.ErrDamaged) {
		err = nil
	}
	return a, err
}

// attemptedAs reports whether an attempt before the last had that request id.
func attemptedAs(tx *store.Tx, r Record, id string) bool {
	if r.Attempts < 2 {
		return false
	}
	all, err := AttemptsOf(tx, r)
	return err == nil && slices.ContainsFunc(all, func(a Attempt) bool { return a.RequestID == id })
}
