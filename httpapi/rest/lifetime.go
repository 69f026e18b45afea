package rest

import (
	"fmt"
	"net/http"

	"postern/httpapi/openapi"
)

// Lifetime is the range of expiresIn at one route, in seconds.
type Lifetime struct{ Least, Most int64 }

// Check refuses a number of seconds out of the bounds, with 422.
func (l Lifetime) Check(seconds int64) error {
	if seconds < l.Least || seconds > l.Most {
		return Refuse(http.StatusUnprocessableEntity, CodeExpiresIn, fmt.Sprintf("expiresIn must be between %d and %d seconds", l.Least, l.Most))
	}
	return nil
}

// Advice says how to correct a value that check refuses.
func (l Lifetime) Advice() string { return fmt.Sprintf("Send %d to %d seconds.", l.Least, l.Most) }

// Schema is the schema of the number of seconds.
func (l Lifetime) Schema() openapi.Object { return openapi.Range(l.Least, l.Most) }
