package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"postern/access"
	"postern/httpapi/tokens"
)

// scheme is the credential that a route asks for.
type scheme int

const (
	public         scheme = iota // none
	globalKey                    // the GlobalApiKey in apikey or x-api-key
	instanceBearer               // the token of the instance in the path
	pathBearer                   // the token of the instance named by any path segment: clients differ in which
	userBearer                   // a user's token
	handshake                    // a WebSocket path, which checks its token itself
	signIn                       // the GlobalApiKey or a scoped key, and no session
	anyKey                       // one of them, or a session
	portalLink                   // the secret of a portal link, which is in the path
)

// errUnauthorized is the same for every rejected credential, so that it does not
// reveal what was wrong.
func errUnauthorized() error {
	return refuse(http.StatusUnauthorized, codeUnauthorized, "the credential is missing, malformed, expired or wrong")
}

// authorize checks the credential of c for a route, and stores its owner in c. A
// scoped key is recognized by its prefix; the session cookie counts only without
// another credential.
func (s *server) authorize(c *call, r route) (err error) {
	if r.auth == public || r.auth == handshake {
		return nil
	}
	if r.auth == portalLink {
		return c.openPortal()
	}
	if r.path == pathMetrics {
		c.r = bearerAsKey(c.r)
	}
	text, given, err := keyText(c.r.Header)
	if err != nil {
		return err
	}
	cookie, signedIn := c.cookieOf()
	// On a route that does not accept the GlobalApiKey, it does not hide another credential.
	takesGlobal := r.auth == globalKey || r.auth == signIn || r.auth == anyKey || r.auth == instanceBearer && s.KeyOpensInstances
	switch operator := takesGlobal && s.isOperator(c.r.Header); {
	case given && !operator:
		if c.key, err = c.findKey(text); err != nil {
			return err
		}
		return c.openWithKey(r)
	case signedIn && r.auth != signIn:
		return c.openWithSession(r, cookie)
	case operator && (r.auth == instanceBearer || r.auth == anyKey):
		c.operator = true
		return c.openAsOperator(r)
	}
	switch r.auth {
	case globalKey, signIn, anyKey:
		return s.checkKey(c.r.Header)
	case instanceBearer:
		c.instance, err = c.bearerInstance(c.params.ByName("i"))
	case pathBearer:
		c.instance, err = c.bearerInstance(strings.Split(c.r.URL.Path, "/")...)
	case userBearer:
		c.user, err = s.bearerUser(bearer(c.r.Header))
	case public, handshake, portalLink:
	}
	return err
}

// bearerAsKey copies the GlobalApiKey of a Prometheus scrape from the Authorization
// header to apikey.
func bearerAsKey(r *http.Request) *http.Request {
	token := bearer(r.Header)
	if token == "" || strings.HasPrefix(token, access.Prefix) {
		return r
	}
	out := r.WithContext(r.Context())
	out.Header = r.Header.Clone()
	out.Header.Del("Authorization")
	out.Header.Add("Apikey", token)
	return out
}

// checkKey compares every value of both headers with the key, in constant
// time. HTTP does not distinguish apikey from apiKey.
func (s *server) checkKey(h http.Header) error {
	given := append(h["Apikey"], h["X-Api-Key"]...)
	if len(given) == 0 {
		return errUnauthorized()
	}
	for _, v := range given[1:] {
		if v != given[0] {
			return errKeyMismatch()
		}
	}
	if !sameSecret(given[0], s.APIKey) {
		return errUnauthorized()
	}
	return nil
}

func errKeyMismatch() error {
	return refuse(http.StatusBadRequest, codeKeyMismatch, "apikey and x-api-key have different values")
}

// sameSecret hashes first, so that timing does not reveal the length.
func sameSecret(got, want string) bool {
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(g[:], w[:]) == 1
}

// bearer returns the token of the Authorization header, empty when there is
// none, more than one, or another scheme.
func bearer(h http.Header) string {
	values := h["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// instanceToken is the token of a request to an instance: the Authorization
// header's or, where there is none, that of the header apikey, where older
// clients put it.
func instanceToken(h http.Header) (string, error) {
	given := h["Apikey"]
	if len(h["Authorization"]) > 0 || len(given) == 0 {
		return bearer(h), nil
	}
	for _, v := range given[1:] {
		if v != given[0] {
			return "", refuse(http.StatusBadRequest, codeKeyMismatch, "apikey is given with different values")
		}
	}
	return given[0], nil
}

// bearerUser returns the user of a token.
func (s *server) bearerUser(token string) (uuid.UUID, error) {
	claims, err := s.tokens.Read(token)
	if err != nil {
		return uuid.UUID{}, errUnauthorized()
	}
	id, err := claims.User()
	if err != nil {
		return uuid.UUID{}, errUnauthorized()
	}
	return id, nil
}

// bearerInstance returns the instance that the token of a request was last issued
// for, when its name is one of names. The order of the checks is the contract's:
// 401, 403, 404, 401.
func (c *call) bearerInstance(names ...string) (Instance, error) {
	token, err := instanceToken(c.r.Header)
	if err != nil {
		return Instance{}, err
	}
	claims, err := c.readToken(token)
	if err != nil {
		return Instance{}, errUnauthorized()
	}
	claimed, err := claims.Instance()
	if err != nil {
		return Instance{}, errUnauthorized()
	}
	if !slices.Contains(names, claimed) {
		return Instance{}, refuse(http.StatusForbidden, codeForbidden, "this token is for another instance")
	}
	return c.holder(token, claimed)
}

// holder returns the instance called name when token is the one that was last
// issued for it: an older one was revoked by that issue.
func (c *call) holder(token, name string) (Instance, error) {
	in, err := c.server.Instances.Named(name)
	if err != nil {
		return Instance{}, err
	}
	// For a token that was read, timing can reveal only the length, which its name reveals too.
	if subtle.ConstantTimeCompare([]byte(token), []byte(in.Token)) != 1 {
		return Instance{}, errUnauthorized()
	}
	return in, nil
}

// readToken returns the claims of a token.
func (c *call) readToken(token string) (tokens.Claims, error) { return c.server.tokens.Read(token) }
