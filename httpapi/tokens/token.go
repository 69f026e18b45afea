package tokens

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// algorithm is the only algorithm used or accepted.
var algorithm = jwt.SigningMethodHS256

// ForInstance makes a bearer token for the instance called name. The token expires ttl after now, or never if ttl is
// 0. Two calls never make the same token. The token is valid only once it is stored as the instance's token.
func ForInstance(secret []byte, name string, ttl time.Duration, now time.Time) (string, error) {
	c := Claims{InstanceName: name}
	c.ID = uuid.NewString()
	c.IssuedAt = jwt.NewNumericDate(now)
	if ttl > 0 {
		c.ExpiresAt = jwt.NewNumericDate(now.Add(ttl))
	}
	return sign(secret, c)
}

// ForUser makes a bearer token for the user id. It expires ttl after now. It contains no other time: a correction of
// this program's clock must not invalidate its own tokens.
func ForUser(secret []byte, id uuid.UUID, ttl time.Duration, now time.Time) (string, error) {
	c := Claims{UserID: id.String()}
	c.ID = uuid.NewString()
	c.ExpiresAt = jwt.NewNumericDate(now.Add(ttl))
	return sign(secret, c)
}

func sign(secret []byte, c Claims) (string, error) {
	token, err := jwt.NewWithClaims(algorithm, c).SignedString(secret)
	if err != nil {
		return "", fmt.Errorf("tokens: sign: %w", err)
	}
	return token, nil
}

// ErrInvalid is the error of a token that is not ours, no longer valid, or of the wrong kind.
var ErrInvalid = errors.New("token is not valid")
