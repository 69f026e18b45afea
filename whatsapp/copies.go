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

	"postern/whatsapp/translate"
)

// A message that cannot be decrypted can arrive a second time: its sender encrypts it
// again, and the account's own phone, which could read it, sends a copy. The library
// requests both. Requests to the phone are limited, so that a damaged session cannot
// make it send thousands of copies.

const (
	copiesPerPeriod = 100
	copiesPeriod    = time.Hour
)

// UnreadableOutcome is what happened with a message that could not be decrypted.
type UnreadableOutcome string

// Outcomes. Each unreadable message is reported (told), and then a copy is requested
// (asked) or not (limited), unless the message is itself a second copy.
const (
	UnreadableTold    UnreadableOutcome = "told"
	UnreadableAsked   UnreadableOutcome = "asked"
	UnreadableLimited UnreadableOutcome = "limited"
)

// errCopiesLimit prevents the library's request; the library logs it.
var errCopiesLimit = errors.New("the limit of 100 copies per hour from the phone is reached")

// requests wraps the sessions of a device. The library requests copies from its phone
// without a hook. Its check for a session with the phone is the last call before the
// request is encrypted that can fail.
type requests struct {
	wastore.SessionStore

	conn *connection
}

// HasSession implements [wastore.SessionStore].
func (r requests) HasSession(ctx context.Context, address string) (bool, error) {
	has, err := r.SessionStore.HasSession(ctx, address)
	if err != nil || !has || !strings.HasSuffix(address, ":0") || !isPhone(r.conn.self(), address) || !asksForCopy() {
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

// isPhone reports whether a Signal address is that of the account's phone.
func isPhone(a translate.Account, address string) bool {
	return !a.LID.IsEmpty() && address == a.LID.ToNonAD().SignalAddress().String()
}

// asksForCopy reports whether the library is about to request a copy of a message. It
// encrypts other messages for the phone too, and the arguments do not show which; only
// the call stack does.
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

// keepSecret stores the secret of a message that the phone sent a copy of; for others
// the library does. Votes and edits are encrypted with it.
func (s *Session) keepSecret(cli *whatsmeow.Client, evt *events.Message) {
	secret := evt.RawMessage.GetMessageContextInfo().GetMessageSecret()
	if evt.UnavailableRequestID == "" || len(secret) == 0 {
		return
	}
	if err := cli.Store.MsgSecrets.PutMessageSecret(context.Background(), evt.Info.Chat, evt.Info.Sender, evt.Info.ID, secret); err != nil {
		s.conn.log.Warn("secret of a recovered message not stored", "error", err)
	}
}
