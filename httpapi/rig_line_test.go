package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"postern/event"
	"postern/instance"
	"postern/whatsapp/proxy"
)

// line is the only, scripted session of a rig: WhatsApp as the API sees it.
type line struct {
	instance.Account // nil: what no test of this package asks for

	report  func(context.Context, event.Fact) error
	paired  atomic.Bool
	online  atomic.Bool
	silent  atomic.Bool // dials and tells nothing
	dialErr error
	wrong   atomic.Pointer[event.NetworkError]
	phone   string
	sent    event.Outgoing
	onSend  func(context.Context) error // before sendErr; nil: nothing
	sendErr error

	logoutErr error // that WhatsApp could not be notified, or another
	probeErr  error // of a dial through a proxy

	passkey  *event.PasskeyChallenge
	asserted *event.PasskeyAssertion
}

func (l *line) Passkey() *event.PasskeyChallenge { return l.passkey }

func (l *line) AssertPasskey(_ context.Context, a event.PasskeyAssertion) error {
	if l.passkey == nil || l.passkey.PublicKey == nil {
		return event.ErrNoPasskey
	}
	l.asserted = &a
	return nil
}

func (l *line) ConfirmPasskey(context.Context) error {
	if l.passkey == nil || l.passkey.Code == "" {
		return event.ErrNoPasskey
	}
	l.passkey = nil
	return nil
}

func (l *line) Open(_ context.Context, _ int64, report func(context.Context, event.Fact) error) (instance.Session, error) {
	l.report = report
	return l, nil
}

func (l *line) WrongNetwork() error {
	if e := l.wrong.Load(); e != nil {
		return e
	}
	return nil
}

func (l *line) LoggedOut() bool { return false }

func (l *line) Recall(context.Context) (bool, error) { return false, nil }

func (l *line) Paired() bool { return l.paired.Load() }

func (l *line) Online() bool { return l.online.Load() }

// Connect shows a QR code, or logs in if a phone is linked.
func (l *line) Connect(ctx context.Context) error {
	switch {
	case l.dialErr != nil:
		return l.dialErr
	case l.silent.Load():
		return nil
	case l.paired.Load():
		return l.logIn(ctx)
	}
	return l.report(ctx, event.Fact{
		Kind: event.QRCodeUpdated, Status: event.QRCodeState,
		Data: event.QRCode{Count: 1, Code: "2@x", Base64: "data:image/png;base64,iVBORw==", ExpiresInSeconds: 60},
	})
}

func (l *line) logIn(ctx context.Context) error {
	l.paired.Store(true)
	l.online.Store(true)
	return l.report(ctx, event.Fact{
		Kind: event.ConnectionUpdated, Status: event.Online, Link: &event.Link{JID: "4915100000000:1@s.whatsapp.net"},
		Data: event.ConnectionUpdate{Type: event.TypeConnected, Connection: event.ConnectionOpen},
	})
}

func (l *line) PairCode(_ context.Context, phone string) (string, error) {
	l.phone = phone
	return "ABCD-EFGH", nil
}

func (l *line) Send(ctx context.Context, out event.Outgoing) (event.Sent, error) {
	if out.Leaving != nil {
		if err := out.Leaving(); err != nil {
			if errors.Is(err, event.ErrNotNow) {
				return event.Sent{}, err
			}
			return event.Sent{}, fmt.Errorf("%w: %w", event.ErrSendRefused, err)
		}
	}
	l.sent = out
	if l.onSend != nil {
		if err := l.onSend(ctx); err != nil {
			return event.Sent{}, err
		}
	}
	if l.sendErr != nil {
		return event.Sent{}, l.sendErr
	}
	to := out.To
	return event.Sent{Message: &event.Message{
		KeyID: out.ID, KeyRemoteJID: &to, KeyFromMe: true, MessageType: "conversation",
		Content: json.RawMessage(`{"text":"hi"}`), MessageTimestamp: 1,
	}}, nil
}

func (l *line) Logout(context.Context) error {
	if l.logoutErr != nil {
		return l.logoutErr
	}
	l.paired.Store(false)
	l.online.Store(false)
	return nil
}

func (l *line) Forget(ctx context.Context) error {
	l.logoutErr = nil
	l.wrong.Store(nil)
	return l.Logout(ctx)
}

func (l *line) Reroute() {}

func (l *line) Probe(context.Context, proxy.Server, []proxy.Use) error { return l.probeErr }

func (l *line) Disconnect() { l.online.Store(false) }

// Resolve finds the account of each number at the number itself.
func (l *line) Resolve(_ context.Context, jid string) (string, error) { return jid, nil }

func (l *line) Hold(context.Context) (func(), error) { return func() {}, nil }
