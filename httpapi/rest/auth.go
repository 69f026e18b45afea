package rest

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

// Scheme is the credential that a route requires.
type Scheme int

// The schemes, each with the credential that it takes.
const (
	Public         Scheme = iota // none
	GlobalKey                    // the GlobalApiKey in apikey or x-api-key
	InstanceBearer               // the token of the instance in the path
	PathBearer                   // the token of the instance named by any path segment: clients differ in which
	UserBearer                   // a user's token
	Handshake                    // a WebSocket path, which checks its token itself
	SignIn                       // the GlobalApiKey or a scoped key, and no session
	AnyKey                       // one of them, or a session
	PortalLink                   // the secret of a portal link, which is in the path
)

// Unauthorized is the same for every rejected credential, so that it does not
// reveal what was wrong.
func Unauthorized() error {
	return Refuse(http.StatusUnauthorized, CodeUnauthorized, "the credential is missing, malformed, expired or wrong")
}

// authorize checks the credential of c for a route, and stores its owner in c. A
// scoped key is recognized by its prefix; the session cookie counts only without
// another credential.
func (s *Server) authorize(c *Call, r Route) (err error) {
	if r.Auth == Public || r.Auth == Handshake {
		return nil
	}
	if r.Auth == PortalLink {
		return c.OpenPortal()
	}
	if r.Path == PathMetrics {
		c.Request = bearerAsKey(c.Request)
	}
	text, given, err := KeyText(c.Request.Header)
	if err != nil {
		return err
	}
	cookie, signedIn := c.CookieOf()
	// On a route that does not accept the GlobalApiKey, it does not hide another credential.
	ofInstance := r.Auth == InstanceBearer || r.Auth == PathBearer
	takesGlobal := r.Auth == GlobalKey || r.Auth == SignIn || r.Auth == AnyKey || ofInstance && s.KeyOpensInstances
	switch operator := takesGlobal && s.isOperator(c.Request.Header); {
	case given && !operator:
		if c.Key, err = c.FindKey(text); err != nil {
			return err
		}
		return c.openWithKey(r)
	case signedIn && r.Auth != SignIn:
		return c.openWithSession(r, cookie)
	case operator && (ofInstance || r.Auth == AnyKey):
		c.Operator = true
		return c.openAsOperator(r)
	}
	switch r.Auth {
	case GlobalKey, SignIn, AnyKey:
		return s.checkKey(c.Request.Header)
	case InstanceBearer:
		c.Instance, err = c.bearerInstance(c.Params.ByName("i"))
	case PathBearer:
		c.Instance, err = c.bearerInstance(strings.Split(c.Request.URL.Path, "/")...)
	case UserBearer:
		c.User, err = s.bearerUser(Bearer(c.Request.Header))
	case Public, Handshake, PortalLink:
	}
	return err
}

// bearerAsKey copies the GlobalApiKey of a Prometheus scrape from the Authorization
// header to apikey.
func bearerAsKey(r *http.Request) *http.Request {
	token := Bearer(r.Header)
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
func (s *Server) checkKey(h http.Header) error {
	given := append(h["Apikey"], h["X-Api-Key"]...)
	if len(given) == 0 {
		return Unauthorized()
	}
	for _, v := range given[1:] {
		if v != given[0] {
			return errKeyMismatch()
		}
	}
	if !sameSecret(given[0], s.APIKey) {
		return Unauthorized()
	}
	return nil
}

func errKeyMismatch() error {
	return Refuse(http.StatusBadRequest, CodeKeyMismatch, "apikey and x-api-key have different values")
}

// sameSecret hashes first, so that timing does not reveal the length.
func sameSecret(got, want string) bool {
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(g[:], w[:]) == 1
}

// Bearer returns the token of the Authorization header, empty if there is none, more than one, or
// another scheme.
func Bearer(h http.Header) string {
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

// instanceToken returns the token of a request to an instance: that of the Authorization header or,
// without it, of the header apikey, which older clients use.
func instanceToken(h http.Header) (string, error) {
	given := h["Apikey"]
	if len(h["Authorization"]) > 0 || len(given) == 0 {
		return Bearer(h), nil
	}
	for _, v := range given[1:] {
		if v != given[0] {
			return "", Refuse(http.StatusBadRequest, CodeKeyMismatch, "apikey is given with different values")
		}
	}
	return given[0], nil
}

// bearerUser returns the user of a token.
func (s *Server) bearerUser(token string) (uuid.UUID, error) {
	claims, err := s.tokens.Read(token)
	if err != nil {
		return uuid.UUID{}, Unauthorized()
	}
	id, err := claims.User()
	if err != nil {
		return uuid.UUID{}, Unauthorized()
	}
	return id, nil
}

// bearerInstance returns the instance for which the token of a request was last issued, if its name
// is one of names. The API defines the order of the checks: 401, 403, 404, 401.
func (c *Call) bearerInstance(names ...string) (Instance, error) {
	token, err := instanceToken(c.Request.Header)
	if err != nil {
		return Instance{}, err
	}
	claims, err := c.ReadToken(token)
	if err != nil {
		return Instance{}, Unauthorized()
	}
	claimed, err := claims.Instance()
	if err != nil {
		return Instance{}, Unauthorized()
	}
	if !slices.Contains(names, claimed) {
		return Instance{}, Refuse(http.StatusForbidden, CodeForbidden, "this token is for another instance")
	}
	return c.TokenHolder(token, claimed)
}

// TokenHolder returns the instance called name if token is the last one issued for it; issuing a
// token revokes the older ones.
func (c *Call) TokenHolder(token, name string) (Instance, error) {
	in, err := c.Server.Instances.Named(name)
	if err != nil {
		return Instance{}, err
	}
	// For a token that was read, timing can reveal only the length, which its name reveals too.
	if subtle.ConstantTimeCompare([]byte(token), []byte(in.Token)) != 1 {
		return Instance{}, Unauthorized()
	}
	return in, nil
}

// ReadToken returns the claims of a token.
func (c *Call) ReadToken(token string) (tokens.Claims, error) { return c.Server.tokens.Read(token) }
