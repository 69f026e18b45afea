package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waMmsRetry"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"postern/event"
)

// phonePatience is how long a phone may take to upload a file again. A phone that is
// off never answers.
const phonePatience = 15 * time.Second

// reuploads are the answers of the phone that are expected.
type reuploads struct {
	mu      sync.Mutex
	waiting map[chan *events.MediaRetry]string // the message id
}

// wait returns a channel for the next answer about a message, and a function that ends
// the waiting.
func (r *reuploads) wait(id string) (answer <-chan *events.MediaRetry, stop func()) {
	c := make(chan *events.MediaRetry, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[chan *events.MediaRetry]string{}
	}
	r.waiting[c] = id
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, c)
	}
}

func (r *reuploads) answered(evt *events.MediaRetry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, id := range r.waiting {
		if id == evt.MessageID {
			delete(r.waiting, c)
			c <- evt // has room: it is sent once
		}
	}
}

// uploadedAgain requests the account's phone to upload the file of a message again, and
// returns its new path. The error wraps event.ErrMediaGone or event.ErrNotConnected.
func (fs *Files) uploadedAgain(ctx context.Context, m event.Message, file whatsmeow.DownloadableMessage) (path string, err error) {
	info, err := fs.whereIs(m)
	if err != nil || len(file.GetMediaKey()) == 0 { // files of newsletters are on no phone
		return "", event.ErrMediaGone
	}
	ctx, cancel := context.WithTimeout(ctx, min(phonePatience, fs.conn.cfg.SendTimeout))
	defer cancel()
	answer, stop := fs.reuploads.wait(m.KeyID)
	defer stop()
	if err := fs.conn.client().SendMediaRetryReceipt(ctx, info, file.GetMediaKey()); err != nil {
		return "", classifyAnswer(err)
	}
	select {
	case evt := <-answer:
		return newPath(evt, file.GetMediaKey())
	case <-ctx.Done():
		return "", fmt.Errorf("%w: WhatsApp no longer has it, and the phone did not answer the request for it in time", event.ErrMediaGone)
	}
}

// newPath decodes the phone's answer.
func newPath(evt *events.MediaRetry, mediaKey []byte) (string, error) {
	result, err := whatsmeow.DecryptMediaRetryNotification(evt, mediaKey)
	switch {
	case errors.Is(err, whatsmeow.ErrMediaNotAvailableOnPhone):
		return "", fmt.Errorf("%w: neither WhatsApp nor the phone has it", event.ErrMediaGone)
	case err != nil:
		return "", fmt.Errorf("%w: WhatsApp no longer has it, and the phone's answer is invalid: %w", event.ErrMediaGone, err)
	case result.GetResult() != waMmsRetry.MediaRetryNotification_SUCCESS || result.GetDirectPath() == "":
		return "", fmt.Errorf("%w: WhatsApp no longer has it, and the phone answered %s", event.ErrMediaGone, result.GetResult())
	}
	return result.GetDirectPath(), nil
}

// whereIs identifies a stored message to the account's phone.
func (fs *Files) whereIs(m event.Message) (*types.MessageInfo, error) {
	own := fs.conn.self()
	key := event.MessageKey{
		ID: m.KeyID, FromMe: m.KeyFromMe,
		RemoteJID: firstOf(m.KeyRemoteJID, m.KeyLID), Participant: firstOf(m.KeyParticipantLID, m.KeyParticipant),
	}
	chat, sender, err := place(own, key)
	if err != nil {
		return nil, err
	}
	many := chat.Server == types.GroupServer || chat.Server == types.BroadcastServer
	return &types.MessageInfo{ID: m.KeyID, MessageSource: types.MessageSource{
		Chat: chat, Sender: sender, IsFromMe: m.KeyFromMe, IsGroup: many,
	}}, nil
}

func firstOf(texts ...*string) string {
	for _, t := range texts {
		if t != nil && *t != "" {
			return *t
		}
	}
	return ""
}

// movedFile is the file of a message at a new path.
type movedFile struct {
	whatsmeow.DownloadableMessage

	path string
	kind whatsmeow.MediaType
}

// GetDirectPath implements whatsmeow.DownloadableMessage.
func (m movedFile) GetDirectPath() string { return m.path }

// GetMediaType implements whatsmeow.MediaTypeable.
func (m movedFile) GetMediaType() whatsmeow.MediaType { return m.kind }
