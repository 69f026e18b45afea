package httpapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"

	"postern/event"
	"postern/httpapi/idempotency"
	"postern/store"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"
	maxIdempotencyKey = 255
)

// once makes a route take an Idempotency-Key. A request with a key that has an
// answer already gets that answer, and its handler stops at the end of the body.
// Without the header nothing changes.
//
// The handler reads its body with [call.decode], or with another reader that
// ends in [call.claim]. Then it does one of two things, or a crash in the
// middle would let a retry do the work again: it calls [call.begin] before an
// irreversible send, as [api.sendContent] does, or it
// stores its answer in its own commit, by [keepInCommit]. A send does both.
func once(handle handler) handler {
	return func(c *call) error {
		key, given, err := idempotencyKey(c.r.Header)
		if err != nil {
			return err
		}
		if !given {
			return handle(c)
		}
		return c.server.runOnce(c, key, handle)
	}
}

// idempotencyKey returns the key of a request, as it was sent.
func idempotencyKey(h http.Header) (key string, given bool, err error) {
	values := h[idempotencyHeader]
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

// runOnce runs the handler under the key. The answer is held back until it is
// stored.
func (s *server) runOnce(c *call, key string, handle handler) error {
	o := s.keys.Request(keyID(c, key), c.r.Method+" "+c.w.pattern, c.requestID)
	defer o.Release() // a panic's too: what has begun then counts as unknown
	w := c.w
	held := &heldAnswer{ResponseWriter: w}
	c.once, c.w = o, &response{ResponseWriter: held, requestID: w.requestID, pattern: w.pattern, legacy: w.legacy}
	err := handle(c)
	status := c.w.status
	c.w = w
	if earlier, ok := errors.AsType[*replay](err); ok {
		o.Release()
		return earlier.write(w)
	}
	if serr := o.Settle(held.ending(c, status, err)); serr != nil {
		s.log.Error("the answer of an idempotency key was not stored; a retry will get the answer that the outcome is unknown",
			slog.String("route", w.pattern), slog.String("request_id", c.requestID), slog.Any("error", serr))
	}
	o.Release() // before the caller, who may come again at once, gets the answer
	if err != nil || status == 0 {
		return err
	}
	w.WriteHeader(status)
	_, err = w.Write(held.body.Bytes())
	return err
}

// keyID is whose credential c has, and the caller's key. Each scoped key has its own
// keys: it must not learn what another was answered.
func keyID(c *call, key string) []byte {
	if c.key != nil {
		key = c.key.ID.String() + "\x00" + key // no caller's key has a zero byte
	}
	switch {
	case c.instance.ID != 0:
		return idempotency.OfInstance(c.instance.ID, key)
	case c.w.auth == globalKey:
		return idempotency.OfOperator(key)
	}
	return idempotency.OfUser(c.user, key)
}

// claim takes the key of c for a body with that digest, or returns the error
// that the handler has to return: a refusal, or the stored answer.
func (c *call) claim(digest [sha256.Size]byte) error { return replayed(c.once.Claim(digest)) }

// claimBody is claim for the body that was decoded.
func (c *call) claimBody() error { return replayed(c.once.ClaimBody()) }

func replayed(known *idempotency.Answer, err error) error {
	if err != nil || known == nil {
		return err
	}
	return &replay{*known}
}

// patience returns the context for work that [call.begin] begins, and a function
// that ends it. Until then the work ends with the request. Afterwards it continues
// even when the client has left: a message that WhatsApp accepted is stored and
// reported, and a retry under the same key gets the real outcome.
func (c *call) patience() (context.Context, context.CancelFunc) {
	request := c.r.Context()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(request))
	c.detach = context.AfterFunc(request, func() { cancel(context.Cause(request)) })
	return ctx, func() {
		c.detach()
		cancel(nil)
	}
}

// begin is called after all checks, immediately before a message is sent; see [idempotency.Request.Begin].
func (c *call) begin() error {
	if err := c.once.Begin(c.r.Context()); err != nil {
		return err
	}
	if c.detach != nil {
		c.detach()
	}
	return nil
}

// keepInCommit returns a function that stores an answer in the commit of its
// change, so that a crash leaves both or none. The handler then has to
// answer with that status and value. It returns nil without a key.
func keepInCommit[T any](c *call, status int) func(*store.Tx, T) error {
	keep := c.once.InCommit()
	if keep == nil {
		return nil
	}
	return func(tx *store.Tx, v T) error {
		answer := idempotency.Answer{Status: status}
		if status != http.StatusNoContent {
			body, err := event.Marshal(v)
			if err != nil {
				return err
			}
			answer.ContentType, answer.Body = contentTypeJSON, body
		}
		return keep(tx, answer)
	}
}
