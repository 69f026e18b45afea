package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"log/slog"
	"net/http"
	"sync"

	"postern/event"
	"postern/store"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"
	maxIdempotencyKey = 255
)

// once makes a route take an Idempotency-Key. A request with a key that has an
// answer already gets that answer, and its handler goes no further than the
// end of the body. Without the header nothing changes.
//
// The handler reads its body with [call.decode], or with another reader that
// ends in [call.claim]. Then it does one of two things, or a crash in the
// middle would let a retry do the work again: it has [call.begin] called before
// something leaves that cannot be taken back, as [api.sendContent] does, or it
// stores its answer in its own commit, by [keepInCommit]. A send does both.
func once(handle func(*api, *call) error) func(*api, *call) error {
	return func(a *api, c *call) error {
		key, given, err := idempotencyKey(c.r.Header)
		if err != nil {
			return err
		}
		if !given {
			return handle(a, c)
		}
		return a.runOnce(c, key, handle)
	}
}

// idempotencyKey returns the key of a request, as it was sent.
func idempotencyKey(h http.Header) (key string, given bool, err error) {
	values := h.Values(idempotencyHeader)
	switch {
	case len(values) == 0:
		return "", false, nil
	case len(values) > 1:
		return "", false, invalidKey("is given more than once")
	case len(values[0]) < 1 || len(values[0]) > maxIdempotencyKey:
		return "", false, invalidKey("must have 1 to 255 characters")
	}
	for _, b := range []byte(values[0]) {
		if b < ' ' || b > '~' {
			return "", false, invalidKey("must be printable ASCII")
		}
	}
	return values[0], true, nil
}

func invalidKey(rule string) error {
	return refuse(http.StatusBadRequest, codeInvalidKey, idempotencyHeader+" "+rule)
}

// onceCall is what a request with a key knows of it.
type onceCall struct {
	store *store.Store
	busy  *busyKeys

	id        []byte // of the record: whose key, and the key
	route     string
	requestID string
	body      hash.Hash // gets the bytes of the body while it is decoded
	digest    [sha256.Size]byte

	claimed  bool        // the key is ours until release
	begun    bool        // its record is in the file
	detach   func() bool // set by patience: the client's leaving ends nothing from then on
	inCommit bool        // the handler stores its answer itself
}

// runOnce runs the handler under the key. The answer is held back until it is
// stored.
func (a *api) runOnce(c *call, key string, handle func(*api, *call) error) error {
	o := &onceCall{
		store: a.Store, busy: &a.busy, id: recordID(c, key), requestID: c.requestID,
		route: c.r.Method + " " + c.w.pattern, body: sha256.New(),
	}
	defer o.release() // a panic's too: what has begun then counts as unknown
	w := c.w
	held := &heldAnswer{ResponseWriter: w}
	c.once, c.w = o, &response{ResponseWriter: held, requestID: w.requestID, pattern: w.pattern, legacy: w.legacy}
	err := handle(a, c)
	status := c.w.status
	c.w = w
	if earlier, ok := errors.AsType[*replay](err); ok {
		o.release()
		return earlier.write(w)
	}
	if serr := o.settle(held.answer(status, err, c.requestID)); serr != nil {
		a.log.Error("the answer of an idempotency key was not stored; a retry will be told that the outcome is unknown",
			slog.String("route", w.pattern), slog.String("request_id", c.requestID), slog.Any("error", serr))
	}
	o.release() // before the caller, who may come again at once, gets the answer
	if err != nil || status == 0 {
		return err
	}
	w.WriteHeader(status)
	_, err = w.Write(held.body.Bytes())
	return err
}

// claim takes the key of c for a body with that digest, or returns the error
// that the handler has to return: a refusal, or the answer to give again. It
// is called when the body was read, and before anything else about it is
// checked, for a retry gets its answer even if its body would be refused by
// now. Without a key it does nothing.
func (c *call) claim(digest [sha256.Size]byte) error {
	o := c.once
	if o == nil {
		return nil
	}
	if o.claimed {
		return errors.New("httpapi: an idempotency key was claimed twice by one request")
	}
	if o.claimed = o.busy.take(string(o.id)); !o.claimed {
		return refuse(http.StatusConflict, codeKeyInUse, "a request with this "+idempotencyHeader+" is being worked on")
	}
	o.digest = digest
	known, found, err := findKey(o.store, o.id)
	switch {
	case err != nil || !found:
		return err
	case known.Route != o.route:
		return refuse(http.StatusConflict, codeKeyReused, "this "+idempotencyHeader+" was used on another route")
	case !bytes.Equal(known.Digest, digest[:]):
		return refuse(http.StatusConflict, codeKeyReused, "this "+idempotencyHeader+" was used with another body")
	}
	return &replay{known}
}

// patience returns the context for work that [call.begin] begins, and a
// function that ends it. Until then the work ends with the request. Afterwards
// it goes on when the client has left, so that a retry gets the real outcome.
// Without a key it is the request's own context.
func (c *call) patience() (context.Context, context.CancelFunc) {
	request := c.r.Context()
	if c.once == nil {
		return request, func() {}
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(request))
	c.once.detach = context.AfterFunc(request, func() { cancel(context.Cause(request)) })
	return ctx, func() {
		c.once.detach()
		cancel(nil)
	}
}

// begin puts the key into the file as in flight. It is called when everything
// was checked and prepared, immediately before something leaves; what was
// never sent is then never in doubt. Without a key it does nothing.
func (c *call) begin() error {
	o := c.once
	if o == nil {
		return nil
	}
	if !o.claimed {
		return errors.New("httpapi: an idempotency key was begun before its body was read")
	}
	if err := context.Cause(c.r.Context()); err != nil {
		return err // the client has left; a free writer would not wait for that
	}
	err := o.store.Update(c.r.Context(), func(tx *store.Tx) error {
		return putKey(tx, o.id, o.record(tx))
	})
	if err != nil {
		return err
	}
	o.begun = true
	if o.detach != nil {
		o.detach()
	}
	return nil
}

// keepInCommit returns a function that stores an answer in the commit that
// makes it true, so that a crash leaves both or none. The handler then has to
// answer with that status and value. It returns nil without a key.
func keepInCommit[T any](c *call, status int) func(*store.Tx, T) error {
	o := c.once
	if o == nil {
		return nil
	}
	o.inCommit = true
	return func(tx *store.Tx, v T) error {
		r, err := o.current(tx)
		if err != nil || r == nil {
			return err
		}
		r.Status = status
		if status != http.StatusNoContent {
			r.ContentType = contentTypeJSON
			if r.body, err = event.Marshal(v); err != nil {
				return err
			}
		}
		return putKey(tx, o.id, *r)
	}
}

// record is the record of a key in flight.
func (o *onceCall) record(tx *store.Tx) keyRecord {
	return keyRecord{At: tx.Now().UnixMilli(), Route: o.route, Digest: o.digest[:], RequestID: o.requestID}
}

// settle stores how the request ended: an answer to keep, or that the key is
// free again.
func (o *onceCall) settle(e ending) error {
	switch {
	case !o.claimed && e.kept:
		return errors.New("httpapi: a handler that takes idempotency keys did not claim its key")
	case !o.claimed || e.success && o.inCommit:
		return nil
	case e.kept:
		return o.keep(e)
	case o.begun && e.certain:
		return o.free()
	default:
		return nil // never begun; or nobody knows, which is what the record says
	}
}

func (o *onceCall) keep(e ending) error {
	return o.store.Update(context.Background(), func(tx *store.Tx) error {
		r, err := o.current(tx)
		if err != nil || r == nil {
			return err
		}
		r.Status, r.ContentType, r.body = e.status, e.contentType, e.body
		return putKey(tx, o.id, *r)
	})
}

// current is the record to put an answer into: the one that was begun, or a
// new one. It is nil when that was deleted meanwhile, with its instance.
func (o *onceCall) current(tx *store.Tx) (*keyRecord, error) {
	if !o.begun {
		r := o.record(tx)
		return &r, nil
	}
	r, found, err := loadKey(tx, o.id)
	if err != nil || !found {
		return nil, err
	}
	return &r, nil
}

func (o *onceCall) free() error {
	return o.store.Update(context.Background(), func(tx *store.Tx) error { return deleteKey(tx, o.id) })
}

// release lets the next request have the key.
func (o *onceCall) release() {
	if o.claimed {
		o.busy.release(string(o.id))
		o.claimed = false
	}
}

// busyKeys are the keys whose handlers run now. A record in the file that is
// in flight, and not here, was left behind by a handler that did not live to
// its end. The zero value is ready.
type busyKeys struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

func (b *busyKeys) take(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, taken := b.keys[id]; taken {
		return false
	}
	if b.keys == nil {
		b.keys = map[string]struct{}{}
	}
	b.keys[id] = struct{}{}
	return true
}

func (b *busyKeys) release(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, id)
}
