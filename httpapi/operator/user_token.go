package operator

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/httpapi/rest"
	"postern/httpapi/tokens"
)

// UserTokenLife bounds the life of the token of a user, in seconds.
func UserTokenLife() rest.Lifetime { return rest.Lifetime{Least: 1, Most: 31_536_000} }

type userTokenRequest struct {
	UserID    *string `json:"userId" doc:"The user; a new one when absent." example:"$uuid" rules:"format=uuid"`
	ExpiresIn int64   `json:"expiresIn" strict:"required"`
}

// UserToken is a new token of a user.
type UserToken struct {
	Token     string     `json:"token" doc:"The token, for Authorization: Bearer." example:"eyJhbGciOiJIUzI1NiJ9.e30.signature"`
	UserID    string     `json:"userId" doc:"The user that it is for." example:"$uuid" rules:"format=uuid"`
	ExpiresAt event.Time `json:"expiresAt"`
}

// issueUserToken makes a token for a user. The program keeps no list of users:
// the operator defines them.
func (a *API) issueUserToken(c *rest.Call) error {
	var in userTokenRequest
	if err := c.Decode(&in, rest.MaxBody); err != nil {
		return err
	}
	id := uuid.New()
	if in.UserID != nil {
		var err error
		if id, err = uuid.Parse(*in.UserID); err != nil || len(*in.UserID) != len(id.String()) {
			return rest.Refuse(http.StatusUnprocessableEntity, "INVALID_USER_ID", "userId must be a UUID")
		}
	}
	if err := UserTokenLife().Check(in.ExpiresIn); err != nil {
		return err
	}
	c.Entry.About(id.String())
	now := a.Store.Now().Truncate(time.Second) // a token's times are whole seconds
	life := time.Duration(in.ExpiresIn) * time.Second
	token, err := tokens.ForUser(a.JWTSecret, id, life, now)
	if err != nil {
		return err
	}
	return c.Response.JSON(http.StatusCreated, UserToken{token, id.String(), event.At(now.Add(life))})
}
