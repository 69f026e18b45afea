package tokens

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"postern/httpapi/strict"
)

// Claims are the claims of both kinds of token. An instance token has InstanceName, a user token UserID; a token with
// both is neither.
type Claims struct {
	InstanceName string `json:"instanceName,omitempty"`
	UserID       string `json:"userId,omitempty"`
	jwt.RegisteredClaims
}

// UnmarshalJSON reads the used claims: case-sensitive names, times that are numbers. encoding/json alone accepts EXP for
// exp and the library a time in quotes, so that two readers could read one token differently. Other claims are ignored.
func (c *Claims) UnmarshalJSON(raw []byte) error {
	if err := strict.Check(raw); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	*c = Claims{}
	for name, to := range map[string]*string{"instanceName": &c.InstanceName, "userId": &c.UserID} {
		if v, given := all[name]; given {
			if err := json.Unmarshal(v, to); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for name, to := range map[string]**jwt.NumericDate{"exp": &c.ExpiresAt, "iat": &c.IssuedAt, "nbf": &c.NotBefore} {
		if v, given := all[name]; given {
			at, err := numericDate(v)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			*to = at
		}
	}
	return nil
}

// lastSecond is the end of the year 9999, after which a time cannot be written in RFC 3339.
const lastSecond = 253402300799

// numericDate reads seconds since 1970, with or without a fraction.
func numericDate(raw json.RawMessage) (*jwt.NumericDate, error) {
	seconds, err := strconv.ParseFloat(string(raw), 64) // what is valid JSON and parses is a number
	if err != nil || seconds < 0 || seconds > lastSecond {
		return nil, errors.New("it must be a number of seconds between the years 1970 and 9999")
	}
	whole, fraction := math.Modf(seconds)
	return jwt.NewNumericDate(time.Unix(int64(whole), int64(fraction*float64(time.Second)))), nil
}

// clockSkew is how far the clock of another issuer of user tokens may be ahead.
const clockSkew = time.Minute

// inTime checks the times of a token. For an instance token only the expiry counts: this program issues these tokens,
// and the caller compares the token with the stored one. A clock that was wrong when it was issued must not invalidate
// it later. A user token may come from another issuer, so its other times are checked if present.
func (c Claims) inTime(now time.Time) error {
	switch {
	case c.ExpiresAt != nil && !now.Before(c.ExpiresAt.Time):
		return fmt.Errorf("%w: expired", ErrInvalid)
	case c.OfInstance():
		return nil
	case c.NotBefore != nil && now.Before(c.NotBefore.Time):
		return fmt.Errorf("%w: not valid yet", ErrInvalid)
	case c.IssuedAt != nil && c.IssuedAt.Sub(now) > clockSkew:
		return fmt.Errorf("%w: issued in the future", ErrInvalid)
	}
	return nil
}

// OfInstance reports whether these are the claims of an instance token, without those of a user token.
func (c Claims) OfInstance() bool { return c.UserID == "" }

// OfUser reports the same for a user token.
func (c Claims) OfUser() bool { return c.InstanceName == "" }

// Instance returns the instance of the token.
func (c Claims) Instance() (string, error) {
	if c.InstanceName == "" || !c.OfInstance() {
		return "", fmt.Errorf("%w: not an instance token", ErrInvalid)
	}
	return c.InstanceName, nil
}

// User returns the user of the token. A user token must expire.
func (c Claims) User() (uuid.UUID, error) {
	id, err := uuid.Parse(c.UserID)
	if err != nil || len(c.UserID) != len(id.String()) || !c.OfUser() {
		return uuid.UUID{}, fmt.Errorf("%w: not a user token", ErrInvalid)
	}
	if c.ExpiresAt == nil {
		return uuid.UUID{}, fmt.Errorf("%w: a user token must expire", ErrInvalid)
	}
	return id, nil
}
