package whatsapp

import (
	"context"
	"errors"
	"fmt"

	wastore "go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"

	"postern/whatsapp/device"
)

// decryptions is a device's buffer of decrypted messages. It distinguishes a message
// that cannot be decrypted from one that cannot be stored, for example on a full disk.
// The library treats both as unreadable: it would request the message some times,
// acknowledge it, and lose it.
type decryptions struct {
	wastore.EventBuffer

	unstored func(error)
}

// DoDecryptionTxn implements [wastore.EventBuffer]. Its writes ride on the commit of
// the message, see [Session.settled]. The library neither acknowledges nor retries
// after an error that wraps [context.Canceled], so that the message comes again after
// the next login.
func (d decryptions) DoDecryptionTxn(ctx context.Context, fn func(context.Context) error) error {
	var unread error
	err := d.EventBuffer.DoDecryptionTxn(device.Riding(ctx), func(ctx context.Context) error {
		unread = fn(ctx)
		return unread
	})
	if err == nil || unread != nil || ctx.Err() != nil { // the last: the connection is gone already
		return err
	}
	return d.again(err)
}

// again drops the connection, and returns err as an error after which the library does not
// acknowledge the stanza: it comes again after the next login.
func (d decryptions) again(err error) error {
	d.unstored(err)
	return fmt.Errorf("%w: %w", context.Canceled, err)
}

// GetOutgoingEvent implements [wastore.EventBuffer]. A device that could not decrypt a message asks
// for it once more; it must not be taken for answered when the message could not be read.
func (d decryptions) GetOutgoingEvent(ctx context.Context, chat, altChat types.JID, id types.MessageID) (format string, plaintext []byte, err error) {
	format, plaintext, err = d.EventBuffer.GetOutgoingEvent(ctx, chat, altChat, id)
	if err != nil && !errors.Is(err, device.ErrNoOutgoing) && ctx.Err() == nil {
		err = d.again(err)
	}
	return format, plaintext, err
}

// ClearBufferedEventPlaintext implements [wastore.EventBuffer]. It rides on the commit
// of the next message.
func (d decryptions) ClearBufferedEventPlaintext(ctx context.Context, hash [32]byte) error {
	return d.EventBuffer.ClearBufferedEventPlaintext(device.Riding(ctx), hash)
}

// secrets writes the secret of a message in the commit of the message.
type secrets struct{ wastore.MsgSecretStore }

// PutMessageSecret implements [wastore.MsgSecretStore].
func (m secrets) PutMessageSecret(ctx context.Context, chat, sender types.JID, id types.MessageID, secret []byte) error {
	return m.MsgSecretStore.PutMessageSecret(device.Riding(ctx), chat, sender, id, secret)
}

// guard wraps the event buffer, the message secrets and the sessions of a device, which
// has them once it is paired.
func (s *Session) guard(device *wastore.Device) {
	if _, guarded := device.EventBuffer.(decryptions); guarded || device.EventBuffer == nil {
		return
	}
	device.EventBuffer = decryptions{device.EventBuffer, s.unstored}
	device.MsgSecrets = secrets{device.MsgSecrets}
	device.Sessions = requests{device.Sessions, s.conn}
}

// settled returns when the Signal session that decrypted a message is on the disk,
// usually with the commit that stored the message. False means that the message must be
// sent again.
func (s *Session) settled() bool {
	err := s.conn.cfg.Devices.Settle(s.conn.instance)
	if err == nil {
		return true
	}
	s.conn.log.Warn("incoming message not stored, requesting it again", "error", err)
	s.abandon(fmt.Errorf("an incoming message could not be stored: %w", err))
	return false
}

// unstored drops the connection, as for a message whose report failed.
func (s *Session) unstored(cause error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return
	}
	s.conn.log.Warn("incoming message not stored, requesting it again", "error", cause)
	s.abandon(fmt.Errorf("an incoming message could not be stored: %w", cause))
}
