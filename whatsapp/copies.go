package whatsapp

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"go.mau.fi/whatsmeow"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types/events"
)

// A message that cannot be decrypted may come twice: its sender encrypts it
// anew, and the account's own phone, which could read it, gives a copy. The
// library asks both by itself. The phone is asked a bounded number of times,
// for a damaged session must not have it send thousands of copies.

const (
	copiesPerPeriod = 100
	copiesPeriod    = time.Hour
)

// UnreadableOutcome is what was done about messages that could not be
// decrypted.
type UnreadableOutcome string

// Outcomes. Each unreadable message is told, and then asked or limited, unless
// it is one that came again and could not be read either.
const (
	UnreadableTold    UnreadableOutcome = "told"
	UnreadableAsked   UnreadableOutcome = "asked"
	UnreadableLimited UnreadableOutcome = "limited"
)

// errCopiesLimit keeps the library from asking; it logs it.
var errCopiesLimit = errors.New("the phone was asked for 100 copies within an hour; this one is not asked for")

// requests stands before the sessions of a device. The library asks its phone
// for copies without asking whether it may; the question for the session with
// the phone is the last thing before the request is encrypted that can be
// answered with no.
type requests struct {
	wastore.SessionStore

	conn *connection
}

// HasSession implements [wastore.SessionStore].
func (r requests) HasSession(ctx context.Context, address string) (bool, error) {
	has, err := r.SessionStore.HasSession(ctx, address)
	if err != nil || !has || !strings.HasSuffix(address, ":0") || !r.conn.self().isPhone(address) || !asksForCopy() {
		return has, err
	}
	allowed, err := r.conn.cfg.Devices.Request(ctx, r.conn.instance, "copies", copiesPerPeriod, copiesPeriod)
	if err != nil {
		return false, err
	}
	if !allowed {
		r.conn.seen.unreadable(UnreadableLimited)
		return false, errCopiesLimit
	}
	r.conn.seen.unreadable(UnreadableAsked)
	return true, nil
}

// isPhone reports whether an address of Signal is that of the account's phone.
func (a account) isPhone(address string) bool {
	return !a.lid.IsEmpty() && address == a.lid.ToNonAD().SignalAddress().String()
}

// asksForCopy tells whether the library is about to ask for a copy of a
// message. It encrypts other things for the phone as well, and nothing that it
// hands to the store says what; only the call itself does.
func asksForCopy() bool {
	var callers [24]uintptr // it is the ninth
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if strings.HasSuffix(frame.Function, "whatsmeow.(*Client).immediateRequestMessageFromPhone") {
			return true
		}
	}
	return false
}

// isCopy tells whether a message could not be read when it came first: its
// sender encrypted it anew, or the phone gave its copy.
func isCopy(evt *events.Message) bool { return evt.RetryCount > 0 || evt.UnavailableRequestID != "" }

// keepSecret stores the secret of a message that the phone gave a copy of,
// which the library does for all others: votes and edits are sealed with it.
func (s *Session) keepSecret(cli *whatsmeow.Client, evt *events.Message) {
	secret := evt.RawMessage.GetMessageContextInfo().GetMessageSecret()
	if evt.UnavailableRequestID == "" || len(secret) == 0 {
		return
	}
	if err := cli.Store.MsgSecrets.PutMessageSecret(context.Background(), evt.Info.Chat, evt.Info.Sender, evt.Info.ID, secret); err != nil {
		s.conn.log.Warn("secret of a recovered message not stored", "error", err)
	}
}
