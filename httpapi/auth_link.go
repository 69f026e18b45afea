package httpapi

import (
	"crypto/sha256"
	"errors"
	"net/http"

	"postern/access"
)

func (in Instance) tokenDigest() []byte {
	sum := sha256.Sum256([]byte(in.Token))
	return sum[:]
}

// errNoLink is the answer to an expired or unknown link.
func errNoLink() error {
	return refuse(http.StatusNotFound, codeNoLink, "this link has expired; ask for a new one")
}

// openPortal finds the instance that the link in the path leads to, as long as what
// made the link could still pair that.
func (c *call) openPortal() error {
	s := c.server
	link, found := s.Access.Links.Find(c.params.ByName("token"))
	if !found {
		return errNoLink()
	}
	in, err := s.Instances.Numbered(link.Instance)
	if errors.Is(err, ErrNoInstance) || err == nil && !s.mayStillPair(&link, in) {
		return errNoLink()
	}
	c.instance, c.link = in, &link
	return err
}

func (s *server) mayStillPair(link *access.Link, in Instance) bool {
	if len(link.Digest) > 0 {
		return link.MadeBy(in.tokenDigest()) || link.MadeBy(s.operatorBinding())
	}
	k, err := s.Access.Keys.Get(link.Key)
	return err == nil && !k.Expired(s.Store.Now()) && k.Has(access.Pair) && k.Opens(in.ID)
}
