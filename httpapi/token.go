package httpapi

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// algorithm is the only one that is ever signed with or accepted.
var algorithm = jwt.SigningMethodHS256

// MintInstanceToken makes a bearer token for the instance called name. It
// expires ttl after now, or never when ttl is 0. Two calls never make the same
// token. The token is valid only once it is stored as the instance's token.
func MintInstanceToken(secret []byte, name string, ttl time.Duration, now time.Time) (string, error) {
	c := claims{InstanceName: name}
	c.ID = uuid.NewString()
	c.IssuedAt = jwt.NewNumericDate(now)
	if ttl > 0 {
		c.ExpiresAt = jwt.NewNumericDate(now.Add(ttl))
	}
	return sign(secret, c)
}

// MintUserToken makes a bearer token for the user id. It expires ttl after now.
func MintUserToken(secret []byte, id uuid.UUID, ttl time.Duration, now time.Time) (string, error) {
	c := claims{UserID: id.String()}
	c.ID = uuid.NewString()
	c.IssuedAt = jwt.NewNumericDate(now)
	c.ExpiresAt = jwt.NewNumericDate(now.Add(ttl))
	return sign(secret, c)
}

func sign(secret []byte, c claims) (string, error) {
	token, err := jwt.NewWithClaims(algorithm, c).SignedString(secret)
	if err != nil {
		return "", fmt.Errorf("httpapi: sign token: %w", err)
	}
	return token, nil
}

// errToken: a token that is not ours, not valid any more, or of the wrong kind.
var errToken = errors.New("token is not valid")

// readToken checks signature, algorithm and times of a token of either kind.
func readToken(secret []byte, token string) (claims, error) {
	var c claims
	// The base64 decoder skips line breaks, even a strict one, so that a token
	// would have more than one spelling.
	if strings.ContainsAny(token, "\r\n") {
		return claims{}, fmt.Errorf("%w: line break", errToken)
	}
	t, err := jwt.ParseWithClaims(token, &c,
		func(*jwt.Token) (any, error) { return secret, nil },
		jwt.WithValidMethods([]string{algorithm.Alg()}), jwt.WithStrictDecoding())
	if err != nil {
		return claims{}, fmt.Errorf("%w: %w", errToken, err)
	}
	// RFC 7515: who does not know a critical header must refuse the token.
	if _, critical := t.Header["crit"]; critical {
		return claims{}, fmt.Errorf("%w: critical header", errToken)
	}
	return c, c.issued()
}
