package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"postern/store"
)

// Reasons to refuse a key.
var (
	// ErrInUse: a request with the same key is in progress.
	ErrInUse = errors.New("a request with this Idempotency-Key is in progress")
	// ErrReused: the key was used for something else.
	ErrReused = errors.New("this Idempotency-Key was used")
	// ErrOtherRoute and ErrOtherBody say for what; both are an ErrReused.
	ErrOtherRoute = fmt.Errorf("%w on another route", ErrReused)
	ErrOtherBody  = fmt.Errorf("%w with another body", ErrReused)
)

// Answer is the answer to a request. Status 0 means unknown, because its handler did not finish.
type Answer struct {
	Status      int
	ContentType string // empty when there is no body
	Body        []byte
	RequestID   string // of the request that was answered; only Claim sets it
}

// Ending is how a request ended.
type Ending struct {
	Success bool // with a 2xx
	Kept    bool // a retry gets this answer again
	Certain bool // not kept, and a retry is safe: nothing was done

	Answer Answer
}

// Request is one request with a key. It is for one goroutine. A nil Request is a request without a key: its methods
// do nothing.
type Request struct {
	keys *Keys

	id        []byte // of the record: whose key, and the key
	route     string
	requestID string
	body      hash.Hash // gets the bytes of the body while it is decoded
	digest    [sha256.Size]byte

	claimed  bool // the key is ours until Release
	begun    bool // its record is in the file
	inCommit bool // the answer is in the file, by a commit of the handler
}

// Body returns a reader of a body that computes its digest, so that a large body need not be in memory.
func (r *Request) Body(body io.Reader) io.Reader {
	if r == nil {
		return body
	}
	return io.TeeReader(body, r.body)
}

// Names adds the subject of the request to the digest if it is not in the body.
func (r *Request) Names(what string) {
	if r == nil {
		return
	}
	digest := sha256.Sum256([]byte(what))
	r.body.Write(digest[:])
}

// ClaimBody is Claim for the body that was read from [Request.Body] to its end.
func (r *Request) ClaimBody() (known *Answer, err error) {
	if r == nil {
		return nil, nil
	}
	var digest [sha256.Size]byte
	r.body.Sum(digest[:0])
	return r.Claim(digest)
}

// Claim claims the key for a body with that digest. It returns the answer that the request already has, or nil if it
// has none and must be executed; it returns [ErrInUse], [ErrOtherRoute] or [ErrOtherBody] if the request is refused.
// It is called once the body was read, before any other check of it, because a retry gets its answer even if its body
// would now be refused.
func (r *Request) Claim(digest [sha256.Size]byte) (known *Answer, err error) {
	if r == nil {
		return nil, nil
	}
	if r.claimed {
		return nil, errors.New("idempotency: a key was claimed twice by one request")
	}
	if r.claimed = r.keys.busy.take(string(r.id)); !r.claimed {
		return nil, ErrInUse
	}
	r.digest = digest
	earlier, found, err := find(r.keys.store, r.id)
	switch {
	case err != nil || !found:
		return nil, err
	case earlier.Route != r.route:
		return nil, ErrOtherRoute
	case !bytes.Equal(earlier.Digest, digest[:]):
		return nil, ErrOtherBody
	}
	return &Answer{earlier.Status, earlier.ContentType, earlier.body, earlier.RequestID}, nil
}

// Begin stores the key as in flight. It is called after all checks, immediately before
// the send, so that a request that sent nothing never has an unknown outcome.
func (r *Request) Begin(request context.Context) error {
	if r == nil {
		return nil
	}
	if !r.claimed {
		return errors.New("idempotency: a key was begun before its body was read")
	}
	if err := context.Cause(request); err != nil {
		return err // the client has left; a free writer would not wait for that
	}
	err := r.keys.store.Update(request, func(tx *store.Tx) error { return put(tx, r.id, r.record(tx)) })
	if err != nil {
		return err
	}
	r.begun = true
	return nil
}

// InCommit returns a function that stores an answer in the commit of its change, so that a crash leaves both or
// neither. The handler must then answer with exactly that; if no such commit is made, Settle stores its answer. Without
// a key it returns nil.
func (r *Request) InCommit() func(*store.Tx, Answer) error {
	if r == nil {
		return nil
	}
	return func(tx *store.Tx, a Answer) error {
		tx.After(func() { r.inCommit = true })
		return r.answer(tx, a)
	}
}

// Settle stores how the request ended: with an answer to keep, or with a key that is free again.
func (r *Request) Settle(e Ending) error {
	switch {
	case !r.claimed && e.Kept:
		return errors.New("idempotency: a handler that takes keys did not claim its key")
	case !r.claimed || e.Success && r.inCommit:
		return nil
	case e.Kept:
		return r.keys.store.Update(context.Background(), func(tx *store.Tx) error { return r.answer(tx, e.Answer) })
	case r.begun && e.Certain:
		return r.keys.store.Update(context.Background(), func(tx *store.Tx) error { return remove(tx, r.id) })
	default:
		return nil // never begun; or the outcome is unknown, as the record says
	}
}

// Release frees the key for the next request.
func (r *Request) Release() {
	if r.claimed {
		r.keys.busy.release(string(r.id))
		r.claimed = false
	}
}

// answer stores an answer in the record that was begun, or in a new one. It stores nothing if the record was deleted
// in the meantime, with its instance.
func (r *Request) answer(tx *store.Tx, a Answer) error {
	rec := r.record(tx)
	if r.begun {
		var found bool
		var err error
		if rec, found, err = load(tx, r.id); err != nil || !found {
			return err
		}
	}
	rec.Status, rec.ContentType, rec.body = a.Status, a.ContentType, a.Body
	return put(tx, r.id, rec)
}

// record returns the record of a key in flight.
func (r *Request) record(tx *store.Tx) record {
	return record{At: tx.Steady().UnixMilli(), Route: r.route, Digest: r.digest[:], RequestID: r.requestID}
}
