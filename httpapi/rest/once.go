package rest

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

// IdempotencyHeader carries the key of a request that may be repeated, of MaxIdempotencyKey characters at most.
const (
	IdempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"
	MaxIdempotencyKey = 255
)

// once makes a handler take an Idempotency-Key, see [Route.Once]. If a request with a key already has an answer, it gets
// that answer, and its handler stops at the end of the body. Without the header nothing changes.
//
// The handler reads its body with [Call.Decode], or with another reader that ends in [Call.Claim].
// Then it does one of two things, because otherwise a crash in the middle would let a retry repeat
// the work: it calls [Call.Begin] before an irreversible send, as [api.sendContent] does, or it
// stores its answer in its own commit, by [KeepInCommit]. A send does both.
func once(handle Handler) Handler {
	return func(c *Call) error {
		key, given, err := idempotencyKey(c.Request.Header)
		if err != nil {
			return err
		}
		if !given {
			return handle(c)
		}
		return c.Server.runOnce(c, key, handle)
	}
}

// idempotencyKey returns the key of a request, as it was sent.
func idempotencyKey(h http.Header) (key string, given bool, err error) {
	values := h[IdempotencyHeader]
	switch {
	case len(values) == 0:
		return "", false, nil
	case len(values) > 1:
		return "", false, invalidKey("is given more than once")
	case len(values[0]) < 1 || len(values[0]) > MaxIdempotencyKey:
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
	return Refuse(http.StatusBadRequest, CodeInvalidKey, IdempotencyHeader+" "+rule)
}

// runOnce runs the handler under the key. It holds the answer back until it is stored.
func (s *Server) runOnce(c *Call, key string, handle Handler) error {
	o := s.keys.Request(keyID(c, key), c.Request.Method+" "+c.Response.Pattern, c.RequestID)
	defer o.Release() // a panic's too: what has begun then counts as unknown
	w := c.Response
	held := &heldAnswer{ResponseWriter: w}
	c.Once, c.Response = o, &Response{ResponseWriter: held, requestID: w.requestID, Pattern: w.Pattern, legacy: w.legacy}
	err := handle(c)
	status := c.Response.Status
	c.Response = w
	if earlier, ok := errors.AsType[*replay](err); ok {
		o.Release()
		return earlier.write(w)
	}
	if serr := o.Settle(held.ending(c, status, err)); serr != nil {
		s.Log.Error("the answer of an idempotency key was not stored; a retry will get the answer that the outcome is unknown",
			slog.String("route", w.Pattern), slog.String("request_id", c.RequestID), slog.Any("error", serr))
	}
	o.Release() // before the caller, who may come again at once, gets the answer
	if err != nil || status == 0 {
		return err
	}
	w.WriteHeader(status)
	_, err = w.Write(held.body.Bytes())
	return err
}

// keyID returns the key's id: the owner of the credential of c, and the caller's key. Each scoped
// key has its own ids, because it must not learn the answers to another.
func keyID(c *Call, key string) []byte {
	if c.Key != nil {
		key = c.Key.ID.String() + "\x00" + key // no caller's key has a zero byte
	}
	switch {
	case c.Instance.ID != 0:
		return idempotency.OfInstance(c.Instance.ID, key)
	case c.Response.auth == GlobalKey:
		return idempotency.OfOperator(key)
	}
	return idempotency.OfUser(c.User, key)
}

// Claim claims the key of c for a body with that digest. The handler must return its error: a
// refusal, or the stored answer.
func (c *Call) Claim(digest [sha256.Size]byte) error { return replayed(c.Once.Claim(digest)) }

// claimBody is Claim for the decoded body.
func (c *Call) claimBody() error { return replayed(c.Once.ClaimBody()) }

func replayed(known *idempotency.Answer, err error) error {
	if err != nil || known == nil {
		return err
	}
	return &replay{*known}
}

// SendContext returns the context for work that [Call.Begin] begins, and a function
// that ends it. Until then the work ends with the request. Afterwards it continues
// even when the client has left: a message that WhatsApp accepted is stored and
// reported, and a retry under the same key gets the real outcome.
func (c *Call) SendContext() (context.Context, context.CancelFunc) {
	request := c.Request.Context()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(request))
	c.detach = context.AfterFunc(request, func() { cancel(context.Cause(request)) })
	return ctx, func() {
		c.detach()
		cancel(nil)
	}
}

// Begin is called after all checks, immediately before a message is sent; see [idempotency.Request.Begin].
func (c *Call) Begin() error {
	if err := c.Once.Begin(c.Request.Context()); err != nil {
		return err
	}
	if c.detach != nil {
		c.detach()
	}
	return nil
}

// KeepInCommit returns a function that stores an answer in the commit of its change, so that a crash
// leaves both or neither. The handler must then answer with that status and value. Without a key it
// returns nil.
func KeepInCommit[T any](c *Call, status int) func(*store.Tx, T) error {
	keep := c.Once.InCommit()
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
			answer.ContentType, answer.Body = ContentTypeJSON, body
		}
		return keep(tx, answer)
	}
}
