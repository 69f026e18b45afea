package rest

import (
	"crypto/sha256"
	"errors"
	"net/http"

	"postern/access"
)

// TokenDigest returns the SHA-256 of the token of the instance.
func (in Instance) TokenDigest() []byte {
	sum := sha256.Sum256([]byte(in.Token))
	return sum[:]
}

// LinkExpired is the answer to an expired or unknown link.
func LinkExpired() error {
	return Refuse(http.StatusNotFound, codeNoLink, "this link has expired; ask for a new one")
}

// OpenPortal finds the instance of the link in the path, as long as the credential that made the
// link may still pair that instance.
func (c *Call) OpenPortal() error {
	s := c.Server
	link, found := s.Access.Links.Find(c.Params.ByName("token"))
	if !found {
		return LinkExpired()
	}
	in, err := s.Instances.Numbered(link.Instance)
	if errors.Is(err, ErrNoInstance) || err == nil && !s.mayStillPair(&link, in) {
		return LinkExpired()
	}
	c.Instance, c.Link = in, &link
	return err
}

func (s *Server) mayStillPair(link *access.Link, in Instance) bool {
	if len(link.Digest) > 0 {
		return link.MadeBy(in.TokenDigest()) || link.MadeBy(s.operatorBinding())
	}
	k, err := s.Access.Keys.Get(link.Key)
	return err == nil && !k.Expired(s.Store.Now()) && k.Has(access.Pair) && k.Opens(in.ID)
}
