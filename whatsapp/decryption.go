package whatsapp

import (
	"context"
	"fmt"

	wastore "go.mau.fi/whatsmeow/store"
)

// decryptions is a device's buffer of decrypted messages. It tells apart a
// message that cannot be read from one that was read and cannot be stored, on a
// full disk: to the library both are unreadable. It would ask the sender for
// the message some times, acknowledge it, and it would be lost.
type decryptions struct {
	wastore.EventBuffer

	unstored func(error)
}

// DoDecryptionTxn implements [wastore.EventBuffer]. Of an error that wraps
// [context.Canceled] the library says nothing to anybody, so that the message
// comes again at the next login.
func (d decryptions) DoDecryptionTxn(ctx context.Context, fn func(context.Context) error) error {
	var unread error
	err := d.EventBuffer.DoDecryptionTxn(ctx, func(ctx context.Context) error {
		unread = fn(ctx)
		return unread
	})
	if err == nil || unread != nil || ctx.Err() != nil { // the last: the connection is gone already
		return err
	}
	d.unstored(err)
	return fmt.Errorf("%w: %w", context.Canceled, err)
}

// guard puts decryptions before the buffer of a device, and requests before its
// sessions; it has both once it is paired.
func (s *Session) guard(device *wastore.Device) {
	if _, guarded := device.EventBuffer.(decryptions); guarded || device.EventBuffer == nil {
		return
	}
	device.EventBuffer = decryptions{device.EventBuffer, s.unstored}
	device.Sessions = requests{device.Sessions, s}
}

// unstored drops the connection, as for a message whose report failed.
func (s *Session) unstored(cause error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return
	}
	s.log.Warn("incoming message not stored, asking for it again", "error", cause)
	s.abandon(fmt.Errorf("an incoming message could not be stored: %w", cause))
}
