package httpapi

import (
	"slices"

	"postern/internal/peers"
)

// judge counts a wrong credential. When too many came from the client's address, the
// refusal becomes 429. A valid credential is never refused because of earlier wrong
// ones: others may share the address.
func (s *server) judge(c *call, err error) error {
	if r, _ := s.answerTo(err); r.code != codeUnauthorized || !c.presentsCredential() {
		return err
	}
	c.w.wrong = true
	from := s.Proxies.Client(c.r)
	wait, last := s.Failures.Count(from)
	if last {
		s.log.Warn("too many wrong credentials: more from this address are refused until it pauses; correct the credential of that client, or block the address (docs/security.md)", "address", peers.Name(from))
	}
	if wait == 0 {
		return err
	}
	return tryLater(wait, codeTooManyFailures, "too many wrong credentials came from this address within a minute (authentication.failures_per_minute)")
}

// presentsCredential reports whether a request has any credential where its route
// reads one. A request without one is not a guess.
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
