package rest

import (
	"errors"
	"net/http"
	"slices"
)

// withAdvice adds to a refusal which credential the route takes. That depends on the
// route alone: it is the same for every credential, so it reveals nothing about one.
func withAdvice(err error, r Route) error {
	no, ok := errors.AsType[*Error](err)
	if !ok || no.Status != http.StatusUnauthorized {
		return err
	}
	advice := r.takes()
	if advice == "" {
		return err
	}
	advised := *no
	advised.Messages = append(slices.Clone(no.Messages), advice)
	return &advised
}

// takes says which credential a route takes and where it comes from. It is empty if there is no
// single answer.
func (r Route) takes() string {
	text := ""
	switch r.Auth {
	case GlobalKey:
		text = "this route takes the GlobalApiKey in the header apikey"
	case SignIn, AnyKey:
		return "this route takes the GlobalApiKey in the header apikey, or a scoped key as Authorization: Bearer"
	case InstanceBearer, PathBearer:
		text = "this route takes the token of the instance as Authorization: Bearer; POST /instance and PUT /instance/{i}/token return it"
	case UserBearer:
		text = "this route takes a user token as Authorization: Bearer; postern token user --id UUID --ttl 24h and POST /auth/user-token issue one"
	case Handshake:
		text = "this path takes the token of an instance, as token= or Authorization: Bearer"
		if r.Right&ScopeBatch != 0 {
			text = "this path takes a user token, as token= or Authorization: Bearer; postern token user --id UUID --ttl 24h and POST /auth/user-token issue one"
		}
	case Public, PortalLink:
		return ""
	}
	if need := r.Right.Needs(); len(need) > 0 {
		text += ". A scoped key with the scope " + listed(need) + " opens it too"
	}
	return text
}
