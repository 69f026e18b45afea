package access

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"postern/store"
)

// newSecret makes what a browser shows, of which the file has the digest only.
func newSecret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// sweepStep is how many records are looked at for some that are over, whenever there is
// a new one.
const sweepStep = 100

// passes are what secrets stand for, in a bucket of its own: sessions, links. Each has
// an owner, and ends by itself. The record is under the digest of the secret; beside it
// an entry is under owner, time and digest, so that those of one owner are found, the
// oldest first, without a look at all others. An entry whose record is gone counts until
// its end, and a record without one is swept like any other.
type passes struct {
	store  *store.Store
	bucket string
	most   int   // of one owner
	full   error // of one more; nil: the oldest makes room for it

	mu sync.Mutex
	at []byte // where the next sweep begins; nil: at the first record
}

// pass is what an entry says.
type pass struct {
	owner any // a part of a key, of the same size for all of a bucket
	made  time.Time
	ends  time.Time
	id    [sha256.Size]byte // of the secret
}

func (p *pass) entry() []byte { return store.Key(p.owner, p.made, p.id) }

// add stores a pass with its record, and tells which others of the owner ended for it.
// What it costs does not depend on how many there are. Error: full.
func (all *passes) add(ctx context.Context, p pass, record any) (ended [][sha256.Size]byte, err error) {
	all.mu.Lock()
	from := all.at
	all.mu.Unlock()
	var next []byte
	err = all.store.Update(ctx, func(tx *store.Tx) (err error) {
		if next, err = all.sweep(tx, from); err != nil {
			return err
		}
		if ended, err = all.makeRoom(tx, &p); err != nil {
			return err
		}
		return errors.Join(store.PutJSON(tx, all.bucket, p.id[:], record), tx.Put(all.bucket, p.entry(), store.Key(p.ends)))
	})
	if err != nil {
		return nil, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.at = next
	return ended, nil
}

// makeRoom removes what is over of the owner of p, and the oldest if it has to, which
// it tells.
func (all *passes) makeRoom(tx *store.Tx, p *pass) (ended [][sha256.Size]byte, err error) {
	var live, gone [][]byte
	err = tx.Scan(all.bucket, store.Range{Prefix: store.Key(p.owner)}, func(key, value []byte) (bool, error) {
		switch {
		case len(key) == sha256.Size: // the record of another
		case over(key, value, tx.Now()):
			gone = append(gone, key)
		default:
			live = append(live, key)
		}
		return true, nil
	})
	if spare := len(live) - all.most + 1; spare > 0 {
		if all.full != nil {
			return nil, fmt.Errorf("%w: there are %d, and they end by themselves", all.full, len(live))
		}
		for _, entry := range live[:spare] {
			ended = append(ended, idOf(entry))
		}
		gone = append(gone, live[:spare]...)
	}
	for _, entry := range gone {
		id := idOf(entry)
		err = errors.Join(err, tx.Delete(all.bucket, entry), tx.Delete(all.bucket, id[:]))
	}
	return ended, err
}

// idOf is the id of the pass that an entry is of.
func idOf(entry []byte) [sha256.Size]byte {
	return [sha256.Size]byte(entry[len(entry)-sha256.Size:])
}

// sweep removes what is over of the next sweepStep records, and returns where those
// behind them begin.
func (all *passes) sweep(tx *store.Tx, from []byte) (next []byte, err error) {
	var gone [][]byte
	seen := 0
	err = tx.Scan(all.bucket, store.Range{From: from, Limit: sweepStep}, func(key, value []byte) (bool, error) {
		if seen++; seen == sweepStep {
			next = append(slices.Clone(key), 0)
		}
		if over(key, value, tx.Now()) {
			gone = append(gone, key)
		}
		return true, nil
	})
	for _, key := range gone {
		err = errors.Join(err, tx.Delete(all.bucket, key))
	}
	return next, err
}

// over reports whether a record or an entry has ended. So has what nobody can read.
func over(key, value []byte, now time.Time) bool {
	if len(key) == sha256.Size {
		var r struct {
			ExpiresAt time.Time `json:"expiresAt"`
		}
		return json.Unmarshal(value, &r) != nil || !now.Before(r.ExpiresAt)
	}
	return len(value) != 8 || bytes.Compare(value, store.Key(now)) <= 0
}

// entries are those of an owner, the oldest first.
func (all *passes) entries(tx *store.Tx, owner any) (entries [][]byte, err error) {
	err = tx.Scan(all.bucket, store.Range{Prefix: store.Key(owner)}, func(key, _ []byte) (bool, error) {
		if len(key) > sha256.Size {
			entries = append(entries, slices.Clone(key))
		}
		return true, nil
	})
	return entries, err
}

// end removes a pass.
func (all *passes) end(ctx context.Context, p pass) error {
	return all.store.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.Delete(all.bucket, p.id[:]), tx.Delete(all.bucket, p.entry()))
	})
}
