package event

import "errors"

// ErrStateConflict is wrapped when a change of what an account's devices have in common was refused,
// because what this program has of it and what WhatsApp has do not fit together, also after all of it
// was read anew. Mostly it fits again a minute later.
var ErrStateConflict = errors.New("what the account's devices have in common does not fit what WhatsApp has of it")
