package rest

import (
	"slices"

	"postern/internal/peers"
)

// judge counts a wrong credential. When too many came from the client's address, the
// refusal becomes 429. A valid credential is never refused because of earlier wrong
// ones: others may share the address.
func (s *Server) judge(c *Call, err error) error {
	if r, _ := s.AnswerTo(err); r.Code != CodeUnauthorized || !c.presentsCredential() {
		return err
	}
	c.Response.wrong = true
	from := s.Proxies.Client(c.Request)
	wait, last := s.Failures.Count(from)
	if last {
		s.Log.Warn("too many wrong credentials: more from this address are refused until it pauses; correct the credential of that client, or block the address (docs/security.md)", "address", peers.Name(from))
	}
	if wait == 0 {
		return err
	}
	return TryLater(wait, CodeTooManyFailures, "too many wrong credentials came from this address within a minute (authentication.failures_per_minute)")
}

// presentsCredential reports whether a request has any credential where its route
// reads one. A request without one is not a guess.
func (c *Call) presentsCredential() bool {
	if c.Response.guess {
		return true
	}
	where := []string{"Authorization"}
	switch c.Response.auth {
	case GlobalKey:
		where = []string{"Apikey", "X-Api-Key"}
	case InstanceBearer, PathBearer, SignIn, AnyKey:
		where = []string{"Authorization", "Apikey", "X-Api-Key"}
	case Handshake:
		if c.Request.URL.Query().Get("token") != "" {
			return true
		}
	case UserBearer, Public, PortalLink:
	}
	return slices.ContainsFunc(where, func(header string) bool {
		return slices.ContainsFunc(c.Request.Header.Values(header), func(v string) bool { return v != "" })
	})
}
