package httpapi

import (
	"math"
	"net/http"
	"slices"
	"time"

	"postern/peers"
)

// judge counts a credential that was given and does not do. When too many came
// from the client's address, the refusal becomes 429. A right one is never
// refused for the wrong ones before it: others may share the address.
func (a *api) judge(c *call, err error) error {
	if r, _ := answerTo(err); r.code != codeUnauthorized || !c.presentsCredential() {
		return err
	}
	c.w.wrong = true
	from := a.Proxies.Client(c.r)
	wait, last := a.Failures.Count(from)
	if last {
		a.log.Warn("wrong credentials: the next from this address are refused until it pauses; correct the credential of that client, or block the address (docs/security.md)", "address", peers.Name(from))
	}
	if wait == 0 {
		return err
	}
	return &tryLater{
		refuse(http.StatusTooManyRequests, codeTooManyFailures, "too many wrong credentials came from this address within a minute (authentication.failures_per_minute)"),
		wait,
	}
}

// presentsCredential reports whether a request has anything where its route
// reads the credential. Who has nothing there has not guessed.
func (c *call) presentsCredential() bool {
	if c.w.guess {
		return true
	}
	where := []string{"Authorization"}
	switch c.w.auth {
	case globalKey:
		where = []string{"Apikey", "X-Api-Key"}
	case instanceBearer, pathBearer, signIn, anyKey:
		where = []string{"Authorization", "Apikey", "X-Api-Key"}
	case handshake:
		if c.r.URL.Query().Get("token") != "" {
			return true
		}
	case userBearer, public, portalLink:
	}
	return slices.ContainsFunc(where, func(header string) bool {
		return slices.ContainsFunc(c.r.Header.Values(header), func(v string) bool { return v != "" })
	})
}

// tryLater is a refusal that knows by itself when to come again.
type tryLater struct {
	error
	wait time.Duration
}

// Unwrap returns the refusal.
func (t *tryLater) Unwrap() error { return t.error }

// seconds is the wait for a Retry-After, rounded up.
func (t *tryLater) seconds() int { return max(1, int(math.Ceil(t.wait.Seconds()))) }
