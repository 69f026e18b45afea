package instance

import "context"

// AppState is what an account's devices have in common, such as labels and
// which chats are archived, as a whole.
type AppState interface {
	// ResetAppState asks the phone to give all of it up and to begin anew. It
	// answers nothing: it removes every linked device of the account, this one
	// too, and each has to be paired again. When it returns, WhatsApp has taken
	// the request for the phone.
	ResetAppState(ctx context.Context) error
}
