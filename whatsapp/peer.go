package whatsapp

import (
	"context"
	"fmt"

	"go.mau.fi/libsignal/session"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/event"
)

// messagePhone sends a message between an account's devices to its phone, with the given
// id. The library assumes a Signal session with the phone, which does not exist until
// the phone has written, some moments after pairing. messagePhone begins one, as for any
// other recipient.
func messagePhone(ctx context.Context, cli *whatsmeow.Client, id types.MessageID, m *waE2E.Message) error {
	if err := meetPhone(ctx, cli); err != nil {
		return err
	}
	_, err := cli.SendMessage(ctx, cli.Store.GetJID().ToNonAD(), m, whatsmeow.SendRequestExtra{ID: id, Peer: true})
	return err
}

// meetPhone begins a session with the account's phone if there is none.
func meetPhone(ctx context.Context, cli *whatsmeow.Client) error {
	phone := cli.Store.GetLID().ToNonAD()
	if phone.IsEmpty() {
		return whatsmeow.ErrNotLoggedIn
	}
	address := phone.SignalAddress()
	known, err := cli.Store.ContainsSession(ctx, address)
	if known || err != nil {
		return err
	}
	inside := cli.DangerousInternals() //nolint:staticcheck // "deprecated" warns of changes; the version is pinned
	keys := inside.FetchPreKeysNoError(ctx, []types.JID{phone})[phone]
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !cli.IsConnected():
		return whatsmeow.ErrNotConnected
	case keys == nil:
		return fmt.Errorf("%w: WhatsApp has no keys of the account's phone", event.ErrRefused)
	}
	if err = session.NewBuilderFromSignal(cli.Store, address, wastore.SignalProtobufSerializer).ProcessBundle(ctx, keys); err != nil {
		return fmt.Errorf("begin a session with the account's phone: %w", err)
	}
	return nil
}
