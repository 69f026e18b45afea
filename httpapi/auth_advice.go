package httpapi

import (
	"errors"
	"net/http"
	"slices"
)

// withAdvice adds to a refusal which credential the route takes. That depends on the
// route alone: it is the same for every credential, so it reveals nothing about one.
func withAdvice(err error, r route) error {
	no, ok := errors.AsType[*refusal](err)
	if !ok || no.status != http.StatusUnauthorized {
		return err
	}
	advice := r.takes()
	if advice == "" {
		return err
	}
	advised := *no
	advised.messages = append(slices.Clone(no.messages), advice)
	return &advised
}

// takes says which credential a route takes and where it comes from, empty where there
// is no one answer.
func (r route) takes() string {
	text := ""
	switch r.auth {
	case globalKey:
		text = "this route takes the GlobalApiKey in the header apikey"
	case signIn, anyKey:
		return "this route takes the GlobalApiKey in the header apikey, or a scoped key as Authorization: Bearer"
	case instanceBearer, pathBearer:
		text = "this route takes the token of the instance as Authorization: Bearer; POST /instance and PUT /instance/{i}/token return it"
	case userBearer:
		text = "this route takes a user token as Authorization: Bearer; postern token user --id UUID --ttl 24h and POST /auth/user-token issue one"
	case handshake:
		text = "this path takes the token of an instance, as token= or Authorization: Bearer"
		if r.right&scopeBatch != 0 {
			text = "this path takes a user token, as token= or Authorization: Bearer; postern token user --id UUID --ttl 24h and POST /auth/user-token issue one"
		}
	case public, portalLink:
		return ""
	}
	if need := r.right.needs(); len(need) > 0 {
		text += ". A scoped key with the scope " + listed(need) + " opens it too"
	}
	return text
}
