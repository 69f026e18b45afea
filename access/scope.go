package access

import "slices"

// Scope is a group of permissions. The zero value is none.
type Scope string

// The scopes, in display order.
const (
	Read       Scope = "read"       // see instances, messages, chats, contacts and groups, and listen to events
	Send       Scope = "send"       // send messages and act as the account
	Manage     Scope = "manage"     // settings, proxy and limits, restart, log out, delete
	Pair       Scope = "pair"       // connect an account: QR code, pairing code, passkey
	Webhook    Scope = "webhook"    // the webhook and its options
	Batch      Scope = "batch"      // the batches of one user
	Metrics    Scope = "metrics"    // the metrics of the program
	Media      Scope = "media"      // files: upload, download
	Deliveries Scope = "deliveries" // the log of deliveries, retry and replay
)

// Scopes returns all scopes.
func Scopes() []Scope {
	return []Scope{Read, Send, Manage, Pair, Webhook, Batch, Metrics, Media, Deliveries}
}

// sorted returns the distinct scopes of a list in the order of [Scopes].
func sorted(given []Scope) []Scope {
	return slices.DeleteFunc(Scopes(), func(s Scope) bool { return !slices.Contains(given, s) })
}
