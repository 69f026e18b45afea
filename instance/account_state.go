package instance

import "context"

// AppState is the state that an account's devices share, such as labels and archived
// chats, as a whole.
type AppState interface {
	// ResetAppState requests the phone to discard and rebuild the app state. There is no
	// answer. The reset removes every linked device of the account, including this one;
	// each must be paired again. When ResetAppState returns, WhatsApp has accepted the
	// request.
	ResetAppState(ctx context.Context) error
}
