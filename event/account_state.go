package event

import "errors"

// ErrStateConflict is wrapped when WhatsApp refused a change of the app state that an account's devices
// share, because our copy differs from WhatsApp's even after it was read again. A later attempt usually
// succeeds after a minute.
var ErrStateConflict = errors.New("the app state of the account's devices differs from WhatsApp's copy")
