package httpapi

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"postern/event"
	"postern/httpapi/tokens"
)

// Bounds of a user token's life, in seconds.
const (
	minExpiresIn = 1
	maxExpiresIn = 31_536_000
)

type userTokenRequest struct {
	UserID    *string `json:"userId"`
	ExpiresIn int64   `json:"expiresIn" strict:"required"`
}

type userToken struct {
	Token     string     `json:"token"`
	UserID    string     `json:"userId"`
	ExpiresAt event.Time `json:"expiresAt"`
}

// issueUserToken makes a token for a user, who need not be known: users are
// whoever the operator says they are.
func (a *api) issueUserToken(c *call) error {
	var in userTokenRequest
	if err := c.decode(&in, maxBody); err != nil {
		return err
	}
	id := uuid.New()
	if in.UserID != nil {
		var err error
		if id, err = uuid.Parse(*in.UserID); err != nil || len(*in.UserID) != len(id.String()) {
			return refuse(http.StatusUnprocessableEntity, "INVALID_USER_ID", "userId must be a UUID")
		}
	}
	if in.ExpiresIn < minExpiresIn || in.ExpiresIn > maxExpiresIn {
		return refuse(http.StatusUnprocessableEntity, "INVALID_EXPIRES_IN", "expiresIn must be between 1 and 31536000 seconds")
	}
	c.entry.About(id.String())
	now := time.Now().Truncate(time.Second) // a token's times are whole seconds
	life := time.Duration(in.ExpiresIn) * time.Second
	token, err := tokens.ForUser(a.JWTSecret, id, life, now)
	if err != nil {
		return err
	}
	return c.w.json(http.StatusCreated, userToken{token, id.String(), event.At(now.Add(life))})
}
