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

// newSecret makes the secret that a browser presents. The store keeps only its digest.
func newSecret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// sweepStep is the number of records that each new pass checks for expired ones.
const sweepStep = 100

// passes are expiring secrets in a bucket of their own: sessions, links. Each has an
// owner. The record is stored under the digest of the secret; an index entry under owner,
// time and digest finds the passes of one owner, oldest first, without a scan. An entry
// whose record is gone counts until it expires; a record without an entry is swept like
// any other.
type passes struct {
	store  *store.Store
	bucket string
	most   int   // maximum per owner
	full   error // error at the maximum; nil: the oldest is removed instead

	mu sync.Mutex
	at []byte // start of the next sweep; nil: the first record
}

// pass is the content of an entry.
type pass struct {
	owner any // part of the key, of fixed size within a bucket
	made  time.Time
	ends  time.Time
	id    [sha256.Size]byte // digest of the secret
}

func (p *pass) entry() []byte { return store.Key(p.owner, p.made, p.id) }

// add stores a pass with its record and returns the passes of the owner that it
// displaced. The cost does not depend on the number of passes. Error: full.
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

// makeRoom removes the expired passes of the owner of p and, if needed, the oldest one,
// whose id it returns.
func (all *passes) makeRoom(tx *store.Tx, p *pass) (ended [][sha256.Size]byte, err error) {
	var live, gone [][]byte
	err = tx.Scan(all.bucket, store.Range{Prefix: store.Key(p.owner)}, func(key, value []byte) (bool, error) {
		switch {
		case len(key) == sha256.Size: // a record, not an entry
		case over(key, value, tx.Now()):
			gone = append(gone, key)
		default:
			live = append(live, key)
		}
		return true, nil
	})
	if spare := len(live) - all.most + 1; spare > 0 {
		if all.full != nil {
			return nil, fmt.Errorf("%w: the limit is %d; links expire on their own", all.full, len(live))
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

// idOf returns the id of the pass of an entry.
func idOf(entry []byte) [sha256.Size]byte {
	return [sha256.Size]byte(entry[len(entry)-sha256.Size:])
}

// sweep removes the expired ones among the next sweepStep records and returns where to
// continue.
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

// over reports whether a record or an entry has expired. Unreadable ones count as
// expired.
func over(key, value []byte, now time.Time) bool {
	if len(key) == sha256.Size {
		var r struct {
			ExpiresAt time.Time `json:"expiresAt"`
		}
		return json.Unmarshal(value, &r) != nil || !now.Before(r.ExpiresAt)
	}
	return len(value) != 8 || bytes.Compare(value, store.Key(now)) <= 0
}

// entries returns the entries of an owner, oldest first.
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

var errPass = errors.New("malformed record")

// decodePass decodes a record of a session or link as far as `postern check` needs it: the
// session or link itself, or one under its key. Unreadable ones are swept like expired ones.
func decodePass(key, value []byte) (ends time.Time, err error) {
	var r struct {
		ExpiresAt time.Time `json:"expiresAt"`
	}
	switch {
	case len(key) == sha256.Size:
		err = json.Unmarshal(value, &r)
	case len(key) < sha256.Size || len(value) != 8:
		err = errPass
	}
	return r.ExpiresAt, err
}
